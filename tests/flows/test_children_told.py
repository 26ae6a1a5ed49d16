"""What is told of child agents: to their parent, in the stream and its log, and when their session is closed."""

import asyncio
import json
from pathlib import Path

import anyio
import pytest

from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.inmemory.store import MemoryStore
from hilt.core.child import ENDED_MAX, ChildOrder
from hilt.core.errors import ToolError
from hilt.core.session import ToolMessage
from hilt.testing import ManualClock
from tests.flows.children_kit import Cast, id_of, stage, subagent
from tests.flows.kit import allow, call, says
from tests.flows.session_kit import Held, events_of


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
        await on.all_ended()
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
        await on.all_ended()
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
        children = on.children
        ids = [(await children.run(ChildOrder(prompt="child"))).id for _ in range(ENDED_MAX + 2)]
        assert [child.id for child in children.children()] == ids[2:]
        for id_ in ids[:2]:
            with pytest.raises(ToolError, match=f"Sub-agent not found: {id_}"):
                await children.report(id_)
        assert (await children.report(ids[2])).state == "completed"


@pytest.mark.req("SES-04", "SES-46")
async def test_closing_a_session_ends_its_children_and_a_lost_one_is_told_once(tmp_path: Path) -> None:
    cast = Cast(child=[{"calls": [call("Hold")]}, {"text": "x"}], ended=[{"text": "x"}])
    held = Held()
    async with stage(tmp_path, cast, tools=[held.tool()], rules=allow("*")) as on:
        other = await on.app.sessions.create()
        known = await on.spawn("ended")
        await on.all_ended()
        (lost,) = await on.play({"calls": [subagent("child", background=True)]})
        forked = (await on.one("agent_fork", prompt="child"))["agent_id"]
        await held.inside.wait()
        tasks = len(asyncio.all_tasks())
        with anyio.fail_after(10):
            await on.session.close()
        assert len(asyncio.all_tasks()) < tasks
        assert [child.state for child in on.children.children()] == ["completed", "cancelled", "cancelled"]
        assert len(cast.seen("child")) == 2
        with pytest.raises(ToolError, match="the session is closed"):
            await on.children.start(ChildOrder(prompt="child"))
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
        await on.all_ended()
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
        (own,) = await on.play({"calls": [call("shell_jobs")]})
        assert [row["id"] for row in json.loads(own.content)] == [mine["job_id"]]
