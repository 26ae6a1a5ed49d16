import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.permission import Effect, Scope, Subject, Subjects
from hilt.core.rule_text import grant_rule
from hilt.core.rulebook import RuleBook
from hilt.core.session import Mode
from hilt.core.subjects import argument_subjects
from tests.core.rules import HOME, ROOT, book, command, effect_of, named, path, rule, shell, two_paths

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY
NOTHING = Subjects()


# ---------------------------------------------------------------- protected files


@pytest.mark.req("PRM-28")
@pytest.mark.parametrize("mode", [Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.AUTO])
@pytest.mark.parametrize(
    "asked",
    [
        ".hilt/settings.yaml",
        ".hilt/settings.local.yaml",
        "x/../.hilt/settings.yaml",
        ".hilt/mcp.toml",
        ".hilt/mcp.lock",
        ".git/config",
        ".git/hooks/pre-commit",
        ".GIT/hooks/pre-commit",
        "vendor/lib/.git/config",
        ".git",
        ".hilt",
        ".",
    ],
)
def test_files_that_decide_what_runs_are_at_least_asked(mode: Mode, asked: str) -> None:
    for tool in ("Write", "Edit", "Remove"):
        rules = book(f"allow {tool}", f"allow {tool}(*)", "allow *")
        assert effect_of(rules, tool, path(asked), mode) is ASK
        assert effect_of(rules, tool, path("innocent", asked), mode) is ASK
    for tool in ("Copy", "Move"):
        rules = book(f"allow {tool}", "allow *")
        assert effect_of(rules, tool, two_paths(asked, "b"), mode) is ASK
        assert effect_of(rules, tool, two_paths("b", asked), mode) is ASK


@pytest.mark.req("PRM-28")
@pytest.mark.parametrize("asked", [".hilt/tasks.json", ".gitignore", "src/settings.yaml", ".github/x", "a.git/x"])
def test_files_beside_them_are_not_protected(asked: str) -> None:
    assert effect_of(book("allow Write"), "Write", path(asked)) is ALLOW
    assert effect_of(book("allow Read"), "Read", path(".git/config")) is ALLOW


@pytest.mark.req("PRM-28")
def test_an_allow_that_names_a_protected_file_without_a_glob_lets_it_through() -> None:
    for written in (".git/config", "path=.git/config", f"{ROOT}/.git/config", "./.git/config"):
        assert effect_of(book(f"allow Write({written})"), "Write", path(".git/config")) is ALLOW
    assert effect_of(book("allow Write(.git/config)"), "Write", path(".git/hooks/x")) is ASK
    assert effect_of(book("allow Write(.git/confi?)"), "Write", path(".git/config")) is ASK
    assert effect_of(book("allow Write(.git/config)"), "Write", path("a", ".git/config")) is ASK
    beside = book("allow Write(path=a)", "allow Write(content=b)", "allow Write")
    file, body = Subject(text=".git/config", kind="path"), Subject(text="b")
    call = Subjects(unnamed=(file,), named={"path": (file,), "content": (body,)})
    assert effect_of(beside, "Write", call) is ASK
    joint = book("allow Copy(source=a,destination=.git/config)")
    assert effect_of(joint, "Copy", two_paths("a", ".git/config")) is ALLOW
    wide = book("allow Copy(source=a,destination=.git/*)")
    assert effect_of(wide, "Copy", two_paths("a", ".git/config")) is ASK
    denied = book("allow Write(.git/config)", "deny Write(.git/*)")
    assert effect_of(denied, "Write", path(".git/config")) is DENY


# ---------------------------------------------------------------- modes


@pytest.mark.req("PRM-40")
def test_plan_mode_admits_reads_alone_whatever_allows() -> None:
    rules = book("allow *")
    call = path("a")
    grants = [grant_rule("Write", call)]
    assert rules.decide("Write", call, mode=Mode.PLAN, grants=grants).effect is DENY
    assert rules.decide("Write", call, mode=Mode.PLAN).reason == "plan mode admits calls that only read"
    assert rules.decide("Read", call, mode=Mode.PLAN, read_only=True).effect is ALLOW
    assert book("deny Read").decide("Read", call, mode=Mode.PLAN, read_only=True).effect is DENY


@pytest.mark.req("PRM-41", "PRM-42")
def test_accept_edits_allows_writing_and_editing_in_the_workspace_and_nothing_else() -> None:
    edits = Mode.ACCEPT_EDITS
    for tool in ("Write", "Edit"):
        assert effect_of(book(), tool, path("src/a")) is ASK
        assert effect_of(book(), tool, path("src/a"), edits) is ALLOW
        assert effect_of(book(), tool, path(f"{ROOT}/src/a"), edits) is ALLOW
        assert effect_of(book(), tool, path("../a"), edits) is ASK
        assert effect_of(book(), tool, path("/etc/a"), edits) is ASK
        assert effect_of(book(), tool, path("link", "/etc/a"), edits) is ASK
        assert effect_of(book(f"ask {tool}"), tool, path("a"), edits) is ASK
        assert effect_of(book(f"deny {tool}"), tool, path("a"), edits) is DENY
    assert effect_of(book(), "Remove", path("a"), edits) is ASK
    assert effect_of(book(), "Move", two_paths("a", "b"), edits) is ASK
    assert effect_of(book(), "shell", command("ls"), edits) is ASK
    assert effect_of(book(), "mcp__x__y", NOTHING, edits) is ASK


@pytest.mark.req("PRM-43")
def test_auto_allows_what_no_file_decides() -> None:
    auto = Mode.AUTO
    assert effect_of(book(), "Write", path("a"), auto) is ALLOW
    assert effect_of(book(), "mcp__x__y", NOTHING, auto) is ALLOW
    assert effect_of(book("deny mcp__x__y"), "mcp__x__y", NOTHING, auto) is DENY
    for scope in Scope:
        decided = effect_of(RuleBook([rule("ask x", scope)]), "x", NOTHING, auto)
        assert decided is (ALLOW if scope is Scope.BUILTIN_DEFAULT else ASK)


# ---------------------------------------------------------------- grants


@pytest.mark.req("PRM-50", "PRM-51")
def test_a_grant_answers_the_same_call_and_no_other() -> None:
    rules = book("ask mcp__x__y", "deny mcp__x__y(owner=evil)")
    call = argument_subjects({"owner": "a*", "n": 1}, ["owner", "n", "force"])
    grants = [grant_rule("other", call), grant_rule("mcp__x__y", call)]
    assert rules.decide("mcp__x__y", call, grants=grants).effect is ALLOW
    assert rules.decide("mcp__x__y", call, grants=grants).rule == grants[1]
    for arguments in ({"owner": "ab", "n": 1}, {"owner": "a*"}, {"owner": "a*", "n": 1, "force": True}):
        changed = argument_subjects(arguments, ["owner", "n", "force"])
        assert rules.decide("mcp__x__y", changed, grants=grants).effect is ASK
    evil = argument_subjects({"owner": "evil"})
    assert rules.decide("mcp__x__y", evil, grants=[grant_rule("mcp__x__y", evil)]).effect is DENY


@pytest.mark.req("PRM-51")
def test_a_grant_never_answers_an_ask_of_managed_scope() -> None:
    rules = RuleBook([rule("ask x", Scope.MANAGED), rule("ask x", Scope.CLI)])
    decision = rules.decide("x", NOTHING, grants=[grant_rule("x", NOTHING)])
    assert (decision.effect, decision.rememberable) == (ASK, False)
    parts = RuleBook([rule("ask Copy(b)", Scope.MANAGED), rule("ask Copy(a)")], root=ROOT)
    call = two_paths("a", "b")
    assert parts.decide("Copy", call, grants=[grant_rule("Copy", call)]).effect is ASK


@pytest.mark.req("PRM-51", "PRM-53")
def test_a_grant_does_not_cover_what_an_expansion_may_become() -> None:
    rules = book("deny shell(cat *.env)", "allow shell(cat:*)")
    decision = rules.decide("shell", command("cat $f"))
    assert (decision.effect, decision.rememberable) == (ASK, False)
    assert shell(rules, "cat $f", grants=[grant_rule("shell", command("cat $f"))]) is ASK
    assert shell(book(), "cat $f", grants=[grant_rule("shell", command("cat $f"))]) is ALLOW


@pytest.mark.req("PRM-28", "PRM-50")
def test_a_grant_answers_the_ask_of_a_protected_file() -> None:
    call = path(".git/config")
    assert book().decide("Write", call, mode=Mode.AUTO, grants=[grant_rule("Write", call)]).effect is ALLOW


@pytest.mark.req("PRM-53")
def test_a_command_of_several_segments_is_not_remembered() -> None:
    assert book().decide("shell", command("ls")).rememberable
    assert not book().decide("shell", command("ls; pwd")).rememberable
    assert not book().decide("shell", command("eval ls")).rememberable
    assert not RuleBook(()).decide("shell", command("ls; pwd")).rememberable
    call = command("ls -l")
    assert shell(book(), "ls -l", grants=[grant_rule("shell", call)]) is ALLOW
    assert shell(book(), "ls -l; rm x", grants=[grant_rule("shell", call)]) is ASK


# ---------------------------------------------------------------- reasons, explanations


@pytest.mark.req("DSP-67")
def test_a_reason_names_the_rule_but_never_the_text_of_a_managed_one() -> None:
    rules = RuleBook([rule("deny x(key=s3cret*)", Scope.MANAGED), rule("deny y(a=1)"), rule("ask z", Scope.USER)])
    hidden = rules.decide("x", named({"key": "s3cret-1"}))
    assert hidden.reason == "a managed rule denies it"
    assert hidden.rule == rule("deny x(key=s3cret*)", Scope.MANAGED)
    assert rules.decide("y", named({"a": "1"})).reason == "the rule 'y(a=1)' (CLI) denies it"
    assert rules.decide("z", NOTHING).reason == "the rule 'z' (User) asks"
    loose = RuleBook([rule("deny shell(cat *s3cret*)", Scope.MANAGED), rule("allow shell(cat:*)")])
    decision = loose.decide("shell", command("cat $f"))
    assert decision.effect is ASK
    assert not re.search("s3cret", decision.reason)


@pytest.mark.req("PRM-75")
def test_an_explanation_shows_for_each_subject_what_won_and_what_lost() -> None:
    rules = RuleBook(
        [
            rule("allow shell(git:*)", Scope.USER, line=3),
            rule("deny shell(rm:*)", Scope.MANAGED, line=1),
            rule("ask shell", Scope.BUILTIN_DEFAULT),
            rule("deny shell(working_dir=x)", line=9),
        ]
    )
    call = command("git status && rm x")
    told = rules.explain("shell", call)
    assert told.decision == rules.decide("shell", call)
    first, second = told.subjects
    assert (first.subject, first.effect, first.rule) == (
        "git status",
        ALLOW,
        rule("allow shell(git:*)", Scope.USER, line=3),
    )
    assert first.lost == (rule("ask shell", Scope.BUILTIN_DEFAULT),)
    assert (second.subject, second.effect, second.rule) == (
        "rm x",
        DENY,
        rule("deny shell(rm:*)", Scope.MANAGED, line=1),
    )
    assert second.lost == (rule("ask shell", Scope.BUILTIN_DEFAULT),)
    (whole,) = rules.explain("mcp__x__y", named({"a": "1"})).subjects
    assert (whole.subject, whole.effect, whole.rule, whole.lost) == ("mcp__x__y", ASK, None, ())


@pytest.mark.req("PRM-75")
@given(
    st.lists(st.sampled_from(["allow shell", "deny shell(rm:*)", "ask shell(git:*)", "allow shell(ls*)"]), max_size=4),
    st.sampled_from(["ls", "git x; ls", "rm y", "eval x", "ls $x > y"]),
    st.sampled_from(Mode),
)
def test_an_explanation_gives_the_same_decision_as_dispatch(texts: list[str], line: str, mode: Mode) -> None:
    rules, call = book(*texts), command(line)
    told = rules.explain("shell", call, mode=mode)
    assert told.decision == rules.decide("shell", call, mode=mode)
    if mode is not Mode.PLAN:
        assert min(list(Effect).index(s.effect) for s in told.subjects) == list(Effect).index(told.decision.effect)


def test_a_path_may_be_named_alone() -> None:
    call = Subjects(named={"text": (Subject(text="./a"),), "file": (Subject(text="./a", kind="path"),)})
    assert effect_of(book("deny x(file=a)"), "x", call) is DENY
    assert effect_of(book("deny x(text=a)"), "x", call) is ASK


def test_further_rules_make_another_book() -> None:
    first = book("allow x")
    second = first.with_rules([rule("deny x")])
    assert (effect_of(first, "x", NOTHING), effect_of(second, "x", NOTHING)) == (ALLOW, DENY)
    assert effect_of(second.with_rules([rule("allow Read(~/a)")]), "Read", path(f"{HOME}/a")) is ALLOW


def test_an_opaque_named_argument_is_covered_by_no_pattern() -> None:
    blurred = Subjects(named={"a": (Subject(text="1", opaque=True),)})
    assert effect_of(book("allow x(a=*)"), "x", blurred) is ASK
    loose = Subjects(named={"a": (Subject(text="$v", loose=("*",)),)})
    assert effect_of(book("allow x", "deny x(a=rm)"), "x", loose) is ASK
    assert effect_of(book("allow x"), "x", loose) is ALLOW
