"""The ends of child agents: by a cancel at any moment, by a deadline, by a fault."""

import asyncio
import contextlib
import json
import logging
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import pytest

from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.inmemory.store import MemoryStore
from hilt.app.config import Config
from hilt.app.settings import AgentSettings, ToolSettings
from hilt.builtins.delegation.subagent import Subagent
from hilt.core.child import ChildOrder
from hilt.core.errors import ToolError
from hilt.core.event import Event
from hilt.core.session import SessionId, StopReason
from hilt.core.tool import ToolCall
from hilt.engine.child_run import Halt, HaltedModel
from hilt.ports.model import ModelRequest
from hilt.ports.tool import Environment
from hilt.testing import ScriptedModel
from tests.adapters.marked import NAME, Mark
from tests.flows.acting import error_of
from tests.flows.children_kit import Cast, stage, subagent
from tests.flows.kit import FunctionTool, allow, call, says
from tests.flows.session_kit import Held, Watched


@pytest.fixture
def mark() -> Iterator[Mark]:
    mark = Mark()
    yield mark
    mark.kill()


def deaf_tool(free: anyio.Event) -> tuple[FunctionTool, anyio.Event]:
    """Return a tool that no cancel ends before `free` is set, and the event that tells that it is at work."""
    inside = anyio.Event()

    async def deaf(call: ToolCall, env: Environment) -> str:
        inside.set()
        while not free.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await free.wait()
        return "late"

    return FunctionTool("Deaf", deaf), inside


@pytest.mark.req("BLT-65")
async def test_a_cancelled_child_says_so_sends_nothing_more_and_stays_cancelled(tmp_path: Path) -> None:
    cast = Cast(child=[{"calls": [call("Hold")]}, {"text": "never"}])
    held = Held()
    async with stage(tmp_path, cast, tools=[held.tool()], rules=allow("*")) as on:
        id_ = await on.spawn("child")
        await held.inside.wait()
        assert await on.one("agent_cancel", agent_id=id_) == {
            "agent_id": id_,
            "success": True,
            "previous_state": "running",
            "message": "agent-1 was cancelled.",
        }
        held.go.set()
        status = await on.ended(id_)
        assert (status["state"], status["is_final"]) == ("cancelled", True)
        assert status["error"] == "the agent that started it cancelled it"
        again = await on.one("agent_cancel", agent_id=id_)
        assert (again["success"], again["previous_state"]) == (False, "cancelled")
        assert len(cast.seen("child")) == 1
        (record,) = [one for one in on.recorder.records if one.call.name == "Hold"]
        assert "its effects are unknown" in record.result.content


@pytest.mark.req("BLT-65")
async def test_cancel_of_a_child_that_has_ended_changes_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path, Cast(child=[{"text": "x"}])) as on:
        id_ = await on.spawn("child")
        await on.ended(id_)
        (result,) = await on.play({"calls": [call("agent_cancel", {"agent_id": id_})]})
        assert not result.is_error
        body = json.loads(result.content)
        assert (body["success"], body["previous_state"]) == (False, "completed")
        assert (await on.ended(id_))["state"] == "completed"


@pytest.mark.req("BLT-65")
@pytest.mark.parametrize("steps", range(14))
async def test_after_a_cancel_at_any_step_no_request_is_sent_and_no_tool_starts(tmp_path: Path, steps: int) -> None:
    cast = Cast(child=[{"calls": [call("Look"), call("Look")]}] * 3 + [{"text": "x"}])
    tool = says("Look")
    async with stage(tmp_path, cast, tools=[tool]) as on:
        children = on.children
        id_ = (await children.start(ChildOrder(prompt="child"))).id
        for _ in range(steps):
            await asyncio.sleep(0)
        cancelling = asyncio.ensure_future(children.cancel(id_))
        await asyncio.sleep(0)
        before = (len(cast.seen("child")), len(tool.calls))
        await cancelling
        await asyncio.sleep(0.01)
        assert (len(cast.seen("child")), len(tool.calls)) == before
        child = await children.report(id_)
        assert child.state in ("cancelled", "completed")
        assert (child.state == "cancelled") is (before[0] < 4 or not child.output)


@pytest.mark.req("BLT-65", "DSP-57", "DSP-58")
async def test_a_tool_that_will_not_end_keeps_no_cancel_and_no_close_waiting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    free = anyio.Event()
    deaf, inside = deaf_tool(free)
    cast = Cast(child=[{"calls": [call("Deaf")]}, {"text": "never"}])
    with caplog.at_level(logging.WARNING):
        async with stage(tmp_path, cast, tools=[deaf], rules=allow("*")) as on:
            run = on.session.prompt("main")
            cast.says("main", {"calls": [subagent("child")]}, {"text": "never"})
            await inside.wait()
            begun = anyio.current_time()
            await run.aclose()
            assert anyio.current_time() - begun < 2
            assert run.result is not None
            assert run.result.stop_reason is StopReason.CANCELLED
            assert [child.state for child in on.children.children()] == ["cancelled"]
            await on.session.close()
            assert anyio.current_time() - begun < 4
            free.set()
            while "abandoned_work_ended" not in caplog.text:
                await anyio.sleep(0.01)
    assert len(cast.seen("child")) == 1


@pytest.mark.req("BLT-65", "DSP-55")
async def test_a_child_ends_with_the_deadline_of_its_call_and_with_its_own(tmp_path: Path) -> None:
    cast = Cast(child=[{"text": "x"}], slow=[{"text": "x"}])
    cast.hold("child")
    cast.hold("slow")
    config = Config(tools=ToolSettings(timeouts={"Subagent": 0.2}))
    async with stage(tmp_path, cast, config=config) as on:
        (late,) = await on.play({"calls": [subagent("child")]})
        assert error_of(late) == "timeout"
        (child,) = on.children.children()
        assert (child.state, child.error) == ("cancelled", "the call that it worked for was ended")
    async with stage(tmp_path, cast) as on:
        (failed,) = await on.play({"calls": [subagent("slow", timeout_secs=1)]})
        assert error_of(failed) == "execution_failed"
        assert "failed: it was stopped by max_seconds." in failed.content


def test_a_call_of_a_child_may_last_longer_than_any_other_call() -> None:
    tool = Subagent()
    for args, seconds in (({}, 3610.0), ({"timeout_secs": 5000}, 5010.0), ({"background": True}, 60.0)):
        assert tool.deadline_s(ToolCall("a", "Subagent", arguments={"prompt": "x", **args})) == seconds


@pytest.mark.req("BLT-65", "SES-04")
@pytest.mark.parametrize("seed", range(20))
async def test_a_parent_that_is_cancelled_at_any_moment_leaves_no_child(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    cast = Cast(
        child=[{"calls": [call("Look"), call("Nap")]}] * 4 + [{"text": "x"}], back=[{"calls": [call("Nap")]}] * 99
    )

    async def nap(call: ToolCall, env: Environment) -> str:
        await anyio.sleep(0.001)
        return "ok"

    tools = [says("Look"), FunctionTool("Nap", nap)]
    async with stage(tmp_path, cast, tools=tools, rules=allow("*")) as on:
        tasks = asyncio.all_tasks()
        starts = [subagent("child"), subagent("back", background=True), subagent("child", fork=True)]
        cast.says("main", *[{"calls": starts}] * 3, {"text": "x"})
        run = on.session.prompt("main")
        for _ in range(chance.randrange(120)):
            await asyncio.sleep(0)
        await on.session.cancel()
        sent = (sum(map(len, cast.requests.values())), [len(tool.calls) for tool in tools])
        assert all(child.state != "running" for child in on.children.children())
        await asyncio.sleep(0.02)
        assert (sum(map(len, cast.requests.values())), [len(tool.calls) for tool in tools]) == sent
        assert {task for task in asyncio.all_tasks() if not task.done()} <= tasks
        assert run.result is None or run.result.stop_reason in (StopReason.CANCELLED, StopReason.END_TURN)
        assert on.session.state == "idle"


@pytest.mark.req("BLT-65", "SES-04")
async def test_the_commands_of_children_end_with_the_run_of_their_parent(tmp_path: Path, mark: Mark) -> None:
    sleep = call("shell", {"command": "sleep 300"})
    job = call("shell", {"command": "sleep 300", "background": True})
    cast = Cast(child=[{"calls": [job]}, {"calls": [sleep]}, {"text": "never"}])
    config = Config(environment={**os.environ, NAME: mark.value})
    async with stage(tmp_path, cast, config=config, enable={"delegation", "shell"}, rules=allow("*")) as on:
        cast.says("main", {"calls": [subagent("child", mode="read-write")]}, {"text": "never"})
        run = on.session.prompt("main")
        await mark.reach(2)
        await run.aclose()
        with anyio.fail_after(10):
            await on.all_ended()
            await mark.end()
        assert [child.state for child in on.children.children()] == ["cancelled"]


@pytest.mark.req("BLT-65")
async def test_cancel_of_an_idle_session_ends_the_children_that_work_in_the_background(tmp_path: Path) -> None:
    cast = Cast(child=[{"text": "x"}])
    cast.hold("child")
    async with stage(tmp_path, cast) as on:
        id_ = await on.spawn("child")
        await on.session.cancel()
        child = await on.children.report(id_)
        assert (child.state, child.error) == ("cancelled", "the agent that started it was cancelled")


@pytest.mark.req("BLT-65")
async def test_a_child_that_ends_late_is_told_of_in_the_log_and_holds_its_place_until_then(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    free = anyio.Event()
    deaf, inside = deaf_tool(free)
    cast = Cast(child=[{"calls": [call("Deaf")]}, {"text": "never"}], next=[{"text": "x"}])
    config = Config(agents=AgentSettings(max_concurrent=1))
    with caplog.at_level(logging.WARNING):
        async with stage(tmp_path, cast, tools=[deaf], rules=allow("*"), config=config) as on:
            id_ = await on.spawn("child")
            await inside.wait()
            await on.session.cancel()
            assert f"child_agents_end_late agents={id_} why=the agent that started it was cancelled" in caplog.text
            with pytest.raises(ToolError, match="limit is 1"):
                await on.children.start(ChildOrder(prompt="next"))
            assert (await on.children.run(ChildOrder(prompt="next", waits=True))).output == "x"
            free.set()
            while "abandoned_work_ended" not in caplog.text:
                await anyio.sleep(0.01)


class Unwritable(Watched):
    """A store whose event log takes nothing more while it is `full`."""

    full = False

    async def append(self, session_id: SessionId, events: Sequence[Event], *, durable: bool = False) -> None:
        """See `EventLog.append`."""
        if self.full:
            raise OSError("the disk is full")
        await super().append(session_id, events, durable=durable)


@pytest.mark.req("BLT-66")
async def test_a_child_that_an_inner_fault_ends_has_failed_and_frees_its_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cast = Cast(child=[{"text": "x"}])
    store = Unwritable(MemoryStore(clock=FixedClock()))
    config = Config(agents=AgentSettings(max_concurrent=1))
    async with stage(tmp_path, cast, store=store, config=config) as on:
        store.full = True
        child = await on.children.run(ChildOrder(prompt="child"))
        assert (child.state, child.error) == (
            "failed",
            "an internal error ended it (OSError); the log has the details",
        )
        store.full = False
        assert (await on.children.run(ChildOrder(prompt="child"))).state == "completed"
    logged = [record.message.split(" ")[0] for record in caplog.records]
    assert logged[:2] == ["child_failed", "event_log_failed"]


@pytest.mark.req("BLT-65")
async def test_a_child_whose_task_is_ended_from_outside_is_cancelled(tmp_path: Path) -> None:
    cast = Cast(child=[{"text": "x"}])
    cast.hold("child")
    async with stage(tmp_path, cast) as on:
        id_ = await on.spawn("child")
        await cast.reach("child")
        (task,) = [task for task in asyncio.all_tasks() if task.get_name() == f"child {id_}"]
        task.cancel()
        child = await on.children.report(id_, wait_s=5)
        assert (child.state, child.error) == ("cancelled", "it was ended from outside")


async def test_a_model_starts_no_request_of_a_run_that_was_ended() -> None:
    inner = ScriptedModel([{"text": "x"}])
    model = HaltedModel(inner, Halt(halted=True))
    assert (model.name, model.capabilities) == (inner.name, inner.capabilities)
    with anyio.move_on_after(0.05) as waited:
        async for _ in model.stream(ModelRequest()):
            pass
    assert waited.cancelled_caught
    assert inner.requests == []
