"""Deadlines, cancellation, crashes: what a tool does wrong and what comes of it (dispatch.md section 6)."""

import json
import logging
import threading
import time
from collections.abc import Callable

import anyio
import pytest

from hilt.core.event import ToolEnd, ToolProgress
from hilt.core.session import StopReason
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.dispatch import DispatchOptions
from hilt.engine.gate import TurnView
from hilt.engine.plan import best_match
from hilt.ports.tool import Environment
from tests.flows.kit import Flow, FunctionTool, allow, call, run_turn, says

LATE_S = 1.0 * 2


async def stubborn(call: ToolCall, env: Environment) -> str:
    """Swallow every cancellation for a while."""
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        try:
            await anyio.sleep(0.05)
        except BaseException:
            continue
    return "late"


def quick(name: str = "Slow", body: Callable[..., object] = stubborn) -> FunctionTool:
    """Return a tool with a short deadline of its own."""
    tool = FunctionTool(name, body)  # type: ignore[arg-type]  # a body of this form
    tool.timeout_s = 0.05  # type: ignore[attr-defined]  # the optional member that is tested
    return tool


@pytest.mark.req("DSP-56", "DSP-58", "DSP-65")
async def test_a_tool_that_ignores_its_cancellation_is_a_timeout_within_a_second_and_left_behind() -> None:
    begin = time.monotonic()
    flow = await run_turn([quick(), says("Look")], [call("Slow"), call("Look")])
    assert time.monotonic() - begin < LATE_S
    told = json.loads(flow.results[0].content)
    assert told == {"error": "timeout", "message": "Tool 'Slow' timed out after 50ms"}
    assert flow.results[1].content == "ok"


@pytest.mark.req("DSP-56")
async def test_a_tool_that_blocks_a_thread_is_a_timeout_within_a_second() -> None:
    free = threading.Event()

    async def block(call: ToolCall, env: Environment) -> str:
        await anyio.to_thread.run_sync(free.wait, abandon_on_cancel=True)
        return "late"

    begin = time.monotonic()
    flow = await run_turn([quick(body=block)], [call("Slow")])
    free.set()
    assert time.monotonic() - begin < LATE_S
    assert json.loads(flow.results[0].content)["error"] == "timeout"


@pytest.mark.req("DSP-58")
async def test_work_that_was_left_behind_holds_no_place_and_its_end_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    go_on, ended = anyio.Event(), anyio.Event()

    async def wait(call: ToolCall, env: Environment) -> str:
        while not go_on.is_set():
            try:
                await go_on.wait()
            except BaseException:
                continue
        ended.set()
        return "late"

    options = DispatchOptions(max_concurrent=1)
    with caplog.at_level(logging.WARNING):
        flow = await run_turn(
            [quick(body=wait), says("Look")], [call("Slow", id_="stuck"), call("Look")], options=options
        )
        assert flow.results[1].content == "ok"
        go_on.set()
        with anyio.fail_after(5):
            await ended.wait()
            while not any("abandoned_work_ended" in record.message for record in caplog.records):
                await anyio.lowlevel.checkpoint()
    assert any("stuck" in record.getMessage() for record in caplog.records)
    assert json.loads(flow.results[0].content)["error"] == "timeout"


@pytest.mark.req("DSP-55", "CAT-27")
async def test_the_deadline_is_the_settings_then_the_tools_then_600_seconds() -> None:
    flow = Flow([says("Look")], [])
    dispatcher = flow.agent._funnel.dispatcher
    assert dispatcher.options.timeout_s == 600
    both = quick()
    both.deadline_s = lambda call: 7.0  # type: ignore[attr-defined]  # the optional member that is tested
    assert _deadline(flow, says("A")) == 600
    assert _deadline(flow, quick("B")) == 0.05
    assert _deadline(flow, both) == 7.0
    options = DispatchOptions(timeouts={"B*": 3.0, "Bx": 4.0})
    set_ = Flow([says("Look")], [], options=options)
    assert _deadline(set_, quick("Bx")) == 4.0
    assert _deadline(set_, quick("By")) == 3.0


def _deadline(flow: Flow, tool: FunctionTool) -> float:
    flow.catalog.register(tool)
    turn = flow.agent._funnel.dispatcher.turn([ToolCall("x", tool.spec.name)], TurnView())
    pending = turn.calls[0]
    pending.entry = flow.catalog.entry(tool.spec.name)
    return flow.agent._funnel.dispatcher.timeout_s(pending)


@pytest.mark.req("DSP-55")
def test_the_entry_that_matches_a_name_best_wins() -> None:
    assert best_match("mcp__ci__run", ["*", "mcp__*", "mcp__ci__*"]) == "mcp__ci__*"
    assert best_match("mcp__ci__run", ["*", "mcp__ci__run"]) == "mcp__ci__run"
    assert best_match("Read", ["mcp__*"]) is None


@pytest.mark.req("DSP-63", "CAT-18")
async def test_progress_is_an_event_and_restarts_the_idle_deadline_but_never_the_total() -> None:
    async def reports(call: ToolCall, env: Environment) -> str:
        for step in range(6):
            await anyio.sleep(0.06)
            env.progress(step, 6, "step")
        return "done"

    async def silent(call: ToolCall, env: Environment) -> str:
        await anyio.sleep(5)
        return "done"

    async def for_ever(call: ToolCall, env: Environment) -> str:
        while True:
            await anyio.sleep(0.02)
            env.progress(1)

    tools = []
    for name, body in (("Reports", reports), ("Silent", silent), ("Forever", for_ever)):
        tool = FunctionTool(name, body)
        tool.idle_timeout_s = 0.2  # type: ignore[attr-defined]  # the optional member that is tested
        tool.timeout_s = 0.8  # type: ignore[attr-defined]  # the optional member that is tested
        tools.append(tool)
    flow = await run_turn(tools, [call("Reports"), call("Silent"), call("Forever")])
    reported, silent_, forever = flow.results
    assert reported.content == "done"
    assert "after 200ms" in silent_.content
    assert "after 800ms" in forever.content
    progress = [body for body in flow.bodies if isinstance(body, ToolProgress) and body.text == "step"]
    assert [(body.done, body.total) for body in progress] == [(step, 6) for step in range(6)]


@pytest.mark.req("DSP-57", "DSP-59", "DSP-08")
async def test_a_cancel_keeps_what_ended_and_tells_what_ran_and_what_did_not() -> None:
    running = anyio.Event()

    async def hang(call: ToolCall, env: Environment) -> str:
        running.set()
        return await stubborn(call, env)

    tools = [says("Look"), FunctionTool("Hang", hang), says("Change", read_only=False)]
    calls = [call("Look", id_="a"), call("Hang", id_="b"), call("Change", id_="c")]
    flow = Flow(tools, [{"calls": calls}, {"text": "again"}], rules=allow("Change"))
    begin = 0.0
    async with anyio.create_task_group() as group:

        async def stop() -> None:
            nonlocal begin
            await running.wait()
            begin = time.monotonic()
            flow.agent.cancel()

        group.start_soon(stop)
        result = await flow.run()
    assert time.monotonic() - begin < LATE_S
    assert result.stop_reason is StopReason.CANCELLED
    kept, ran, not_run = flow.results
    assert kept.content == "ok"
    assert json.loads(ran.content)["error"] == "tool_error"
    assert "effects are unknown" in ran.content
    assert "not run" in not_run.content
    assert flow.kinds[-1] == "result"
    assert [record.call.id for record in flow.recorder.records] == ["a", "b", "c"]
    await flow.run("go on")
    assert len(flow.model.requests) == 2


@pytest.mark.req("DSP-60", "DSP-61", "CAT-22", "DSP-06")
async def test_any_exception_is_one_error_result_and_its_siblings_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors: list[BaseException] = [
        ValueError("wrong value"),
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        ValueError("x" * 5000),
        RuntimeError(),
    ]

    def raising(error: BaseException) -> FunctionTool:
        async def body(call: ToolCall, env: Environment) -> str:
            raise error

        return FunctionTool(f"Raise{errors.index(error)}", body)

    tools = [raising(error) for error in errors]
    with caplog.at_level(logging.ERROR):
        flow = await run_turn([*tools, says("Look")], [*(call(tool.spec.name) for tool in tools), call("Look")])
    assert flow.results[-1].content == "ok"
    for result in flow.results[:-1]:
        told = json.loads(result.content)
        assert told["error"] == "execution_failed"
        assert told["message"].startswith("Tool execution failed: ")
        assert "Traceback" not in result.content
        assert len(told["message"]) <= 2100
    assert "wrong value" in flow.results[0].content
    logged = [record for record in caplog.records if "tool_crashed" in record.message]
    assert len(logged) == len(errors)
    assert all(record.exc_info and record.levelno == logging.ERROR for record in logged)
    assert "call_1_1" in logged[0].getMessage()


@pytest.mark.req("DSP-60")
async def test_a_tool_that_cancels_itself_is_one_error_and_the_run_goes_on() -> None:
    async def body(call: ToolCall, env: Environment) -> str:
        raise anyio.get_cancelled_exc_class()()

    flow = await run_turn([FunctionTool("Odd", body), says("Look")], [call("Odd"), call("Look")])
    assert [result.is_error for result in flow.results] == [True, False]
    assert flow.agent.conversation.final_text() == "done"


@pytest.mark.req("DSP-62")
async def test_a_value_that_is_no_result_names_tool_and_type() -> None:
    async def body(call: ToolCall, env: Environment) -> ToolResult:
        return 7  # type: ignore[return-value]  # what the test is about

    flow = await run_turn([FunctionTool("Odd", body)], [call("Odd")])
    told = json.loads(flow.results[0].content)
    assert told["error"] == "execution_failed"
    assert "Odd" in told["message"]
    assert "int" in told["message"]


@pytest.mark.req("CAT-15")
async def test_a_result_takes_the_calls_id_and_a_foreign_one_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def empty(call: ToolCall, env: Environment) -> ToolResult:
        return ToolResult.text("", "a")

    async def foreign(call: ToolCall, env: Environment) -> ToolResult:
        return ToolResult.text("other", "b")

    with caplog.at_level(logging.WARNING):
        flow = await run_turn(
            [FunctionTool("Empty", empty), FunctionTool("Foreign", foreign)],
            [call("Empty", id_="x"), call("Foreign", id_="y")],
        )
    assert [(result.call_id, result.content) for result in flow.results] == [("x", "a"), ("y", "b")]
    (logged,) = [record for record in caplog.records if "foreign_call_id" in record.message]
    assert logged.levelno == logging.WARNING


@pytest.mark.req("DSP-70", "DSP-71")
async def test_the_end_of_a_call_is_told_when_it_ends_and_results_come_in_the_models_order() -> None:
    first_ended = anyio.Event()

    async def slow(call: ToolCall, env: Environment) -> str:
        with anyio.fail_after(5):
            await first_ended.wait()
        return "slow"

    flow = Flow(
        [FunctionTool("Slow", slow), says("Look")],
        [{"calls": [call("Slow", id_="a"), call("Look", id_="b")]}, {"text": "done"}],
    )

    def watch() -> None:
        if any(isinstance(body, ToolEnd) and body.call_id == "b" for body in flow.bodies):
            first_ended.set()

    flow.agent._emitter.subscribe(lambda event: watch())
    await flow.run()
    ends = [body.call_id for body in flow.bodies if isinstance(body, ToolEnd)]
    assert ends == ["b", "a"]
    settled = [body.call_id for body in flow.bodies if body.kind == "tool.result"]  # type: ignore[union-attr]  # those have one
    assert settled == ["a", "b"]
