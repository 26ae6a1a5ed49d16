"""In which order the calls of a turn run, and which overlap (dispatch.md section 2)."""

import time
from collections.abc import Awaitable, Callable, Mapping

import anyio
import pytest

from hilt.core.errors import ToolError
from hilt.core.event import ToolEnd, ToolStart
from hilt.core.hook import HookAnswer, HookInput
from hilt.core.session import AssistantMessage, StopReason, ToolMessage
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.dispatch import DispatchOptions
from hilt.engine.function_hook import hook
from hilt.engine.plan import phases
from hilt.ports.tool import Environment
from tests.flows.kit import Flow, FunctionTool, allow, call, run_turn, says

Body = Callable[[ToolCall, Environment], Awaitable[str]]


def starts_and_ends(flow: Flow) -> list[tuple[str, str]]:
    """Return the executions as `+` and `-` with the call's id, in order."""
    out: list[tuple[str, str]] = []
    for body in flow.bodies:
        if isinstance(body, ToolStart):
            out.append(("+", body.call_id))
        elif isinstance(body, ToolEnd):
            out.append(("-", body.call_id))
    return out


def together(count: int) -> Body:
    """Return a body that comes back only when `count` calls are inside at the same time."""
    inside = 0
    all_in = anyio.Event()

    async def body(call: ToolCall, env: Environment) -> str:
        nonlocal inside
        inside += 1
        if inside == count:
            all_in.set()
        with anyio.fail_after(5):
            await all_in.wait()
        return "together"

    return body


@pytest.mark.req("DSP-10")
async def test_the_reads_of_a_phase_are_all_inside_at_the_same_time() -> None:
    reader = FunctionTool("Look", together(3))
    flow = await run_turn([reader], [call("Look"), call("Look"), call("Look")])
    assert [result.content for result in flow.results] == ["together"] * 3


@pytest.mark.req("DSP-10", "DSP-11", "DSP-12")
def test_calls_are_cut_into_maximal_runs_of_reads_and_single_others() -> None:
    reads = [True, True, False, True, True]
    assert phases(reads) == [[0, 1], [2], [3, 4]]
    assert phases([False, False]) == [[0], [1]]
    assert phases([]) == []


@pytest.mark.req("DSP-11", "DSP-12")
async def test_a_change_runs_alone_and_no_read_is_moved_across_it() -> None:
    look = FunctionTool("Look", together(2))
    change = says("Change", read_only=False)
    calls = [
        call("Look", id_="r1"),
        call("Look", id_="r2"),
        call("Change", id_="m1"),
        call("Look", id_="r3"),
        call("Look", id_="r4"),
    ]
    flow = await run_turn([look, change], calls, rules=allow("Change"))
    order = starts_and_ends(flow)
    assert set(order[:4]) == {("+", "r1"), ("+", "r2"), ("-", "r1"), ("-", "r2")}
    assert order[4:6] == [("+", "m1"), ("-", "m1")]
    assert {id_ for _, id_ in order[6:]} == {"r3", "r4"}


@pytest.mark.req("DSP-13")
async def test_a_call_of_an_unknown_name_is_a_phase_of_its_own() -> None:
    look = says("Look")
    flow = await run_turn([look], [call("Look", id_="a"), call("Nope", id_="b"), call("Look", id_="c")])
    assert starts_and_ends(flow) == [("+", "a"), ("-", "a"), ("+", "c"), ("-", "c")]
    assert [result.call_id for result in flow.results] == ["a", "b", "c"]


class Flips:
    """A reading tool that a call can turn into a changing one."""

    spec = ToolSpec("Flips", "For tests.", {"type": "object", "properties": {"change": {"type": "boolean"}}})
    read_only = True

    def __init__(self) -> None:
        self.overlap: list[int] = []
        self._inside = 0

    def read_only_for(self, call: ToolCall) -> bool:
        """Tell whether the call reads."""
        return not call.arguments.get("change")

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Note how many are inside."""
        self._inside += 1
        await anyio.lowlevel.checkpoint()
        self.overlap.append(self._inside)
        await anyio.lowlevel.checkpoint()
        self._inside -= 1
        return ToolResult.text(call.id, "ok")


@pytest.mark.req("DSP-14", "CAT-24")
async def test_a_call_that_a_rewrite_turns_into_a_change_leaves_its_phase_and_runs_alone() -> None:
    @hook("PreToolUse", match=["Flips"])
    def turn(seen: HookInput) -> HookAnswer | None:
        if (seen.tool_input or {}).get("change") is False:
            return HookAnswer(updated_input={"change": True})
        return None

    tool = Flips()
    calls = [call("Flips", id_="a"), call("Flips", {"change": False}, id_="b"), call("Flips", id_="c")]
    flow = await run_turn([tool], calls, hooks=[turn], rules=allow("Flips"))
    order = starts_and_ends(flow)
    assert order == [("+", "a"), ("-", "a"), ("+", "b"), ("-", "b"), ("+", "c"), ("-", "c")]
    assert set(tool.overlap) == {1}


@pytest.mark.req("CAT-24")
async def test_read_only_for_cannot_make_a_changing_tool_read() -> None:
    class Claims(Flips):
        read_only = False

        def read_only_for(self, call: ToolCall) -> bool:
            return True

    tool = Claims()
    await run_turn([tool], [call("Flips"), call("Flips")], rules=allow("Flips"))
    assert tool.overlap == [1, 1]


@pytest.mark.req("DSP-15")
async def test_no_more_calls_execute_at_once_than_the_setting_says() -> None:
    inside = highest = 0

    async def body(call: ToolCall, env: Environment) -> str:
        nonlocal inside, highest
        inside += 1
        highest = max(highest, inside)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        inside -= 1
        return "ok"

    tool = FunctionTool("Look", body)
    flow = await run_turn([tool], [call("Look")] * 12, options=DispatchOptions(max_concurrent=3))
    assert highest == 3
    assert len(flow.results) == 12


@pytest.mark.req("DSP-15")
def test_sixteen_calls_run_at_once_by_default() -> None:
    assert DispatchOptions().max_concurrent == 16


@pytest.mark.req("DSP-16")
async def test_sixteen_sleeping_reads_start_and_end_together() -> None:
    started: list[float] = []

    async def body(call: ToolCall, env: Environment) -> str:
        started.append(time.monotonic())
        await anyio.sleep(0.2)
        return "ok"

    begin = time.monotonic()
    await run_turn([FunctionTool("Nap", body)], [call("Nap")] * 16)
    took = time.monotonic() - begin
    assert max(started) - min(started) < 0.05 * 2
    assert took < 0.4 * 2


@pytest.mark.req("DSP-17")
async def test_calls_with_the_same_id_or_none_get_ids_and_results_of_their_own() -> None:
    tool = says("Look")
    flow = await run_turn([tool], [call("Look", id_="x"), call("Look", id_="x"), call("Look")])
    answer = flow.agent.conversation.messages[1]
    assert isinstance(answer, AssistantMessage)
    ids = [one.id for one in answer.calls]
    assert len(set(ids)) == 3
    assert ids[0] == "x"
    assert [result.call_id for result in flow.results] == ids


@pytest.mark.req("DSP-17")
async def test_an_id_that_an_earlier_turn_used_is_not_used_again() -> None:
    flow = Flow([says("Look")], [{"calls": [call("Look", id_="x")]}] * 2 + [{"text": "done"}])
    await flow.run()
    assert len({result.call_id for result in flow.results}) == 2


@pytest.mark.req("DSP-18")
async def test_a_stream_that_breaks_off_inside_a_call_dispatches_nothing_and_is_asked_again() -> None:
    tool = says("Look")
    broken = {"text": "half", "calls": [call("Look"), call("Look")], "break": True}
    answers: list[Mapping[str, object]] = [broken, {"calls": [call("Look", id_="again")]}, {"text": "done"}]
    flow = Flow([tool], answers, retry_delays_s=(0.0,))
    result = await flow.run()
    assert result.stop_reason is StopReason.END_TURN
    assert [one.id for one in tool.calls] == ["again"]
    messages = flow.agent.conversation.messages
    assert sum(isinstance(message, ToolMessage) for message in messages) == 1


@pytest.mark.req("DSP-18")
async def test_argument_text_that_comes_in_pieces_is_joined() -> None:
    tool = says("Look", schema={"type": "object", "properties": {"text": {"type": "string"}}})
    long = "x" * 300
    flow = Flow([tool], [{"calls": [call("Look", {"text": long})], "chunk": 7}, {"text": "done", "chunk": 1}])
    result = await flow.run()
    assert tool.calls[0].arguments == {"text": long}
    assert result.final_text == "done"


@pytest.mark.req("DSP-01", "DSP-02", "DSP-06")
async def test_every_call_has_one_result_in_the_models_order_whatever_happens_to_it() -> None:
    async def crash(call: ToolCall, env: Environment) -> str:
        raise ValueError("broken")

    async def says_no(call: ToolCall, env: Environment) -> ToolResult:
        return ToolResult.error(call.id, "no")

    async def refuses(call: ToolCall, env: Environment) -> str:
        raise ToolError.unavailable("not today")

    tools = [
        says("Look"),
        FunctionTool("Crash", crash),
        FunctionTool("No", says_no),
        FunctionTool("Off", refuses),
    ]
    calls = [
        call("Look", id_="a"),
        call("Crash", id_="b"),
        call("Nope", id_="c"),
        call("No", id_="d"),
        call("Look", "{broken", id_="e"),
        call("Off", id_="f"),
        call("Look", id_="g"),
    ]
    flow = await run_turn(tools, calls)
    (message,) = [m for m in flow.agent.conversation.messages if isinstance(m, ToolMessage)]
    assert [result.call_id for result in message.results] == list("abcdefg")
    assert [result.is_error for result in message.results] == [False, True, True, True, True, True, False]
    assert len(flow.model.requests) == 2
