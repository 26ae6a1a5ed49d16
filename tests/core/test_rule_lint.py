import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.pattern import includes, matches, may_meet, tokens
from hilt.core.permission import Scope
from hilt.core.rule_lint import Finding, ToolFacts, lint
from tests.core.rules import rule

TOOLS = {
    "Read": ToolFacts(keys=frozenset({"path"}), unnamed="path"),
    "shell": ToolFacts(keys=frozenset({"command"}), unnamed="command"),
    "mcp__x__y": ToolFacts(keys=frozenset({"owner", "repo"})),
    "mcp__x__z": ToolFacts(),
}


@pytest.mark.req("PRM-76")
@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("Reed", "no_such_tool"),
        ("mcp__other__*", "no_such_tool"),
        ("mcp__x__y(ownr=a)", "no_such_key"),
        ("mcp__x__z(owner=a)", "no_such_key"),
        ("Read(pth=a)", "no_such_key"),
        ("mcp__x__y(acme)", "no_unnamed_subject"),
        ("mcp__x__*(acme)", "no_unnamed_subject"),
    ],
)
def test_a_rule_that_can_never_match_is_found(written: str, kind: str) -> None:
    (found,) = lint([rule(f"allow {written}")], TOOLS)
    assert (found.kind, found.rule) == (kind, rule(f"allow {written}"))
    assert found.message.startswith(f"allow {written!r} ")


@pytest.mark.req("PRM-76")
@pytest.mark.parametrize(
    "written",
    [
        "Read",
        "*",
        "Read(docs/*)",
        "Read(path=x)",
        "shell(A=1 make)",
        "mcp__x__y(owner=a)",
        "mcp__x__*(repo=a)",
        "mcp__x__z()",
    ],
)
def test_a_rule_that_can_match_is_left_alone(written: str) -> None:
    assert lint([rule(f"allow {written}"), rule("ask Nothing", Scope.BUILTIN_DEFAULT)], TOOLS) == []


@pytest.mark.req("PRM-76")
@pytest.mark.parametrize(
    ("deny", "other", "shadowed"),
    [
        ("Read", "allow Read(docs/*)", True),
        ("*", "ask shell(ls)", True),
        ("mcp__*", "allow mcp__x__*", True),
        ("mcp__x__*", "allow mcp__*", False),
        ("shell(git:*)", "allow shell(git status)", True),
        ("shell(git *)", "allow shell(git status*)", True),
        ("shell(git:*)", "allow shell(git:*)", True),
        ("shell(git *)", "allow shell(git:*)", False),
        ("shell(git ?)", "allow shell(git *)", False),
        ("shell(git ?)", "allow shell(git ?)", True),
        ("shell(git status)", "allow shell", False),
        ("mcp__x__y(owner=*)", "allow mcp__x__y(owner=a)", False),
    ],
)
def test_a_rule_that_a_deny_shadows_is_found(deny: str, other: str, shadowed: bool) -> None:
    found = lint([rule(other), rule(f"deny {deny}", Scope.USER)], TOOLS)
    assert [one.kind for one in found] == (["shadowed"] if shadowed else [])


@pytest.mark.req("PRM-76")
def test_duplicates_and_withheld_allows_are_found() -> None:
    first, again = rule("deny Read", line=3), rule("deny Read", Scope.USER, line=9)
    lost = rule("allow shell(ls)", Scope.SHARED_PROJECT)
    assert lint([first, again, rule("deny Read(x)")], TOOLS, withheld=[lost]) == [
        Finding(kind="duplicate", rule=again, message="deny 'Read' is written before, in settings.yaml:3"),
        Finding(kind="withheld", rule=lost, message="allow 'shell(ls)' counts only in a trusted project"),
    ]


_PATTERNS = st.lists(st.sampled_from(["a", "b", "*", "?", " ", "\\*", ":"]), max_size=6).map("".join)
_TEXTS = st.text(alphabet="ab *:", max_size=6)


@given(_PATTERNS, _PATTERNS, _TEXTS)
def test_a_pattern_that_includes_another_matches_all_that_it_matches(wide: str, narrow: str, text: str) -> None:
    if includes(wide, narrow) and matches(narrow, text):
        assert matches(wide, text)


@given(_PATTERNS, _PATTERNS, _TEXTS)
def test_two_patterns_that_match_one_text_may_meet(one: str, other: str, text: str) -> None:
    rows = [p for p in (one, other) if not p.endswith(":*")]
    if len(rows) == 2 and matches(one, text) and matches(other, text):
        assert may_meet(tokens(one), tokens(other))
        assert may_meet(tokens(other), tokens(one))


@pytest.mark.parametrize(
    ("one", "other", "meets"),
    [
        ("a*", "*b", True),
        ("a?", "ab", True),
        ("a", "b", False),
        ("a*c", "ab", False),
        ("", "*", True),
        ("a", "", False),
        ("?", "", False),
        ("*a", "b", False),
    ],
)
def test_patterns_meet_where_some_text_matches_both(one: str, other: str, meets: bool) -> None:
    assert may_meet(tokens(one), tokens(other)) is meets
    assert may_meet(tokens(other), tokens(one)) is meets
