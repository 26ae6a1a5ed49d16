"""Hooks as values: which tools they match, how the event reads as JSON, how an answer is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.errors import HookFailedError
from hilt.core.hook import HookEvent, HookInput, event_json, matches, parse_answer


@pytest.mark.parametrize(
    ("patterns", "tool", "fits"),
    [
        ((), "shell", True),
        (("shell",), "shell", True),
        (("shell",), "shell_jobs", False),
        (("Read", "mcp__git__*"), "mcp__git__log", True),
        (("mcp__git__*",), "mcp__github__log", False),
        (("*",), "anything", True),
        (("shel?",), "shell", True),
        (("[s]hell",), "shell", False),
    ],
)
def test_globs_are_held_against_the_whole_name(patterns: tuple[str, ...], tool: str, fits: bool) -> None:
    assert matches(patterns, tool) is fits


@pytest.mark.req("HOK-13")
def test_the_event_has_every_key_before_execution() -> None:
    assert event_json(HookInput(event=HookEvent.SESSION_START, session_id="s")) == {
        "session_id": "s",
        "cwd": "",
        "hook_event_name": "SessionStart",
        "tool_name": "",
        "tool_input": {},
        "prompt": "",
        "permission_mode": "default",
        "stop_hook_active": False,
        "call_id": "",
        "agent_id": "",
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["block", "deny", "PreToolUse"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["decision", "reason", "hookSpecificOutput", "hookEventName", "updatedInput", "x"]),
            inner,
        )
    ),
    max_leaves=8,
)


@pytest.mark.req("HOK-18")
@given(raw=JSON)
def test_any_answer_is_either_of_the_shape_or_a_failure(raw: object) -> None:
    try:
        answer, unknown = parse_answer(raw, HookEvent.PRE_TOOL_USE)
    except HookFailedError:
        return
    assert isinstance(raw, dict)
    assert answer.block is ("decision" in raw)
    assert all(isinstance(key, str) for key in unknown)


def test_an_answer_with_keys_that_are_no_text_has_failed() -> None:
    with pytest.raises(HookFailedError):
        parse_answer({5: "x"}, HookEvent.PRE_TOOL_USE)
