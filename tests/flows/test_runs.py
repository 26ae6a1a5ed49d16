"""Runs: limits, ends, retries, compaction (dispatch.md section 10)."""

import json
from dataclasses import replace

import anyio
import pytest

from hilt.core.event import RunResult
from hilt.core.session import AssistantMessage, Limits, Message, StopReason, SummaryMessage, ToolMessage, UserMessage
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.compaction import cut_for_summary
from hilt.engine.conversation import paired
from hilt.ports.model import Capabilities
from hilt.ports.tool import Environment
from hilt.testing import ScriptedModel
from tests.flows.kit import Flow, FunctionTool, call, says

LOOK = {"calls": [call("Look")]}


@pytest.mark.req("DSP-88", "DSP-09")
async def test_a_scripted_model_drives_a_run_and_gets_every_result_in_its_next_request() -> None:
    flow = Flow([says("Look")], [LOOK, {"text": "done"}])
    result = await flow.run("hello")
    first, second = flow.model.requests
    assert [type(message) for message in first.messages] == [UserMessage]
    assert [type(message) for message in second.messages] == [UserMessage, AssistantMessage, ToolMessage]
    assert (result.stop_reason, result.final_text, result.turns, result.tool_calls) == (
        "end_turn",
        "done",
        2,
        1,
    )


@pytest.mark.req("CAT-45")
async def test_each_request_carries_the_specs_of_all_listed_tools_in_order() -> None:
    flow = Flow([says("Zoo"), says("Abc")], [{"text": "done"}])
    await flow.run()
    assert [spec.name for spec in flow.model.requests[0].tools] == ["Abc", "Zoo"]
    assert flow.model.requests[0].tools[0].description == "Abc for tests."


@pytest.mark.req("DSP-89")
async def test_a_transient_failure_is_tried_again_up_to_three_times() -> None:
    fails = {"error": {"status": 529, "message": "busy"}}
    good = Flow([says("Look")], [fails, fails, fails, {"text": "done"}], retry_delays_s=(0.0, 0.0, 0.0))
    assert (await good.run()).stop_reason is StopReason.END_TURN
    assert len(good.model.requests) == 4
    bad = Flow([says("Look")], [fails] * 4, retry_delays_s=(0.0, 0.0, 0.0))
    result = await bad.run()
    assert result.stop_reason is StopReason.ERROR
    assert "busy" in result.error
    assert len(bad.model.requests) == 4


@pytest.mark.req("DSP-89")
async def test_a_failure_for_good_is_not_tried_again() -> None:
    flow = Flow([says("Look")], [{"error": {"status": 400, "message": "no"}}, {"text": "done"}])
    result = await flow.run()
    assert result.stop_reason is StopReason.ERROR
    assert len(flow.model.requests) == 1


@pytest.mark.req("DSP-90")
def test_the_defaults_of_the_limits() -> None:
    limits = Limits()
    assert (limits.max_turns, limits.max_tool_calls, limits.max_consecutive_failures) == (2000, 8000, 5)
    assert (limits.max_tokens, limits.max_seconds) == (None, None)


@pytest.mark.req("DSP-90", "DSP-94")
async def test_the_turns_of_a_run_are_limited() -> None:
    flow = Flow([says("Look")], [{"calls": [call("Look", {"n": n})]} for n in range(5)], limits=Limits(max_turns=2))
    result = await flow.run()
    assert (result.stop_reason, result.turns) == (StopReason.MAX_TURNS, 2)
    assert len(flow.model.requests) == 2


@pytest.mark.req("DSP-90", "DSP-94")
async def test_turns_in_which_every_call_failed_are_limited() -> None:
    answers = [{"calls": [call("Nope", {"n": n})]} for n in range(9)]
    flow = Flow([says("Look")], answers, limits=Limits(max_consecutive_failures=3))
    result = await flow.run()
    assert (result.stop_reason, result.turns) == (StopReason.MAX_CONSECUTIVE_FAILURES, 3)


@pytest.mark.req("DSP-90")
async def test_a_success_between_failures_starts_the_count_again() -> None:
    answers = [{"calls": [call("Nope", {"n": n}), *([call("Look")] if n == 1 else [])]} for n in range(4)]
    flow = Flow([says("Look")], [*answers, {"text": "done"}], limits=Limits(max_consecutive_failures=3))
    assert (await flow.run()).stop_reason is StopReason.END_TURN


@pytest.mark.req("DSP-90", "DSP-94")
async def test_the_tokens_of_a_run_are_limited() -> None:
    answers = [{"calls": [call("Look", {"n": n})], "usage": {"input": 60, "output": 40}} for n in range(5)]
    flow = Flow([says("Look")], answers, limits=Limits(max_tokens=150))
    result = await flow.run()
    assert (result.stop_reason, result.usage.total) == (StopReason.MAX_TOKENS, 200)


@pytest.mark.req("DSP-90", "DSP-94", "DSP-01")
async def test_the_seconds_of_a_run_are_limited_and_its_calls_stay_paired() -> None:
    async def hang(call: ToolCall, env: Environment) -> str:
        await anyio.sleep_forever()
        return ""

    flow = Flow([FunctionTool("Hang", hang)], [{"calls": [call("Hang")]}], limits=Limits(max_seconds=0.05))
    with anyio.fail_after(5):
        result = await flow.run()
    assert result.stop_reason is StopReason.MAX_SECONDS
    assert len(flow.results) == 1


@pytest.mark.req("DSP-91")
def test_a_session_may_only_lower_a_limit_and_nothing_inherits() -> None:
    base = Limits(max_turns=10, max_tokens=100)
    assert base.narrowed({"max_turns": 5, "max_tokens": 0}) == Limits(max_turns=5, max_tokens=100)
    assert base.narrowed({}) == base
    assert base.narrowed({"max_seconds": 3.0}).max_seconds == 3.0
    with pytest.raises(ValueError, match="max_turns"):
        base.narrowed({"max_turns": 11})
    with pytest.raises(ValueError, match="max_cookies"):
        base.narrowed({"max_cookies": 1})


@pytest.mark.req("DSP-93", "DSP-94")
async def test_calls_past_the_limit_are_not_run_and_the_run_ends_after_that_turn() -> None:
    tool = says("Look")
    flow = Flow(
        [tool],
        [{"calls": [call("Look", {"n": n}) for n in range(4)]}, {"text": "no"}],
        limits=Limits(max_tool_calls=2),
    )
    result = await flow.run()
    assert result.stop_reason is StopReason.MAX_TOOL_CALLS
    assert len(tool.calls) == 2
    assert len(flow.model.requests) == 1
    for late in flow.results[2:]:
        told = json.loads(late.content)
        assert told["error"] == "tool_error"
        assert "max_tool_calls" in told["message"]


@pytest.mark.req("DSP-95", "DSP-94")
async def test_five_equal_turns_in_a_row_end_the_run() -> None:
    flow = Flow([says("Look")], [LOOK] * 9)
    result = await flow.run()
    assert (result.stop_reason, result.turns) == (StopReason.NO_PROGRESS, 5)


@pytest.mark.req("DSP-95")
async def test_turns_that_differ_in_arguments_or_results_are_progress() -> None:
    count = 0

    async def counts(call: ToolCall, env: Environment) -> str:
        nonlocal count
        count += 1
        return str(count)

    flow = Flow([FunctionTool("Look", counts)], [*[LOOK] * 9, {"text": "done"}])
    assert (await flow.run()).stop_reason is StopReason.END_TURN


@pytest.mark.req("DSP-94")
def test_the_stop_reasons_are_these() -> None:
    assert {str(reason) for reason in StopReason} == {
        "end_turn",
        "max_turns",
        "max_tool_calls",
        "max_consecutive_failures",
        "max_tokens",
        "max_seconds",
        "no_progress",
        "blocked",
        "cancelled",
        "error",
    }


def narrow(answers: list[object]) -> ScriptedModel:
    """Return a model with a window that the second turn fills."""
    return ScriptedModel(answers, capabilities=Capabilities(window_tokens=1000))  # type: ignore[arg-type]  # answers of this form


@pytest.mark.req("DSP-96")
async def test_the_oldest_turns_give_way_to_a_summary_before_the_window_is_full() -> None:
    big = says("Big", "x" * 600)
    turns = [{"calls": [call("Big", {"n": n})]} for n in range(6)]
    model = narrow([*turns[:6], {"text": "the summary"}, {"text": "done"}])
    flow = Flow([big], [], model=model)
    result = await flow.run()
    assert result.final_text == "done"
    messages = flow.agent.conversation.messages
    assert messages[0] == SummaryMessage(text="the summary")
    assert sum(isinstance(message, AssistantMessage) and bool(message.calls) for message in messages) == 4
    assert paired(messages) == messages
    summary_request = model.requests[6]
    assert summary_request.tools == ()
    assert "x" * 600 in summary_request.messages[0].text  # type: ignore[union-attr]  # a user message


@pytest.mark.req("DSP-97")
async def test_a_summary_that_fails_leaves_the_transcript_as_it_was() -> None:
    big = says("Big", "x" * 600)
    turns = [{"calls": [call("Big", {"n": n})]} for n in range(6)]
    fails = {"error": {"status": 400, "message": "no"}}
    model = narrow([*turns, fails, {"text": "done"}])
    flow = Flow([big], [], model=model)
    result = await flow.run()
    assert result.final_text == "done"
    assert len(flow.results) == 6
    assert not any(isinstance(message, SummaryMessage) for message in flow.agent.conversation.messages)
    assert "notice" in flow.kinds


@pytest.mark.req("DSP-96")
def test_a_cut_never_parts_a_call_from_its_result() -> None:
    one = AssistantMessage(calls=(ToolCall("a", "Look"),))
    answer = ToolMessage(results=(ToolResult.text("a", "ok"),))
    prompt = UserMessage(text="go")
    pair: list[Message] = [one, answer]
    turns: list[Message] = [prompt, *pair * 5]
    assert cut_for_summary(turns) == 3
    assert isinstance(turns[cut_for_summary(turns)], AssistantMessage)
    assert cut_for_summary([prompt, one, answer]) == 0


@pytest.mark.req("DSP-08")
def test_no_call_without_result_and_no_result_without_call_is_sent() -> None:
    one = AssistantMessage(calls=(ToolCall("a", "Look"), ToolCall("b", "Look")))
    lonely = ToolMessage(results=(ToolResult.text("z", "?"),))
    fixed = paired([lonely, UserMessage(text="go"), one, UserMessage(text="more")])
    assert [type(message) for message in fixed] == [UserMessage, AssistantMessage, ToolMessage, UserMessage]
    results = fixed[2]
    assert isinstance(results, ToolMessage)
    assert [result.call_id for result in results.results] == ["a", "b"]
    assert all(result.is_error for result in results.results)


@pytest.mark.req("DSP-94")
async def test_an_internal_error_ends_the_run_with_a_result() -> None:
    class Broken(ScriptedModel):
        @property
        def capabilities(self) -> Capabilities:
            if self.requests:
                raise RuntimeError("inside")
            return Capabilities()

    flow = Flow([says("Look")], [], model=Broken([LOOK]))
    result = await flow.run()
    assert result.stop_reason is StopReason.ERROR
    assert "internal error" in result.error
    assert isinstance(flow.bodies[-1], RunResult)


@pytest.mark.req("DSP-01", "DSP-59", "DSP-70")
async def test_a_cancel_between_an_answer_and_its_calls_leaves_each_with_a_result() -> None:
    tool = says("Look")
    flow = Flow([tool], [LOOK])

    async def stop() -> None:
        if flow.agent.conversation.open_calls():
            flow.agent.cancel()
        await anyio.lowlevel.checkpoint()

    loop = flow.agent._funnel.loop
    loop._setup = replace(loop._setup, checkpoint=stop)
    result = await flow.run()
    assert (result.stop_reason, result.tool_calls) == (StopReason.CANCELLED, 1)
    assert tool.calls == []
    assert [one.is_error for one in flow.results] == [True]
    assert flow.kinds[-3:] == ["tool.call", "tool.result", "result"]
