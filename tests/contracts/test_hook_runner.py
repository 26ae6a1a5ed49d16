"""What every hook does, whatever runs it: Python, plain and async, command, HTTP."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import cast

import anyio
import pytest

from hilt.adapters.hook_command import CommandHook
from hilt.adapters.hook_http import HttpHook
from hilt.core.content import ImagePart, TextPart
from hilt.core.errors import HookFailedError
from hilt.core.hook import NO_ANSWER, HookAnswer, HookEvent, HookInput, ResultRewrite
from hilt.core.tool import ToolResult
from hilt.engine.function_hook import FunctionHook
from hilt.ports.hook import HookRunner
from tests.contracts.hook_endpoint import endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A hook, and how to see the event that it got."""

    hook: HookRunner
    event: Callable[[], object]


# Makes a hook of one event that gives an answer as JSON text; None never answers.
Make = Callable[[ExitStack, Path, HookEvent, str | None], Made]


def _said(answer: str) -> Mapping[str, object]:
    return cast(Mapping[str, object], json.loads(answer))


def plain(stack: ExitStack, folder: Path, event: HookEvent, answer: str | None) -> Made:
    seen: list[HookInput] = []
    forever = Event()
    stack.callback(forever.set)

    def function(hook_input: HookInput) -> Mapping[str, object]:
        seen.append(hook_input)
        if answer is None:
            forever.wait()
            return {}
        return _said(answer)

    return Made(hook=FunctionHook(name="h", event=event, function=function, timeout_s=0.3), event=lambda: None)


def async_(stack: ExitStack, folder: Path, event: HookEvent, answer: str | None) -> Made:
    async def function(hook_input: HookInput) -> Mapping[str, object]:
        if answer is None:
            await anyio.sleep_forever()
            return {}
        return _said(answer)

    return Made(hook=FunctionHook(name="h", event=event, function=function, timeout_s=0.3), event=lambda: None)


def command(stack: ExitStack, folder: Path, event: HookEvent, answer: str | None) -> Made:
    (folder / "answer").write_text(answer or "")
    script = "cat > event; cat answer" if answer is not None else "cat > event; sleep 300"
    hook = CommandHook(name="h", event=event, command=script, cwd=str(folder), timeout_s=0.3 if answer is None else 20)
    return Made(hook=hook, event=lambda: json.loads((folder / "event").read_text()))


def http(stack: ExitStack, folder: Path, event: HookEvent, answer: str | None) -> Made:
    server = stack.enter_context(endpoint())
    server.body = (answer or "").encode()
    if answer is None:
        server.hold.clear()
    hook = HttpHook(name="h", event=event, url=server.url, timeout_s=0.3 if answer is None else 20)
    return Made(hook=hook, event=lambda: json.loads(server.got[-1]))


RUNTIMES: dict[str, Make] = {"plain": plain, "async": async_, "command": command, "http": http}
OUTSIDE = ("command", "http")

Maker = Callable[[HookEvent, str | None], Made]


@pytest.fixture(params=RUNTIMES)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Maker]:
    with ExitStack() as stack:
        yield lambda event, answer: RUNTIMES[request.param](stack, tmp_path, event, answer)


@pytest.fixture(params=OUTSIDE)
def make_outside(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Maker]:
    with ExitStack() as stack:
        yield lambda event, answer: RUNTIMES[request.param](stack, tmp_path, event, answer)


def specific(event: HookEvent, **values: object) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **values}})


def told(event: HookEvent, **values: object) -> HookInput:
    return HookInput(event=event, session_id="s1", **values)  # type: ignore[arg-type]  # each test passes what fits


PRE, POST, PROMPT = HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE, HookEvent.USER_PROMPT_SUBMIT
PART = {"kind": "text", "text": "new"}


@pytest.mark.req("HOK-12", "HOK-05")
@pytest.mark.parametrize(
    ("event", "answer", "means"),
    [
        (PRE, "{}", NO_ANSWER),
        (HookEvent.STOP, '{"decision": "block", "reason": "go on"}', HookAnswer(block=True, reason="go on")),
        (PRE, '{"systemMessage": "hi"}', HookAnswer(system_message="hi")),
        (
            PRE,
            specific(PRE, permissionDecision="deny", permissionDecisionReason="no"),
            HookAnswer(permission="deny", reason="no"),
        ),
        (PRE, specific(PRE, permissionDecision="ask"), HookAnswer(permission="ask")),
        (PRE, specific(PRE, permissionDecision="allow"), HookAnswer(permission="allow")),
        (PRE, specific(PRE, updatedInput={"a": 1}), HookAnswer(updated_input={"a": 1})),
        (PROMPT, specific(PROMPT, updatedPrompt="new"), HookAnswer(updated_prompt="new")),
        (PROMPT, specific(PROMPT, additionalContext="more"), HookAnswer(additional_context="more")),
        (
            POST,
            specific(POST, updatedResult={"content": "new"}),
            HookAnswer(updated_result=ResultRewrite(content="new")),
        ),
        (
            POST,
            specific(POST, updatedResult={"is_error": True, "parts": [PART]}),
            HookAnswer(updated_result=ResultRewrite(is_error=True, parts=(TextPart(text="new"),))),
        ),
    ],
)
async def test_the_answer_is_understood(make: Maker, event: HookEvent, answer: str, means: HookAnswer) -> None:
    assert await make(event, answer).hook.run(told(event)) == means


@pytest.mark.req("HOK-18")
@pytest.mark.parametrize(
    "answer",
    [
        '{"decision": "deny"}',
        '{"decision": null}',
        '{"reason": 5}',
        '{"hookSpecificOutput": []}',
        '{"hookSpecificOutput": {}}',
        specific(POST, permissionDecision="deny"),
        specific(PRE, permissionDecision="perhaps"),
        specific(PRE, permissionDecision=True),
        specific(PRE, updatedInput="rm"),
        specific(PRE, additionalContext=["x"]),
    ],
)
async def test_an_answer_that_is_not_of_the_shape_has_failed(make: Maker, answer: str) -> None:
    with pytest.raises(HookFailedError):
        await make(PRE, answer).hook.run(told(PRE))


@pytest.mark.req("HOK-18")
@pytest.mark.parametrize(
    "change",
    [{"content": 5}, {"is_error": "yes"}, {"parts": {}}, {"parts": [{"kind": "nope"}]}, "text", ["x"]],
)
async def test_a_rewrite_of_a_result_that_is_not_of_the_shape_has_failed(make: Maker, change: object) -> None:
    with pytest.raises(HookFailedError):
        await make(POST, specific(POST, updatedResult=change)).hook.run(told(POST))


@pytest.mark.req("HOK-18")
@pytest.mark.parametrize("answer", ['{"decision": "block"', '{"decision": "block"} {}', "{" * 100_000])
async def test_an_answer_that_is_no_json_has_failed(make_outside: Maker, answer: str) -> None:
    with pytest.raises(HookFailedError):
        await make_outside(PRE, answer).hook.run(told(PRE))


@pytest.mark.req("HOK-12")
async def test_unknown_keys_are_passed_over_with_one_warning(make: Maker, caplog: pytest.LogCaptureFixture) -> None:
    answer = {
        "continue": True,
        "hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedInput": {}, "updatedResult": {"x": 1}},
    }
    with caplog.at_level(logging.WARNING, logger="hilt"):
        said = await make(POST, json.dumps(answer)).hook.run(told(POST))
    assert said == HookAnswer(updated_result=ResultRewrite())
    (line,) = caplog.messages
    for key in ("continue", "hookSpecificOutput.updatedInput", "hookSpecificOutput.updatedResult.x"):
        assert key in line


@pytest.mark.req("HOK-13", "HOK-04", "HOK-05")
async def test_the_event_holds_everything_under_its_known_keys(make_outside: Maker) -> None:
    image = ImagePart(data="aGk=", mime_type="image/png")
    made = make_outside(POST, "{}")
    await made.hook.run(
        told(
            POST,
            cwd="/w",
            tool_name="t",
            tool_input={"a": "é"},
            tool_response=ToolResult.with_parts("c1", "text", [image]),
            prompt="p",
            permission_mode="plan",
            stop_hook_active=True,
            call_id="c1",
            agent_id="child",
        )
    )
    assert made.event() == {
        "session_id": "s1",
        "cwd": "/w",
        "hook_event_name": "PostToolUse",
        "tool_name": "t",
        "tool_input": {"a": "é"},
        "tool_response": {
            "call_id": "c1",
            "content": "text",
            "is_error": False,
            "parts": [{"kind": "image", "data": "aGk=", "mime_type": "image/png"}],
        },
        "prompt": "p",
        "permission_mode": "plan",
        "stop_hook_active": True,
        "call_id": "c1",
        "agent_id": "child",
    }


@pytest.mark.req("HOK-13")
async def test_before_execution_there_is_no_response(make_outside: Maker) -> None:
    made = make_outside(PRE, "{}")
    await made.hook.run(told(PRE, tool_name="t"))
    event = made.event()
    assert isinstance(event, dict)
    assert "tool_response" not in event
    assert event["tool_input"] == {}


@pytest.mark.req("HOK-15")
async def test_a_hook_that_is_cancelled_at_its_deadline_ends(make: Maker) -> None:
    made = make(PRE, None)
    with anyio.fail_after(20):
        with anyio.move_on_after(0.2) as deadline:
            await made.hook.run(told(PRE))
    assert deadline.cancelled_caught


@pytest.mark.req("HOK-15")
async def test_a_hook_outside_keeps_its_deadline_by_itself(make_outside: Maker) -> None:
    with anyio.fail_after(20):
        with pytest.raises(HookFailedError, match=r"deadline of 0\.3 s"):
            await make_outside(PRE, None).hook.run(told(PRE))


def test_the_deadline_is_thirty_seconds_unless_said(tmp_path: Path) -> None:
    hooks: list[HookRunner] = [
        FunctionHook(name="h", event=PRE, function=lambda _: None),
        CommandHook(name="h", event=PRE, command="true"),
        HttpHook(name="h", event=PRE, url="http://127.0.0.1:1"),
    ]
    assert [(hook.timeout_s, hook.match, hook.on_failure) for hook in hooks] == [(30.0, (), None)] * 3
