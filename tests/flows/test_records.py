"""What a turn tells: events, times, the audit record (dispatch.md sections 7 to 9)."""

import json
import logging
from collections.abc import Mapping

import anyio
import pytest

from hilt.core.content import ImagePart, Part, TextPart
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.event import Event, RunResult, ToolCallTaken, ToolEnd, ToolSettled, ToolStart
from hilt.core.hook import HookAnswer, HookInput
from hilt.core.permission import Scope
from hilt.core.session import AssistantMessage, StopReason
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.function_hook import hook
from hilt.ports.permission import Verdict
from hilt.ports.tool import Environment
from hilt.testing import ManualClock
from tests.flows.kit import Answering, Flow, FunctionTool, Recorder, allow, ask, call, deny, run_turn, says

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.req("DSP-70", "DSP-73")
async def test_each_call_is_taken_once_and_settled_once_and_ends_exactly_when_it_started() -> None:
    calls = [call("Look", id_="a"), call("Nope", id_="b"), call("Off", id_="c")]
    flow = await run_turn([says("Look"), says("Off")], calls, rules=deny("Off"))
    for id_, executed in (("a", 1), ("b", 0), ("c", 0)):
        mine = [body for body in flow.bodies if getattr(body, "call_id", "") == id_]
        assert sum(isinstance(body, ToolCallTaken) for body in mine) == 1
        assert sum(isinstance(body, ToolSettled) for body in mine) == 1
        assert sum(isinstance(body, ToolStart) for body in mine) == executed
        assert sum(isinstance(body, ToolEnd) for body in mine) == executed
    assert sum(isinstance(body, RunResult) for body in flow.bodies) == 1
    assert isinstance(flow.bodies[-1], RunResult)


@pytest.mark.req("DSP-72")
async def test_events_are_numbered_without_gap_over_all_runs_and_carry_run_turn_and_time() -> None:
    flow = Flow([says("Look")], [{"calls": [call("Look")]}, {"text": "one"}, {"text": "two"}])
    await flow.run()
    await flow.run()
    assert [event.seq for event in flow.events] == list(range(1, len(flow.events) + 1))
    assert [event.turn for event in flow.events] == sorted(event.turn for event in flow.events)
    assert all(event.time for event in flow.events)


@pytest.mark.req("DSP-74")
async def test_a_receiver_that_fails_changes_no_result(caplog: pytest.LogCaptureFixture) -> None:
    flow = Flow([says("Look")], [{"calls": [call("Look")]}, {"text": "done"}])

    def broken(event: Event) -> None:
        raise RuntimeError("receiver")

    flow.agent._emitter.subscribe(broken)
    with caplog.at_level(logging.ERROR):
        result = await flow.run()
    assert result.stop_reason is StopReason.END_TURN
    assert flow.results[0].content == "ok"
    assert sum("event_receiver_failed" in record.message for record in caplog.records) == 1


class Ticking:
    """A tool that moves the clock on."""

    def __init__(self, clock: ManualClock, name: str, *, read_only: bool = True) -> None:
        async def body(call: ToolCall, env: Environment) -> str:
            clock.advance(2.0)
            return "ok"

        self.tool = FunctionTool(name, body, read_only=read_only)


@pytest.mark.req("DSP-80", "DSP-81", "DSP-83")
async def test_queued_runs_from_dispatch_to_the_start_and_took_is_the_execution_alone() -> None:
    clock = ManualClock()

    class Slow(Answering):
        async def decide(self, ask: object) -> object:  # type: ignore[override]  # moves the clock as a person would
            clock.advance(10.0)
            return self.verdicts[0]

    tools = [Ticking(clock, "One").tool, Ticking(clock, "Two", read_only=False).tool, says("Off")]
    flow = await run_turn(
        tools,
        [call("One", id_="a"), call("Two", id_="b"), call("Off", id_="c")],
        clock=clock,
        approver=Slow([Verdict(kind="allow_once")]),
        rules=[*ask("Two"), *deny("Off")],
    )
    times = {record.call.id: (record.queued, record.took) for record in flow.recorder.records}
    assert times["a"] == (0.0, 2.0)
    assert times["b"] == (12.0, 2.0)
    assert times["c"] == (14.0, 0.0)


@pytest.mark.req("DSP-82")
async def test_without_a_clock_both_times_are_zero() -> None:
    flow = await run_turn([says("Look")], [call("Look")])
    assert [(record.queued, record.took) for record in flow.recorder.records] == [(0.0, 0.0)]


@pytest.mark.req("DSP-84", "DSP-85")
async def test_the_recorder_gets_every_call_once_with_what_happened_to_it() -> None:
    @hook("PreToolUse", match=["Count"], name="seen")
    def note(seen: HookInput) -> HookAnswer | None:
        return None

    async def shows(call: ToolCall, env: Environment) -> ToolResult:
        parts: list[Part] = [ImagePart(data="AAAA", mime_type="image/png"), TextPart(text="hello")]
        return ToolResult.with_parts(call.id, "shown", parts)

    tools = [says("Count", schema=NUMBER), says("Off"), FunctionTool("Show", shows)]
    calls = [
        call("Count", {"n": "7"}, id_="a"),
        call("Off", id_="b"),
        call("Nope", id_="c"),
        call("Show", id_="d"),
    ]
    flow = await run_turn(tools, calls, hooks=[note], rules=[*allow("Count"), *deny("Off")])
    records = {record.call.id: record for record in flow.recorder.records}
    assert list(records) == ["a", "b", "c", "d"]
    count = records["a"].detail
    assert count["decision"] == "allow"
    assert count["rule"] == "allow Count [CLI]"
    assert count["hooks"] == ["seen"]
    assert count["coercions"]
    assert records["a"].call.arguments == {"n": 7}
    assert records["b"].detail["decision"] == "deny"
    assert records["b"].detail["code"] == "access_denied"
    assert records["c"].detail["code"] == "tool_not_found"
    assert records["d"].detail["parts"] == [{"kind": "image", "bytes": 3}, {"kind": "text", "bytes": 5}]


@pytest.mark.req("DSP-84")
async def test_events_and_record_work_without_each_other() -> None:
    flow = await run_turn([says("Look")], [call("Look")], recorder=None)
    assert "tool.result" in flow.kinds
    quiet = Flow([says("Look")], [{"calls": [call("Look")]}, {"text": "done"}])
    quiet.agent._emitter._receivers.clear()
    await quiet.run()
    assert quiet.events == []
    assert len(quiet.recorder.records) == 1


@pytest.mark.req("DSP-86")
async def test_a_recorder_that_raises_changes_no_result_and_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken:
        async def tool_call(self, *args: object, detail: Mapping[str, object]) -> None:
            raise OSError("disk")

    with caplog.at_level(logging.ERROR):
        flow = await run_turn([says("Look")], [call("Look"), call("Look")], recorder=Broken())
    assert [result.content for result in flow.results] == ["ok", "ok"]
    assert sum("tool_call_recorder_failed" in record.message for record in caplog.records) == 1


@pytest.mark.req("DSP-86")
async def test_a_recorder_that_hangs_is_left_at_its_deadline(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hilt.engine.settle.RECORD_TIMEOUT_S", 0.1)

    class Hangs:
        def __init__(self) -> None:
            self.seen: list[str] = []

        async def tool_call(self, session_id: str, call: ToolCall, *rest: object, detail: Mapping[str, object]) -> None:
            self.seen.append(call.id)
            if call.id == "a":
                await anyio.sleep_forever()

    recorder = Hangs()
    with caplog.at_level(logging.ERROR), anyio.fail_after(5):
        flow = await run_turn([says("Look")], [call("Look", id_="a"), call("Look", id_="b")], recorder=recorder)
    assert [result.content for result in flow.results] == ["ok", "ok"]
    assert recorder.seen == ["a", "b"]
    assert sum("tool_call_recorder_failed" in record.message for record in caplog.records) == 1


@pytest.mark.req("DSP-65", "CAT-14")
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ToolError.not_found("Other"), {"error": "tool_not_found", "message": "Tool not found: Other"}),
        (
            ToolError.unavailable("asleep"),
            {"error": "tool_unavailable", "message": "Tool 'Odd' is currently unavailable: asleep"},
        ),
        (
            ToolError.invalid_arguments("no x"),
            {"error": "invalid_arguments", "message": "Invalid arguments for tool 'Odd': no x"},
        ),
        (
            ToolError.execution_failed("disk full"),
            {"error": "execution_failed", "message": "Tool execution failed: disk full"},
        ),
        (ToolError.timeout(120), {"error": "timeout", "message": "Tool 'Odd' timed out after 120ms"}),
        (
            ToolError.access_denied("outside"),
            {"error": "access_denied", "message": "Tool 'Odd' is not allowed by policy: outside"},
        ),
        (ToolError.other("so it is"), {"error": "tool_error", "message": "so it is"}),
        (
            ToolError(ErrorCode.TOOL_ERROR, "more", data={"a": 1}),
            {"error": "tool_error", "message": "more", "data": {"a": 1}},
        ),
    ],
)
async def test_an_error_that_a_tool_raises_has_its_codes_fixed_text(
    error: ToolError, told: Mapping[str, object]
) -> None:
    async def body(call: ToolCall, env: Environment) -> str:
        raise error

    flow = await run_turn([FunctionTool("Odd", body)], [call("Odd")])
    assert json.loads(flow.results[0].content) == told


@pytest.mark.req("DSP-65")
async def test_a_tool_cannot_raise_result_too_large() -> None:
    async def body(call: ToolCall, env: Environment) -> str:
        raise ToolError(ErrorCode.RESULT_TOO_LARGE, "big")

    flow = await run_turn([FunctionTool("Odd", body)], [call("Odd")])
    assert json.loads(flow.results[0].content) == {
        "error": "execution_failed",
        "message": "Tool execution failed: big",
    }


@pytest.mark.req("DSP-65")
async def test_an_unknown_name_tells_up_to_three_near_visible_names() -> None:
    tools = [says(name) for name in ("Lock", "Look", "Loop", "Lookup", "Other")]
    flow = await run_turn(tools, [call("Loook")])
    message = json.loads(flow.results[0].content)["message"]
    assert message.startswith("Tool not found: Loook")
    assert "'Look'" in message
    assert sum(f"'{tool.spec.name}'" in message for tool in tools) <= 3


@pytest.mark.req("DSP-66")
async def test_the_error_that_a_tool_returns_passes_unchanged() -> None:
    async def body(call: ToolCall, env: Environment) -> ToolResult:
        return ToolResult.error(call.id, "I could not: {not json")

    flow = await run_turn([FunctionTool("Odd", body)], [call("Odd")])
    assert flow.results[0].content == "I could not: {not json"
    assert flow.results[0].is_error


@pytest.mark.req("DSP-67")
async def test_a_denial_names_what_denied_but_never_a_managed_rules_text() -> None:
    @hook("PreToolUse", match=["Hooked"], name="guard")
    def block(seen: HookInput) -> HookAnswer:
        return HookAnswer(permission="deny", reason="not now")

    tools = [says("Ruled"), says("Managed"), says("Hooked")]
    rules = [*deny("Ruled"), *deny("Man*", scope=Scope.MANAGED)]
    flow = await run_turn(tools, [call(tool.spec.name) for tool in tools], rules=rules, hooks=[block])
    ruled, managed, hooked = (json.loads(result.content)["message"] for result in flow.results)
    assert "Ruled" in ruled
    assert "rule" in ruled
    assert "Man*" not in managed
    assert "'guard'" in hooked
    assert "not now" in hooked


@pytest.mark.req("DSP-07", "DSP-40", "DSP-34")
async def test_the_transcript_keeps_the_models_text_and_the_tool_gets_the_decoded_arguments() -> None:
    tool = says("Count", schema=NUMBER)
    flow = await run_turn([tool], [call("Count", '{"n":  "7"}')])
    (answer,) = [
        message
        for message in flow.agent.conversation.messages
        if isinstance(message, AssistantMessage) and message.calls
    ]
    assert answer.calls[0].args == '{"n":  "7"}'
    assert tool.calls[0].arguments == {"n": 7}
    assert json.loads(tool.calls[0].args) == {"n": 7}


@pytest.mark.req("DSP-34", "DSP-37", "DSP-05")
async def test_arguments_that_do_not_fit_never_reach_the_tool() -> None:
    tool = says("Count", schema=NUMBER)
    flow = await run_turn([tool], [call("Count", {}), call("Count", {"n": "x"}), call("Count", "{oops")])
    assert tool.calls == []
    for result in flow.results:
        assert json.loads(result.content)["error"] == "invalid_arguments"


@pytest.mark.req("DSP-26")
async def test_text_that_is_no_valid_utf8_is_repaired_and_the_fact_recorded() -> None:
    flow = await run_turn([says("Odd", "a\ud800b")], [call("Odd")])
    flow.results[0].content.encode("utf-8")
    assert flow.recorder.records[0].detail["coercions"]


@pytest.mark.req("DSP-20")
async def test_the_steps_of_a_call_follow_one_another() -> None:
    order: list[str] = []

    @hook("PreToolUse")
    def before(seen: HookInput) -> None:
        order.append("pre")

    @hook("PostToolUse")
    def after(seen: HookInput) -> None:
        order.append("post")

    async def body(call: ToolCall, env: Environment) -> str:
        order.append("run")
        return "ok"

    class Recording:
        async def tool_call(self, *args: object, detail: Mapping[str, object]) -> None:
            order.append("record")

    flow = Flow(
        [FunctionTool("Look", body)],
        [{"calls": [call("Look")]}, {"text": "done"}],
        hooks=[before, after],
        recorder=Recording(),
    )
    flow.agent._emitter.subscribe(
        lambda event: order.append(event.body.kind) if event.body.kind.startswith("tool.") else None
    )
    await flow.run()
    assert order == [
        "tool.call",
        "pre",
        "tool.start",
        "run",
        "tool.end",
        "post",
        "record",
        "tool.result",
    ]


@pytest.mark.req("SES-24")
async def test_a_call_that_is_cancelled_while_it_is_recorded_is_recorded_once() -> None:
    class Slow(Recorder):
        inside, go = anyio.Event(), anyio.Event()

        async def tool_call(self, *args: object, **kwargs: object) -> None:
            await super().tool_call(*args, **kwargs)  # type: ignore[arg-type]  # handed on as they came
            self.inside.set()
            await self.go.wait()

    recorder = Slow()
    flow = Flow([says("Look")], [{"calls": [call("Look")]}, {"text": "done"}], recorder=recorder)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(flow.run)
            await recorder.inside.wait()
            flow.agent.cancel()
            await anyio.wait_all_tasks_blocked()
            recorder.go.set()
    assert [record.call.name for record in recorder.records] == ["Look"]
    assert [result.content for result in flow.results] == ["ok"]
