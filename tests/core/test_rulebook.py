import statistics
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.permission import Decision, Effect, Scope, Subjects
from hilt.core.rulebook import RuleBook, worst
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
        ("/../etc/*", "/../../etc/x", True),
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
