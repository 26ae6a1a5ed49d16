"""`hilt hooks`: which hooks apply, and what they say to a stored event."""

import pytest

from tests.cli.kit import Hilt

HOOKS = """
hooks:
  PreToolUse:
    - {name: first, match: [shell], command: "echo '{\\"hookSpecificOutput\\": {\\"hookEventName\\": \\"PreToolUse\\", \
\\"updatedInput\\": {\\"command\\": \\"true\\"}, \\"additionalContext\\": \\"noted\\"}}'"}
    - {name: second, command: "grep -q danger && { echo no danger >&2; exit 2; }; exit 0"}
  Stop:
    - {url: "https://a.example/h?key=hunter2", timeout_s: 5}
"""


@pytest.mark.req("HOK-06", "CLI-45")
def test_list_shows_the_hooks_in_their_order_without_secrets(hilt: Hilt) -> None:
    hilt.machine.user(HOOKS)
    hilt.machine.shared("hooks: {Stop: [{command: theirs}]}")
    assert hilt("hooks", "list").out.splitlines()[1].split()[:3] == ["PreToolUse", "first", "shell"]
    hooks = hilt("hooks", "list", "--json").json["hooks"]
    assert isinstance(hooks, list)
    assert [hook["name"] for hook in hooks] == ["first", "second", "Stop@~/.config/hilt/settings.yaml:7"]
    assert hooks[2]["url"] == "https://a.example/h?[masked]"
    trusted = hilt("hooks", "list", "--json", "--trust-project").json["hooks"]
    assert isinstance(trusted, list)
    assert trusted[-1]["command"] == "theirs"


def test_list_without_hooks_says_so(hilt: Hilt) -> None:
    assert hilt("hooks", "list").out == "No hooks apply.\n"


def test_test_runs_the_hooks_of_an_event_and_says_what_they_said(hilt: Hilt) -> None:
    hilt.machine.user(HOOKS)
    name = hilt.machine.file("e.json", '{"tool_name": "shell", "tool_input": {"command": "ls"}}')
    ran = hilt("hooks", "test", "PreToolUse", name, "--json")
    assert ran.code == 0
    runs = ran.json["runs"]
    assert isinstance(runs, list)
    assert [(one["hook"], one["outcome"], one["rewrote"]) for one in runs] == [
        ("first", "context", True),
        ("second", "allow", False),
    ]
    assert ran.json["context"] == ["noted"]
    assert isinstance(ran.json["event"], dict)
    assert ran.json["event"]["tool_input"] == {"command": "true"}
    told = hilt("hooks", "test", "PreToolUse", name).out
    assert "first: context, rewrote, " in told
    assert "context: noted" in told
    assert "tool_input: {'command': 'true'}" in told


def test_test_exits_4_where_a_hook_blocks(hilt: Hilt) -> None:
    hilt.machine.user(HOOKS)
    ran = hilt("hooks", "test", "PreToolUse", "-", stdin='{"tool_name": "Write", "tool_input": {"path": "danger"}}')
    assert (ran.code, "blocked by second: no danger" in ran.out) == (4, True)


def test_test_tells_an_ask(hilt: Hilt) -> None:
    answer = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}'
    hilt.machine.user(f"hooks:\n  PreToolUse:\n    - name: asks\n      command: |\n        echo '{answer}'\n")
    assert "asked by asks: " in hilt("hooks", "test", "PreToolUse", "-", stdin="{}").out
    assert hilt("hooks", "test", "PreToolUse", "-", "--json", stdin="{}").json["asked_by"] == "asks"


def test_test_of_an_event_without_hooks_says_so(hilt: Hilt) -> None:
    response = '{"prompt": "x", "tool_response": {"call_id": "c", "content": "y"}}'
    assert hilt("hooks", "test", "PostToolUse", "-", stdin=response).out == "No hook matches this event.\n"


@pytest.mark.parametrize(
    ("args", "stdin", "message"),
    [
        (["PreTool", "-"], "{}", "did you mean 'PreToolUse'?"),
        (["Stop", "none.json"], "", "none.json: cannot be read"),
        (["Stop", "-"], "{", "not valid JSON"),
        (["Stop", "-"], "[]", "an event is a JSON object"),
        (["Stop", "-"], '{"promt": "x"}', "promt: unknown key"),
        (["Stop", "-"], '{"prompt": 3}', "prompt: expected text"),
        (["Stop", "-"], '{"tool_input": []}', "tool_input: expected an object"),
        (["Stop", "-"], '{"tool_response": 3}', "tool_response: a result is an object"),
        (["Stop", "-"], '{"tool_response": {"content": 3}}', "tool_response: 'content' is no text"),
        (["Stop", "-"], '{"hook_event_name": "PreToolUse"}', "is an event 'PreToolUse', not Stop"),
    ],
)
def test_what_is_no_event_is_told(hilt: Hilt, args: list[str], stdin: str, message: str) -> None:
    ran = hilt("hooks", "test", *args, stdin=stdin)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


@pytest.mark.req("CLI-55")
def test_a_missing_variable_disables_only_the_hook_that_names_it(hilt: Hilt) -> None:
    hilt.machine.user(
        "hooks:\n  PreToolUse:\n"
        "    - {name: gone, url: 'https://a.example', headers: {Authorization: 'Bearer ${NOWHERE}'}}\n"
        "    - {name: kept, command: 'true'}\n"
    )
    ran = hilt("hooks", "test", "PreToolUse", "-", stdin="{}")
    assert ran.out.startswith("kept: allow")
    assert "gone" not in ran.out
    (warning,) = [line for line in ran.err.splitlines() if "WARNING" in line]
    assert "NOWHERE" in warning
