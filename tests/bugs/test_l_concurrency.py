"""Kind l, calls of one turn beside each other: plain functions, failures, results without an id."""

import asyncio
import contextvars
import json
import time

import anyio
import pytest

import hilt
from hilt.core.hook import HookAnswer, HookInput
from hilt.core.session import AssistantMessage, StopReason
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.tool import Environment, Tool
from tests.flows.kit import Flow, FunctionTool, call, deny, run_turn, says

WHO = contextvars.ContextVar("WHO", default="nobody")


@hilt.tool(read_only=True)
def nap() -> str:
    """Sleep for a second the blocking way."""
    time.sleep(1)
    return WHO.get()


@pytest.mark.req("CAT-86")
async def test_l3_a_plain_function_blocks_neither_the_loop_nor_its_siblings() -> None:
    WHO.set("the caller")
    gaps: list[float] = []

    async def tick() -> None:
        last = time.monotonic()
        while True:
            await anyio.sleep(0.05)
            now = time.monotonic()
            gaps.append(now - last)
            last = now

    flow = Flow([nap], [{"calls": [call("nap")] * 4}, {"text": "done"}])
    begin = time.monotonic()
    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        await flow.run()
        group.cancel_scope.cancel()
    assert time.monotonic() - begin < 2
    assert max(gaps) < 0.3
    assert [result.content for result in flow.results] == ["the caller"] * 4


async def crash(call: ToolCall, env: Environment) -> str:
    """Fail."""
    raise ValueError("broken")


async def says_no(call: ToolCall, env: Environment) -> ToolResult:
    """Return an error."""
    return ToolResult.error(call.id, "no")


async def cancels_itself(call: ToolCall, env: Environment) -> str:
    """Raise what only a canceller should."""
    raise asyncio.CancelledError


@pytest.mark.req("DSP-02", "DSP-06", "DSP-60")
async def test_l4_one_failure_takes_no_other_result_with_it() -> None:
    tools = [
        says("Look", "good"),
        FunctionTool("Crash", crash),
        FunctionTool("No", says_no),
        FunctionTool("Cancels", cancels_itself),
    ]
    calls = [call(name, id_=id_) for id_, name in zip("abcde", ("Look", "Crash", "No", "Cancels", "Look"), strict=True)]
    flow = await run_turn(tools, calls)
    assert [(result.call_id, result.is_error) for result in flow.results] == [
        ("a", False),
        ("b", True),
        ("c", True),
        ("d", True),
        ("e", False),
    ]
    assert flow.results[0].content == flow.results[4].content == "good"
    assert flow.agent.conversation.final_text() == "done"


@pytest.mark.req("DSP-59")
async def test_l4_a_cancel_of_the_turn_cancels_all_of_it() -> None:
    inside = ended = 0
    all_in = anyio.Event()

    async def hang(call: ToolCall, env: Environment) -> str:
        nonlocal inside, ended
        inside += 1
        if inside == 4:
            all_in.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended += 1
        return "never"

    flow = Flow([FunctionTool("Hang", hang)], [{"calls": [call("Hang")] * 4}, {"text": "never"}])
    tasks = asyncio.all_tasks()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:

            async def stop() -> None:
                await all_in.wait()
                flow.agent.cancel()

            group.start_soon(stop)
            result = await flow.run()
    assert result.stop_reason is StopReason.CANCELLED
    assert (inside, ended) == (4, 4)
    assert asyncio.all_tasks() == tasks
    assert all(result.is_error for result in flow.results)
    assert len(flow.results) == 4


@pytest.mark.req("DSP-01", "DSP-62")
async def test_l5_every_way_to_fail_gives_one_result_with_the_calls_id_and_a_text() -> None:
    async def slow(call: ToolCall, env: Environment) -> str:
        await anyio.sleep_forever()
        return ""

    async def wordless(call: ToolCall, env: Environment) -> str:
        raise ValueError

    async def odd(call: ToolCall, env: Environment) -> ToolResult:
        return object()  # type: ignore[return-value]  # what the test is about

    async def nameless(call: ToolCall, env: Environment) -> ToolResult:
        return ToolResult.error("", "no")

    @hilt.tool(read_only=True)
    def lock() -> object:
        """Return what no JSON can hold."""
        return lock

    @hilt.hook("PreToolUse", match=["Hooked"])
    async def block(seen: HookInput) -> HookAnswer:
        return HookAnswer(block=True)

    late = FunctionTool("Slow", slow)
    late.timeout_s = 0.1  # type: ignore[attr-defined]  # the optional member
    tools: list[Tool] = [
        says("Look"),
        says("Denied"),
        says("Hooked"),
        late,
        FunctionTool("Wordless", wordless),
        FunctionTool("Odd", odd),
        FunctionTool("Nameless", nameless),
        FunctionTool("Cancels", cancels_itself),
        lock,
    ]
    calls = [call("Nope"), call("Look", "{oops")]
    calls += [call(tool.spec.name) for tool in tools[1:]]
    flow = await run_turn(tools, calls, hooks=[block], rules=deny("Denied"))
    (asked,) = [m for m in flow.agent.conversation.messages if isinstance(m, AssistantMessage) and m.calls]
    assert [result.call_id for result in flow.results] == [one.id for one in asked.calls]
    assert len({result.call_id for result in flow.results}) == len(calls)
    for result in flow.results:
        assert result.is_error
        assert result.content.strip()
    codes = [json.loads(result.content)["error"] for result in flow.results if result.content != "no"]
    assert codes == [
        "tool_not_found",
        "invalid_arguments",
        "access_denied",
        "access_denied",
        "timeout",
        "execution_failed",
        "execution_failed",
        "execution_failed",
        "execution_failed",
    ]
