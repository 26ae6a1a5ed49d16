"""The places of child agents, and their ends: by themselves, by a cancel at any moment, with their session."""

import asyncio
import contextlib
import json
import logging
import random
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.inmemory.store import MemoryStore
from hilt.app.config import Config
from hilt.app.settings import AgentSettings, ToolSettings
from hilt.builtins.delegation.subagent import Subagent
from hilt.core.child import ENDED_MAX, ChildOrder
from hilt.core.errors import ToolError
from hilt.core.event import Event
from hilt.core.session import SessionId, StopReason, ToolMessage
from hilt.core.tool import ToolCall
from hilt.engine.child_run import Halt, HaltedModel
from hilt.ports.child import ChildAgents
from hilt.ports.model import ModelRequest
from hilt.ports.tool import Environment
from hilt.testing import ManualClock, ScriptedModel
from tests.flows.acting import error_of
from tests.flows.children_kit import Cast, Stage, id_of, stage, subagent
from tests.flows.kit import FunctionTool, allow, call, says
from tests.flows.session_kit import Held, Watched, events_of


def children_of(on: Stage) -> ChildAgents:
    """Return the child agents of the stage's session."""
    return on.session.env.service(ChildAgents)  # type: ignore[type-abstract]  # the host names it by its port


async def all_ended(on: Stage) -> None:
    """Wait until no child runs."""
    for child in children_of(on).children():
        await children_of(on).report(child.id, wait_s=20)


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


# ---------------------------------------------------------------- places


@pytest.mark.req("BLT-61")
async def test_of_simultaneous_starts_at_the_cap_exactly_so_many_succeed_as_there_are_places(tmp_path: Path) -> None:
    cast = Cast(child=[{"text": "x"}])
    hold = cast.hold("child")
    async with stage(tmp_path, cast) as on:
        results = await on.play({"calls": [subagent("child", background=True)] * 11})
        refused = [result for result in results if result.is_error]
        assert len(refused) == 3
        text = (
            "Tool execution failed: Concurrency limit exceeded: 8 child agents run, limit is 8 (agents.max_concurrent)"
        )
        assert all(json.loads(one.content) == {"error": "execution_failed", "message": text} for one in refused)
        listed = await on.one("agent_list")
        assert (listed["running_count"], listed["total_count"]) == (8, 8)
        hold.set()
        await all_ended(on)
        (again,) = await on.play({"calls": [subagent("child")]})
        assert not again.is_error


@pytest.mark.req("BLT-61")
async def test_fifty_children_that_wait_for_a_place_all_come_to_their_end_and_never_too_many_run(
    tmp_path: Path,
) -> None:
    running: set[int] = set()
    most = 0

    async def body(call: ToolCall, env: Environment) -> str:
        nonlocal most
        me = object()
        running.add(id(me))
        most = max(most, len(running))
        for _ in range(3):
            await anyio.sleep(0)
        running.discard(id(me))
        return "ok"

    cast = Cast(child=[{"calls": [call("Look")]}, {"text": "x", "usage": {"input": 2, "output": 1}}])
    async with stage(tmp_path, cast, tools=[FunctionTool("Look", body)]) as on:
        children = children_of(on)
        assert children.places == 8
        ended: list[str] = []

        async def one(number: int) -> None:
            child = await children.run(ChildOrder(prompt=f"child {number}", waits=True))
            ended.append(child.state)

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(one, number)
        assert ended == ["completed"] * 50
        assert most == 8
        assert len({request.messages[0] for request in cast.seen("child")}) == 50
        assert sum(child.tokens for child in children.children()) == 150
        assert len(on.recorder.records) == 50
        assert len({record.call.id for record in on.recorder.records}) == 50


@pytest.mark.req("BLT-61")
async def test_a_caller_who_gives_up_waiting_starts_nothing_and_the_setting_says_how_many_run(tmp_path: Path) -> None:
    cast = Cast(child=[{"text": "x"}], late=[{"text": "y"}])
    hold = cast.hold("child")
    config = Config(agents=AgentSettings(max_concurrent=1))
    async with stage(tmp_path, cast, config=config) as on:
        children = children_of(on)
        id_ = (await children.start(ChildOrder(prompt="child"))).id
        with anyio.move_on_after(0.05) as gone:
            await children.run(ChildOrder(prompt="late", waits=True))
        assert gone.cancelled_caught
        hold.set()
        assert (await children.report(id_, wait_s=5)).state == "completed"
        assert (await children.run(ChildOrder(prompt="late"))).output == "y"
        assert len(cast.seen("late")) == 1


# ---------------------------------------------------------------- cancel


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
        children = children_of(on)
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
            assert [child.state for child in children_of(on).children()] == ["cancelled"]
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
        (child,) = children_of(on).children()
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
        assert all(child.state != "running" for child in children_of(on).children())
        await asyncio.sleep(0.02)
        assert (sum(map(len, cast.requests.values())), [len(tool.calls) for tool in tools]) == sent
        assert {task for task in asyncio.all_tasks() if not task.done()} <= tasks
        assert run.result is None or run.result.stop_reason in (StopReason.CANCELLED, StopReason.END_TURN)
        assert on.session.state == "idle"


@pytest.mark.req("BLT-65")
async def test_cancel_of_an_idle_session_ends_the_children_that_work_in_the_background(tmp_path: Path) -> None:
    cast = Cast(child=[{"text": "x"}])
    cast.hold("child")
    async with stage(tmp_path, cast) as on:
        id_ = await on.spawn("child")
        await on.session.cancel()
        child = await children_of(on).report(id_)
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
                await children_of(on).start(ChildOrder(prompt="next"))
            assert (await children_of(on).run(ChildOrder(prompt="next", waits=True))).output == "x"
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
        child = await children_of(on).run(ChildOrder(prompt="child"))
        assert (child.state, child.error) == (
            "failed",
            "an internal error ended it (OSError); the log has the details",
        )
        store.full = False
        assert (await children_of(on).run(ChildOrder(prompt="child"))).state == "completed"
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
        child = await children_of(on).report(id_, wait_s=5)
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


# ---------------------------------------------------------------- what the parent is told


@pytest.mark.req("BLT-66", "BLT-64")
async def test_each_end_in_the_background_is_told_once_at_the_next_turn_also_a_failed_one(tmp_path: Path) -> None:
    cast = Cast(
        good=[{"text": "x"}], bad=[{"error": {"status": 400, "message": "no such thing"}}], front=[{"text": "y"}]
    )
    async with stage(tmp_path, cast) as on:
        (good,) = await on.play({"calls": [subagent("good", background=True, description="Count\nall")]})
        assert good.content.startswith("It works in the background. A notice tells its end;")
        bad = await on.spawn("bad")
        await on.play({"calls": [subagent("front")]})
        await all_ended(on)
        status = await on.one("agent_status", agent_id=bad)
        assert (status["state"], status["error"]) == ("failed", "no such thing")
        told = "\n\n".join(on.told)
        assert "The background agent agent-1 (Count all) has ended: completed, after " in told
        assert "The background agent agent-2 has ended: failed: no such thing, after " in told
        assert (told.count(id_of(good)), told.count(bad)) == (1, 1)
        assert "agent-3" not in told
        await on.play()
        assert "\n\n".join(on.told) == told
        for request in cast.seen("main"):
            for message, following in zip(request.messages, request.messages[1:], strict=False):
                if isinstance(following, ToolMessage):
                    assert [one.call_id for one in following.results] == [one.id for one in message.calls]  # type: ignore[union-attr]  # an answer stands before its results


@pytest.mark.req("SES-26", "DSP-72", "DSP-73")
async def test_the_life_of_a_child_is_in_the_sessions_stream_and_its_log_also_between_runs(tmp_path: Path) -> None:
    cast = Cast(child=[{"calls": [call("Look")]}, {"text": "x"}])
    hold = cast.hold("child")
    store = MemoryStore(clock=FixedClock())
    async with stage(tmp_path, cast, store=store, tools=[says("Look", "secret text")]) as on:
        id_ = await on.spawn("child")
        hold.set()
        await all_ended(on)
        stored = await events_of(store, on.session.id)
        life = [event for event in stored if str(event.get("topic", "")).startswith("child_")]
        assert [event["topic"] for event in life] == ["child_started", "child_ended"]
        assert [event["text"] for event in life] == [
            f"agent-1 ({id_}) started in the background.",
            f"agent-1 ({id_}) ended: completed",
        ]
        assert life[0]["run"] == stored[0]["run"]
        assert life[1]["run"] == ""
        assert [event["seq"] for event in stored] == list(range(1, len(stored) + 1))
        assert "secret text" not in str(stored)
        runs = {event["run"] for event in stored if event["type"] == "result"}
        for run in runs:
            assert [event["type"] for event in stored if event["run"] == run][-1] == "result"
        (result,) = await on.play({"calls": [subagent("child")]})
        progress = [body.text for body in on.bodies if body.kind == "tool.progress"]  # type: ignore[union-attr]  # progress has a text
        assert progress == ["agent-2: Look"]
        assert not result.is_error


@pytest.mark.req("BLT-73")
async def test_the_last_256_ended_children_stay_known(tmp_path: Path) -> None:
    async with stage(tmp_path, Cast(child=[{"text": "x"}])) as on:
        children = children_of(on)
        ids = [(await children.run(ChildOrder(prompt="child"))).id for _ in range(ENDED_MAX + 2)]
        assert [child.id for child in children.children()] == ids[2:]
        for id_ in ids[:2]:
            with pytest.raises(ToolError, match=f"Sub-agent not found: {id_}"):
                await children.report(id_)
        assert (await children.report(ids[2])).state == "completed"


# ---------------------------------------------------------------- with the session


@pytest.mark.req("SES-04", "SES-46")
async def test_closing_a_session_ends_its_children_and_a_lost_one_is_told_once(tmp_path: Path) -> None:
    cast = Cast(child=[{"calls": [call("Hold")]}, {"text": "x"}], ended=[{"text": "x"}])
    held = Held()
    async with stage(tmp_path, cast, tools=[held.tool()], rules=allow("*")) as on:
        other = await on.app.sessions.create()
        known = await on.spawn("ended")
        await all_ended(on)
        (lost,) = await on.play({"calls": [subagent("child", background=True)]})
        forked = (await on.one("agent_fork", prompt="child"))["agent_id"]
        await held.inside.wait()
        tasks = len(asyncio.all_tasks())
        with anyio.fail_after(10):
            await on.session.close()
        assert len(asyncio.all_tasks()) < tasks
        assert [child.state for child in children_of(on).children()] == ["completed", "cancelled", "cancelled"]
        assert len(cast.seen("child")) == 2
        with pytest.raises(ToolError, match="the session is closed"):
            await children_of(on).start(ChildOrder(prompt="child"))
        assert other.state == "idle"
        on.session = await on.app.sessions.open(on.session.id)
        assert (await on.one("agent_status", agent_id=id_of(lost)))["error"] == "execution_failed"
        told = [text for text in "\n\n".join(on.told).split("\n\n") if "was lost" in text]
        assert sorted(told) == sorted(
            f"The background agent {id_} was lost: the session was closed or the program ended before its end was told."
            for id_ in (id_of(lost), forked)
        )
        assert known not in str(told)
        await on.session.close()
        on.session = await on.app.sessions.open(on.session.id)
        await on.play()
        assert "\n\n".join(on.told).count("was lost") == 2


@pytest.mark.req("SES-08")
async def test_a_session_with_a_child_at_work_is_not_idle_and_one_without_is_later(tmp_path: Path) -> None:
    clock = ManualClock()
    cast = Cast(child=[{"text": "x"}])
    hold = cast.hold("child")
    async with stage(tmp_path, cast, clock=clock) as on:
        await on.spawn("child")
        clock.advance(4000)
        assert await on.app.sessions.close_idle() == 0
        hold.set()
        await all_ended(on)
        clock.advance(1799)
        assert await on.app.sessions.close_idle() == 0
        clock.advance(1)
        assert await on.app.sessions.close_idle() == 1


@pytest.mark.req("SES-04", "BLT-44")
async def test_a_childs_jobs_end_with_it_and_its_sessions_go_on(tmp_path: Path) -> None:
    job = {"command": "while :; do sleep 0.05; echo tick >> ticks; done", "background": True}
    cast = Cast(child=[{"calls": [call("shell", job)]}, {"calls": [call("shell_jobs")]}, {"text": "x"}])
    async with stage(tmp_path, cast, enable={"agents", "shell"}, rules=allow("*")) as on:
        mine = await on.one("shell", command="sleep 300", background=True)
        await on.ended(await on.spawn("child"))
        rows = cast.seen("child")[-1].messages[-1]
        assert isinstance(rows, ToolMessage)
        assert [row["command"] for row in json.loads(rows.results[0].content)] == [job["command"]]
        size = (tmp_path / "ticks").stat().st_size if (tmp_path / "ticks").exists() else 0
        await anyio.sleep(0.2)
        assert ((tmp_path / "ticks").stat().st_size if (tmp_path / "ticks").exists() else 0) == size
        (rows,) = await on.play({"calls": [call("shell_jobs")]})  # type: ignore[assignment]  # now of the session
        assert [row["id"] for row in json.loads(rows.content)] == [mine["job_id"]]  # type: ignore[attr-defined]  # a result
