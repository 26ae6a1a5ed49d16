import re
import statistics
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.permission import Decision, Effect, Scope, Subject, Subjects
from hilt.core.rule_text import grant_rule
from hilt.core.rulebook import RuleBook, worst
from hilt.core.session import Mode
from hilt.core.subjects import argument_subjects
from tests.core.rules import HOME, ROOT, book, command, effect_of, named, path, rule, shell, text, two_paths

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY
NOTHING = Subjects()


# ---------------------------------------------------------------- what a rule matches


@pytest.mark.req("PRM-01", "PRM-02")
@pytest.mark.parametrize(
    ("written", "tool", "expected"),
    [
        ("mcp__github__create_issue", "mcp__github__create_issue", True),
        ("mcp__github__create_issue", "mcp__github__create_issues", False),
        ("mcp__github__*", "mcp__github__create_issue", True),
        ("mcp__github__*", "mcp__githubs__create_issue", False),
        ("mcp__github__*", "mcp__github2__x", False),
        ("mcp__github__*", "x_mcp__github__y", False),
        ("mcp__*__list_?", "mcp__any__list_a", True),
        ("mcp__*__list_?", "mcp__any__list_ab", False),
        ("*", "anything", True),
        ("my\\*tool", "my*tool", True),
        ("my\\*tool", "myxtool", False),
    ],
)
def test_a_rule_names_a_tool_in_full_or_by_a_glob(written: str, tool: str, expected: bool) -> None:
    assert (effect_of(book(f"allow {written}"), tool, NOTHING) is ALLOW) is expected


@pytest.mark.req("PRM-04")
def test_several_pairs_must_all_match_and_an_absent_argument_does_not() -> None:
    rules = book("allow mcp__github__create_issue(owner=acme,repo=app-*)")
    tool = "mcp__github__create_issue"
    assert effect_of(rules, tool, named({"owner": "acme", "repo": "app-x", "title": "t"})) is ALLOW
    assert effect_of(rules, tool, named({"owner": "acme", "repo": "other"})) is ASK
    assert effect_of(rules, tool, named({"owner": "evil", "repo": "app-x"})) is ASK
    assert effect_of(rules, tool, named({"owner": "acme"}, "repo")) is ASK
    assert effect_of(rules, tool, named({"owner": "acme"})) is ASK


@pytest.mark.req("PRM-04")
def test_pairs_without_a_literal_are_all_tried() -> None:
    rules = book("deny x(a=1*,b=2*)", "deny x(a=3,b=*4)", "ask x(a=5*)")
    assert effect_of(rules, "x", named({"a": "10", "b": "20"})) is DENY
    assert effect_of(rules, "x", named({"a": "3", "b": "44"})) is DENY
    assert rules.decide("x", named({"a": "5", "b": "4"})).rule == rule("ask x(a=5*)")


@pytest.mark.req("PRM-06")
def test_a_key_that_the_tool_lacks_is_part_of_the_pattern() -> None:
    rules = book("allow shell(A=1 make)", "allow shell(command=ls*)")
    assert shell(rules, "A=1 make") is ALLOW
    assert shell(rules, "make") is ASK
    assert shell(rules, "ls src") is ALLOW
    assert shell(rules, "ls src; rm x") is ASK
    assert effect_of(book("allow x(k=v)"), "x", named({"k": "v"})) is ALLOW


@pytest.mark.req("PRM-06")
def test_arguments_beyond_the_schema_are_seen_call_by_call() -> None:
    rules = book("deny x(extra=1)")
    assert effect_of(rules, "x", named({"a": "1"})) is ASK
    assert effect_of(rules, "x", named({"a": "1", "extra": "1"})) is DENY
    assert effect_of(rules, "x", named({"a": "1"})) is ASK


@pytest.mark.req("PRM-12")
@pytest.mark.parametrize(
    "written", ["docs/*", "./docs/*", f"{ROOT}/docs/*", "docs/./x/../*", "docs//*", "../space/docs/*"]
)
@pytest.mark.parametrize(
    "asked", ["docs/a.md", "./docs/a.md", f"{ROOT}/docs/a.md", "src/../docs/a.md", "../space/docs/a.md"]
)
def test_paths_and_rules_are_spelled_alike(written: str, asked: str) -> None:
    assert effect_of(book(f"allow Write({written})"), "Write", path(asked)) is ALLOW


@pytest.mark.req("PRM-12")
@pytest.mark.parametrize(
    ("written", "asked", "expected"),
    [
        ("docs/*", "docs/../secret", False),
        ("docs/*", "/docs/a", False),
        (f"{ROOT}/*", "/etc/passwd", False),
        (f"{ROOT}/*", "a/b", True),
        ("/work/*", "a/b", True),
        ("~/notes/*", f"{HOME}/notes/a", True),
        ("~/notes/*", f"{HOME}/notes/../.ssh/id", False),
        ("~", HOME, True),
        ("../other/*", "/work/other/x", True),
        ("a*/../b", "b", False),
        (".", ROOT, True),
        ("..", "/work", True),
        ("/", "/", True),
        ("docs/", "docs", True),
        ("*.pem", "/etc/x.pem", True),
        ("~/x", "~/x", False),
    ],
)
def test_a_path_is_relative_in_the_workspace_and_absolute_elsewhere(written: str, asked: str, expected: bool) -> None:
    assert (effect_of(book(f"deny Read({written})"), "Read", path(asked)) is DENY) is expected


def test_without_a_workspace_paths_stay_as_they_are_but_for_dots() -> None:
    rules = RuleBook([rule("allow Read(docs/*)"), rule("deny Read(../x)"), rule("deny Read(~/y)")])
    assert effect_of(rules, "Read", path("./docs/a")) is ALLOW
    assert effect_of(rules, "Read", path("docs/../../x")) is DENY
    assert effect_of(rules, "Read", path("~/y")) is DENY
    assert effect_of(rules, "Read", path("/docs/a")) is ASK


@pytest.mark.req("PRM-13")
def test_a_path_through_a_link_is_decided_as_written_and_as_resolved() -> None:
    rules = book("allow Write(docs/*)", "deny Write(secret/*)")
    assert effect_of(rules, "Write", path("docs/a", f"{ROOT}/docs/b")) is ALLOW
    assert effect_of(rules, "Write", path("docs/a", f"{ROOT}/src/b")) is ASK
    assert effect_of(rules, "Write", path("docs/a", "/etc/passwd")) is ASK
    assert effect_of(rules, "Write", path("docs/a", "secret/a")) is DENY
    assert effect_of(rules, "Write", path("secret/a", "docs/a")) is DENY
    by_name = book("allow Write(path=docs/*)")
    assert effect_of(by_name, "Write", path("docs/a", "src/b")) is ASK


@pytest.mark.req("PRM-14")
def test_each_subject_is_decided_and_the_worst_counts() -> None:
    rules = book("allow Copy(docs/*)", "deny Copy(secret/*)")
    assert effect_of(rules, "Copy", two_paths("docs/a", "docs/b")) is ALLOW
    assert effect_of(rules, "Copy", two_paths("docs/a", "src/b")) is ASK
    assert effect_of(rules, "Copy", two_paths("src/b", "secret/b")) is DENY
    assert effect_of(rules, "Copy", two_paths("secret/b", "docs/b")) is DENY
    assert effect_of(book("allow Copy(source=docs/*)"), "Copy", two_paths("docs/a", "src/b")) is ALLOW


@pytest.mark.req("PRM-15")
def test_the_worst_of_a_tool_and_its_targets_counts() -> None:
    allow = Decision(effect=ALLOW, reason="a")
    ask = Decision(effect=ASK, reason="b")
    once = Decision(effect=ASK, reason="c", rememberable=False)
    deny = Decision(effect=DENY, reason="d")
    assert worst([allow, ask, deny]) is deny
    assert worst([allow, ask]) is ask
    assert worst([ask, once]) == Decision(effect=ASK, reason="b", rememberable=False)
    rules = book("deny mcp__x__y", "allow mcp__x__z")
    query = rules.decide("CallMcpWithQuery", named({"server": "x", "tool": "y"}))
    assert query.effect is ALLOW
    assert worst([query, rules.decide("mcp__x__y", named({}))]).effect is DENY
    assert worst([query, rules.decide("mcp__x__z", named({}))]).effect is ALLOW
    assert worst([query, rules.decide("mcp__x__other", named({}))]).effect is ASK


# ---------------------------------------------------------------- which rule wins


@pytest.mark.req("PRM-20", "PRM-21")
@given(st.permutations(list(Scope)), st.sampled_from(Scope))
def test_a_deny_of_any_scope_beats_every_ask_and_allow(order: list[Scope], scope: Scope) -> None:
    rules = [rule("allow x", one) for one in order] + [rule("ask x", one) for one in order]
    rules.insert(len(rules) // 2, rule("deny x", scope))
    decision = RuleBook(rules).decide("x", NOTHING)
    assert (decision.effect, decision.rule) == (DENY, rule("deny x", scope))


@pytest.mark.req("PRM-22")
@pytest.mark.parametrize("ask", Scope)
@pytest.mark.parametrize("allow", Scope)
def test_an_ask_beats_an_allow_but_for_that_of_a_built_in_default(ask: Scope, allow: Scope) -> None:
    decision = RuleBook([rule("allow x", allow), rule("ask x", ask)]).decide("x", NOTHING)
    beaten = ask is Scope.BUILTIN_DEFAULT and allow is not Scope.BUILTIN_DEFAULT
    assert decision.effect is (ALLOW if beaten else ASK)


@pytest.mark.req("PRM-20")
def test_an_allowed_call_runs_unasked() -> None:
    assert effect_of(book("allow Write"), "Write", path("a")) is ALLOW
    assert effect_of(book(), "Write", path("a")) is ASK


@pytest.mark.req("PRM-23")
def test_no_rule_means_ask() -> None:
    assert RuleBook(()).decide("x", NOTHING) == Decision(effect=ASK, reason="no rule allows it")
    assert book("allow y", "deny x(a=2)").decide("x", named({"a": "1"})).effect is ASK


@pytest.mark.req("PRM-24")
def test_the_highest_scope_is_reported_then_the_first_written() -> None:
    rules = RuleBook(
        [
            rule("deny x(a*)", Scope.USER, line=1),
            rule("deny x", Scope.CLI, line=2),
            rule("deny x(*)", Scope.CLI, line=3),
            rule("deny x(k=*)", Scope.MANAGED, line=4),
            rule("ask x", Scope.MANAGED, line=5),
        ]
    )
    assert rules.decide("x", text("abc")).rule == rule("deny x", Scope.CLI, line=2)
    assert rules.decide("x", text("abc", k="v")).rule == rule("deny x(k=*)", Scope.MANAGED, line=4)


@pytest.mark.req("PRM-26")
@given(st.lists(st.sampled_from(["allow x", "deny x(a*)", "ask x(*b)", "allow x(k=v)", "deny y", "ask *"]), max_size=5))
def test_a_decision_depends_on_nothing_but_what_is_given(texts: list[str]) -> None:
    rules = book(*texts)
    calls = [("x", text("ab")), ("y", NOTHING), ("x", text("c", k="v")), ("x", named({"k": "v"})), ("z", NOTHING)]
    first = [rules.decide(tool, subjects) for tool, subjects in calls]
    again = [rules.decide(tool, subjects) for tool, subjects in reversed(calls)]
    assert first == again[::-1] == [book(*texts).decide(tool, subjects) for tool, subjects in calls]


@pytest.mark.req("PRM-26")
def test_deciding_takes_microseconds_with_two_hundred_rules() -> None:
    effects = ("allow", "ask", "deny")
    rules = book(*(f"{effects[i % 3]} shell(tool{i} *x* y)" for i in range(200)))
    call = command("npm run test:unit -- --watch=false")
    spent = []
    for _ in range(501):
        start = time.process_time_ns()
        rules.decide("shell", call)
        spent.append(time.process_time_ns() - start)
    assert statistics.median(spent) < 50_000


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
