import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.errors import ConfigError
from hilt.core.pattern import escape, matches
from hilt.core.permission import Effect, PermissionRule, Scope, Subject, Subjects
from hilt.core.rule_text import format_rule, grant_rule, pairs, parse_rule, rememberable
from hilt.core.rulebook import RuleBook
from hilt.core.subjects import argument_subjects, argument_text
from tests.core.rules import command, named, path, rule, text

_ATOMS = st.sampled_from([*"ab*?()=,: /.\n", "\\\\", "\\*", "\\(", "\\)", "\\,", "é", "mcp__", "key="])
_TOOLS = st.lists(
    st.sampled_from(["a", "Read", "*", "?", "\\(", "\\*", "_", "é", "\\\\", ")", "="]), min_size=1, max_size=6
).map("".join)
_BODIES = st.none() | st.lists(_ATOMS, max_size=12).map("".join)


@pytest.mark.req("PRM-08")
@given(tool=_TOOLS, body=_BODIES, effect=st.sampled_from(Effect), scope=st.sampled_from(Scope))
def test_a_printed_rule_reads_as_the_same_rule(tool: str, body: str | None, effect: Effect, scope: Scope) -> None:
    made = PermissionRule(effect=effect, tool=tool, body=body, scope=scope, source="s", line=3)
    read = parse_rule(format_rule(made), effect=effect, scope=scope, source="s", line=3)
    assert read == made


@pytest.mark.req("PRM-08")
@given(st.text(max_size=30))
def test_any_text_is_a_rule_that_prints_alike_or_an_error_with_its_place(written: str) -> None:
    shown = written
    try:
        shown = format_rule(parse_rule(written, effect=Effect.DENY, source="f.yaml", line=7))
        problem = "f.yaml:7: column 1: none"
    except ConfigError as error:
        problem = str(error)
    assert shown == written
    assert re.match(r"f\.yaml:7: column \d+: ", problem)


@pytest.mark.req("PRM-07")
@pytest.mark.parametrize(
    ("written", "column", "problem"),
    [
        ("", 5, "the name of a tool is missing"),
        ("(x)", 5, "the name of a tool is missing"),
        (" Read", 5, "a blank at the beginning or end"),
        ("Read ", 9, "a blank at the beginning or end"),
        ("  ", 5, "a blank at the beginning or end"),
        ("Read(x", 9, "the bracket is not closed"),
        ("Read(x) y", 12, "text after the bracket"),
        ("Read(x\\)", 12, "the backslash takes the closing bracket literally"),
        ("Read\\", 9, "nothing follows the backslash"),
        ("\\", 5, "nothing follows the backslash"),
    ],
)
def test_a_rule_that_does_not_parse_names_file_line_and_column(written: str, column: int, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_rule(written, effect=Effect.ALLOW, source="settings.yaml", line=12, column=5)
    where = f"settings.yaml:12: column {column}"
    assert str(caught.value) == f"{where}: {problem} in the rule {written!r} of permissions.allow"


@pytest.mark.req("PRM-07")
def test_a_rule_of_a_flag_names_the_flag() -> None:
    with pytest.raises(ConfigError, match=r"^--deny: column 2: the bracket is not closed in the rule 'x\('$"):
        parse_rule("x(", effect=Effect.DENY, source="--deny")


@pytest.mark.parametrize(
    ("written", "tool", "body"),
    [
        ("Read", "Read", None),
        ("shell()", "shell", ""),
        ("shell(echo (a) )", "shell", "echo (a) "),
        ("a\\(b(c)", "a\\(b", "c"),
    ],
)
def test_tool_and_body_are_told_apart(written: str, tool: str, body: str | None) -> None:
    read = parse_rule(written, effect=Effect.ALLOW)
    assert (read.tool, read.body) == (tool, body)


@pytest.mark.req("PRM-06")
@pytest.mark.parametrize(
    ("body", "keys", "expected"),
    [
        ("owner=acme,repo=app-*", {"owner", "repo"}, (("owner", "acme"), ("repo", "app-*"))),
        ("owner=acme, repo=app", {"owner", "repo"}, (("owner", "acme"), ("repo", "app"))),
        ("A=1 make", {"command"}, None),
        ("owner=a,b=c", {"owner"}, (("owner", "a,b=c"),)),
        ("owner=a\\,repo=b", {"owner", "repo"}, (("owner", "a\\,repo=b"),)),
        ("x,owner=a", {"owner"}, None),
        ("owner=", {"owner"}, (("owner", ""),)),
        ("owner", {"owner"}, None),
        ("a\\=b=c", {"a=b"}, (("a=b", "c"),)),
        ("owner=a", (), None),
        ("", {"owner"}, None),
    ],
)
def test_a_key_counts_as_a_pair_only_if_the_tool_has_it(
    body: str, keys: set[str], expected: tuple[tuple[str, str], ...] | None
) -> None:
    assert pairs(body, keys) == expected


_VALUES = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(["*", "a,b=c", "x:*", "\\", "(", ")"])
_ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b", "a,b=", " c", "d=", "*"]), _VALUES, max_size=4)


@pytest.mark.req("PRM-50", "PRM-03")
@given(given_=_ARGUMENTS, other=_ARGUMENTS)
def test_a_grant_is_the_rule_of_exactly_this_call(given_: dict[str, str], other: dict[str, str]) -> None:
    known = {*given_, *other}
    tool = "mcp__x__do(it)*"
    grant = grant_rule(tool, argument_subjects(given_, known))
    assert parse_rule(format_rule(grant), effect=Effect.ALLOW, scope=grant.scope) == grant
    rules = RuleBook([grant])
    assert rules.decide(tool, argument_subjects(given_, known)).effect is Effect.ALLOW
    assert rules.decide("mcp__x__do(it)all", argument_subjects(given_, known)).effect is Effect.ASK
    same = rules.decide(tool, argument_subjects(other, known)).effect is Effect.ALLOW
    assert same == (all(other.get(key) == value for key, value in given_.items()) and (bool(given_) or not other))
    by_grant = RuleBook(()).decide(tool, argument_subjects(other, known), grants=[grant]).effect
    assert (by_grant is Effect.ALLOW) == (given_ == other)


@pytest.mark.req("PRM-50")
def test_a_grant_names_the_subjects_of_each_kind_of_tool() -> None:
    assert format_rule(grant_rule("shell", command("git log --all"))) == "shell(command=git log --all)"
    assert format_rule(grant_rule("Write", path("a*.md"))) == "Write(path=a\\*.md)"
    assert format_rule(grant_rule("Write", path("link", "/etc/x"))) == "Write(path=/etc/x)"
    assert format_rule(grant_rule("ToolSearch", Subjects(unnamed=(Subject(text="a?"),)))) == "ToolSearch(a\\?)"
    assert format_rule(grant_rule("x", named({}, "a"))) == "x()"


@pytest.mark.req("PRM-53")
@pytest.mark.parametrize(
    ("subjects", "expected"),
    [
        (command("git log"), True),
        (command("git log; ls"), False),
        (command("eval x"), False),
        (Subjects(unnamed=(Subject(text="a"), Subject(text="b"))), False),
        (Subjects(unnamed=(Subject(text="a", opaque=True),)), False),
        (text("a", key="b"), True),
        (Subjects(), True),
    ],
)
def test_several_segments_and_unclear_ones_are_not_remembered(subjects: Subjects, expected: bool) -> None:
    assert rememberable(subjects) is expected
    if not expected:
        with pytest.raises(ValueError, match="no single rule"):
            grant_rule("shell", subjects)


@pytest.mark.req("PRM-11")
def test_arguments_that_are_no_text_are_compact_json_with_sorted_keys() -> None:
    assert argument_text("plain") == "plain"
    assert argument_text({"b": [1, True, None], "a": "é"}) == '{"a":"é","b":[1,true,null]}'
    assert argument_subjects({"n": 5}, ["n", "m"]).named == {"n": (Subject(text="5"),), "m": ()}


@pytest.mark.req("PRM-03")
@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("git status", ["git status"], ["git status ", " git status", "git", "git status\n"]),
        ("docs/*", ["docs/a", "docs/a/b/c", "docs/", "docs/a\nb"], ["docs", "adocs/a"]),
        ("a?c", ["abc", "a/c", "a\nc"], ["ac", "abbc"]),
        ("a\\*", ["a*"], ["ab", "a\\*"]),
        ("a\\\\*", ["a\\", "a\\b"], ["a*"]),
        ("a\\", ["a\\"], ["a"]),
        ("*a*b*c", ["abc", "xaxbxc", "abcbc"], ["acb", "abcx"]),
        ("**", ["", "x"], []),
        ("a.b", ["a.b"], ["axb"]),
    ],
)
def test_a_pattern_matches_the_whole_subject(pattern: str, matching: list[str], others: list[str]) -> None:
    assert [t for t in matching if not matches(pattern, t)] == []
    assert [t for t in others if matches(pattern, t)] == []


@pytest.mark.req("PRM-05")
@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("git:*", ["git", "git status", "git "], ["github", "git:x", "git:*", "gi"]),
        ("git st*:*", ["git status", "git status -s", "git st"], ["git", "git show"]),
        ("git\\:*", ["git:", "git:x"], ["git", "git x"]),
        ("git:\\*", ["git:*"], ["git", "git x"]),
        ("git\\\\:*", ["git\\", "git\\ x"], ["git:"]),
    ],
)
def test_a_prefix_stands_alone_or_before_a_blank(pattern: str, matching: list[str], others: list[str]) -> None:
    assert [t for t in matching if not matches(pattern, t)] == []
    assert [t for t in others if matches(pattern, t)] == []


@pytest.mark.req("PRM-03")
@given(st.text(max_size=20), st.text(max_size=20))
def test_an_escaped_text_matches_itself_alone(one: str, other: str) -> None:
    assert matches(escape(one), one)
    assert matches(escape(one), other) == (one == other)


def test_a_rule_without_brackets_matches_every_call() -> None:
    rules = RuleBook([rule("allow Read")])
    assert rules.decide("Read", path("anything")).effect is Effect.ALLOW
    assert rules.decide("Reader", path("anything")).effect is Effect.ASK
