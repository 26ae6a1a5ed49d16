"""Hooks that fail, and hooks of the whole run: start, prompt, stop (permissions-hooks.md section 9)."""

import logging

import pytest

from hilt.core.event import ToolEnd
from hilt.core.hook import HookAnswer, HookEvent, HookInput
from hilt.core.session import StopReason, UserMessage
from hilt.engine.function_hook import hook
from tests.flows.kit import Flow, Recorder, call, run_turn, says


@pytest.mark.req("HOK-17")
@pytest.mark.parametrize("on_failure", [None, "block", "allow"])
@pytest.mark.parametrize("event", [event for event in HookEvent if event is not HookEvent.SUBAGENT_STOP])
async def test_a_failed_hook_blocks_before_and_is_passed_over_after_unless_it_says_otherwise(
    event: HookEvent, on_failure: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    @hook(event, on_failure=on_failure, name="broken")  # type: ignore[arg-type]  # the three values
    async def broken(told: HookInput) -> HookAnswer:
        raise ValueError

    tool = says("Look")
    flow = Flow([tool], [{"calls": [call("Look")]}, *[{"text": "done"}] * 4], hooks=[broken])
    with caplog.at_level(logging.WARNING):
        result = await flow.run()
    before = event in (HookEvent.SESSION_START, HookEvent.USER_PROMPT_SUBMIT, HookEvent.PRE_TOOL_USE)
    blocks = before if on_failure is None else on_failure == "block"
    match event:
        case HookEvent.SESSION_START | HookEvent.USER_PROMPT_SUBMIT:
            assert result.stop_reason is (StopReason.BLOCKED if blocks else StopReason.END_TURN)
        case HookEvent.PRE_TOOL_USE | HookEvent.POST_TOOL_USE:
            assert flow.results[0].is_error is blocks
            assert len(tool.calls) == (0 if blocks and event is HookEvent.PRE_TOOL_USE else 1)
        case _:
            assert len(flow.model.requests) == (5 if blocks else 2)
    warned = [record for record in caplog.records if "hook_failed hook=broken" in record.getMessage()]
    assert bool(warned) is not blocks


# ---------------------------------------------------------------- events of the whole run


async def test_hooks_of_the_prompt_add_context_rewrite_and_block() -> None:
    starts: list[str] = []

    @hook("SessionStart")
    async def start(told: HookInput) -> HookAnswer:
        starts.append(told.prompt)
        return HookAnswer(additional_context="the house rules")

    @hook("UserPromptSubmit")
    async def prompt(told: HookInput) -> HookAnswer:
        if told.prompt == "bad":
            return HookAnswer(block=True, reason="no such words")
        return HookAnswer(updated_prompt=f"{told.prompt}!", additional_context="today")

    flow = Flow([says("Look")], [{"text": "one"}, {"text": "two"}], hooks=[start, prompt])
    await flow.run("hello")
    await flow.run("again")
    blocked = await flow.run("bad")
    assert starts == ["hello"]
    said = [message.text for message in flow.agent.conversation.messages if isinstance(message, UserMessage)]
    assert said == ["hello!\n\nthe house rules\n\ntoday", "again!\n\ntoday"]
    assert blocked.stop_reason is StopReason.BLOCKED
    assert "no such words" in blocked.error
    assert len(flow.model.requests) == 2


async def test_a_hook_that_blocks_the_start_ends_the_run_as_blocked() -> None:
    @hook("SessionStart", name="door")
    async def start(told: HookInput) -> HookAnswer:
        return HookAnswer(block=True, reason="closed")

    flow = Flow([says("Look")], [{"text": "one"}], hooks=[start])
    result = await flow.run()
    assert (result.stop_reason, result.error) == (StopReason.BLOCKED, "hook 'door': closed")
    assert flow.model.requests == []


async def test_a_stop_hook_sends_the_model_on_at_most_three_times() -> None:
    active: list[bool] = []

    @hook("Stop")
    async def stop(told: HookInput) -> HookAnswer:
        active.append(told.stop_hook_active)
        return HookAnswer(block=True, reason="run the tests")

    flow = Flow([says("Look")], [{"text": str(n)} for n in range(9)], hooks=[stop])
    result = await flow.run()
    assert (result.stop_reason, result.final_text) == (StopReason.END_TURN, "3")
    assert active == [False, True, True]
    told = [m.text for m in flow.agent.conversation.messages if isinstance(m, UserMessage) and m.notice]
    assert told == ["Not done yet: run the tests"] * 3


async def test_context_of_hooks_follows_the_result() -> None:
    @hook("PreToolUse")
    async def before(told: HookInput) -> HookAnswer:
        return HookAnswer(additional_context="before")

    @hook("PostToolUse")
    async def after(told: HookInput) -> HookAnswer:
        return HookAnswer(additional_context="after")

    recorder = Recorder()
    flow = await run_turn([says("Look")], [call("Look")], hooks=[before, after], recorder=recorder)
    assert flow.results[0].content == "ok\n\nbefore\n\nafter"
    assert recorder.records[0].detail["hooks"] == ["before", "after"]
    assert any(isinstance(body, ToolEnd) for body in flow.bodies)
