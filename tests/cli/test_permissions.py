"""`hilt permissions`: the deciding rule, rules that do nothing, recorded calls that would change."""

import json

import pytest

from tests.cli.kit import Hilt


@pytest.mark.req("PRM-75")
def test_why_names_effect_rule_scope_file_line_and_the_rules_that_lost(hilt: Hilt) -> None:
    hilt.machine.shared("permissions:\n  deny:\n    - 'Read(.env*)'\n")
    ran = hilt("permissions", "why", "Read", '{"path": ".env"}', "--json").json
    assert (ran["effect"], ran["rule"]) == (
        "deny",
        {"effect": "deny", "rule": "Read(.env*)", "scope": "SharedProject", "source": ".hilt/settings.yaml", "line": 3},
    )
    assert isinstance(ran["subjects"], list)
    (subject,) = ran["subjects"]
    assert (subject["subject"], [rule["rule"] for rule in subject["lost"]]) == (".env", ["Read"])
    told = hilt("permissions", "why", "Read", '{"path": ".env"}').out
    assert told.startswith("Read: deny by deny Read(.env*)  (SharedProject, .hilt/settings.yaml:3)\n")
    assert "lost: allow Read  (BuiltinDefault" in told


@pytest.mark.req("PRM-75", "PRM-60")
def test_why_tells_each_segment_of_a_command(hilt: Hilt) -> None:
    args = ("permissions", "why", "shell", '{"command": "git status; rm x"}', "--tools", "shell")
    rules = ("--allow", "shell(git:*)", "--deny", "shell(rm:*)")
    subjects = hilt(*args, *rules, "--json").json["subjects"]
    assert isinstance(subjects, list)
    assert [(one["subject"], one["effect"]) for one in subjects] == [("git status", "allow"), ("rm x", "deny")]


CALLS = [
    ("Read", {"path": "a.txt"}),
    ("Read", {"path": ".env"}),
    ("Write", {"path": "b.txt", "content": "x"}),
    ("Write", {"path": "docs/b.txt", "content": "x"}),
    ("Write", {"path": 3}),
    ("Nothing", {}),
    ("shell", {"command": "true"}),
    ("shell", {"command": "rm -rf a.txt"}),
]


@pytest.mark.req("PRM-75")
@pytest.mark.parametrize("mode", ["default", "plan", "accept-edits"])
def test_why_decides_as_dispatch_does(hilt: Hilt, mode: str) -> None:
    hilt.machine.shared("permissions: {deny: ['Read(.env*)', 'shell(rm:*)'], ask: ['Write(docs/*)']}")
    flags = ("--tools", "files,shell", "--mode", mode)
    calls = [{"name": name, "args": args, "id": f"c{n}"} for n, (name, args) in enumerate(CALLS)]
    model = hilt.script({"calls": calls}, {"text": "done"})
    session = str(hilt("run", "x", "--json", "--model", model, *flags).json["session_id"])
    records = {r["call_id"]: r for r in map(json.loads, hilt("sessions", "calls", session, "--json").out.splitlines())}
    for number, (name, args) in enumerate(CALLS):
        why = hilt("permissions", "why", name, json.dumps(args), "--json", *flags).json
        record = records[f"c{number}"]
        if why["effect"] is None:
            assert record["code"] == why["code"]
        else:
            nobody = "no approver" in record["result"]
            assert ("ask" if nobody else record["decision"]) == why["effect"], (name, args)


def test_why_says_what_stops_a_call_before_any_rule(hilt: Hilt) -> None:
    ran = hilt("permissions", "why", "Raed")
    assert ran.out == "Raed: refused before any rule: Tool not found: Raed. Did you mean 'Read'?\n"
    assert (ran.code, hilt("permissions", "why", "Read", '{"file_path": "a"}').code) == (1, 0)
    assert hilt("permissions", "why", "Raed", "--json").json["code"] == "tool_not_found"
    assert "enable it with --tools shell" in hilt("permissions", "why", "shell").out


@pytest.mark.req("PRM-76")
def test_lint_reports_rules_that_do_nothing(hilt: Hilt) -> None:
    hilt.machine.shared("permissions:\n  allow: [Read]\n  deny:\n    - Write\n    - Write\n")
    ran = hilt(
        "permissions", "lint", "--json", "--tools", "files,shell",
        "--allow", "Nope", "--allow", "Read(nokey=1)", "--allow", "Write(docs/*)",
    )  # fmt: skip
    assert ran.code == 1
    findings = ran.json["findings"]
    assert isinstance(findings, list)
    assert [(one["kind"], one["rule"], one["source"], one["line"]) for one in findings] == [
        ("no_such_tool", "Nope", "--allow", 0),
        ("no_such_key", "Read(nokey=1)", "--allow", 0),
        ("shadowed", "Write(docs/*)", "--allow", 0),
        ("duplicate", "Write", ".hilt/settings.yaml", 5),
        ("withheld", "Read", ".hilt/settings.yaml", 2),
    ]
    assert ".hilt/settings.yaml:5  duplicate" in hilt("permissions", "lint", "--tools", "files").out


@pytest.mark.req("PRM-76")
def test_lint_without_findings_exits_0(hilt: Hilt) -> None:
    ran = hilt("permissions", "lint", "--tools", "all", "--deny", "Read(.env*)", "--allow", "shell(git:*)")
    assert (ran.code, ran.out) == (0, "Nothing wrong.\n")


@pytest.mark.req("PRM-77")
def test_replay_decides_recorded_calls_anew_and_lists_those_that_change(hilt: Hilt) -> None:
    calls = [
        {"name": "Read", "args": {"path": "a"}, "id": "c1"},
        {"name": "Write", "args": {"path": "b", "content": ""}, "id": "c2"},
        {"name": "Grep", "args": "{", "id": "c3"},
    ]
    model = hilt.script({"calls": calls}, {"text": "done"})
    session = str(hilt("run", "x", "--json", "--model", model, "--tools", "files").json["session_id"])
    name = hilt.machine.file("audit.jsonl", hilt("sessions", "calls", session, "--json").out + "\n")
    same = hilt("permissions", "replay", name, "--tools", "files")
    assert (same.code, same.out) == (0, "0 of 3 calls would be decided otherwise.\n")
    changed = hilt("permissions", "replay", name, "--tools", "files", "--deny", "Read", "--allow", "Write", "--json")
    assert changed.json["calls"] == 3
    changes = changed.json["changes"]
    assert isinstance(changes, list)
    assert [(one["call_id"], one["before"], one["after"], one["rule"]["rule"]) for one in changes] == [
        ("c1", "allow", "deny", "Read"),
        ("c2", "ask", "allow", "Write"),
    ]
    told = hilt("permissions", "replay", name, "--tools", "files", "--deny", "Read").out
    assert "Read  allow → deny  deny Read  (CLI, --deny)" in told


@pytest.mark.req("PRM-77")
def test_replay_of_something_else_names_the_line(hilt: Hilt) -> None:
    name = hilt.machine.file("x.jsonl", '{"type": "tool_call", "tool": "Read", "args": {}}\n[]\n')
    ran = hilt("permissions", "replay", name)
    assert (ran.code, ran.err) == (2, "hilt: x.jsonl:2: is no record of a tool call\n")
    assert hilt("permissions", "replay", "none").err == "hilt: none: cannot be read: No such file or directory\n"
