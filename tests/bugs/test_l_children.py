"""Kinds h and l for child agents: cancelled and yet running, one failure that takes others with it, lost tasks."""

import asyncio
import json
from pathlib import Path

import anyio
import pytest

from hilt.core.child import ChildOrder
from hilt.core.session import StopReason
from hilt.ports.child import ChildAgents
from tests.flows.children_kit import Cast, stage, subagent
from tests.flows.kit import call, says
from tests.flows.session_kit import Held


@pytest.mark.req("BLT-65", "BLT-73")
async def test_h6_a_cancelled_child_stays_cancelled_and_a_second_cancel_is_no_error(tmp_path: Path) -> None:
    cast = Cast(child=[{"text": "x"}], ended=[{"text": "x"}])
    cast.hold("child")
    async with stage(tmp_path, cast) as on:
        id_ = await on.spawn("child")
        first = await on.one("agent_cancel", agent_id=id_)
        assert (first["success"], first["previous_state"]) == (True, "running")
        for _ in range(2):
            assert (await on.one("agent_status", agent_id=id_))["state"] == "cancelled"
            again = await on.one("agent_cancel", agent_id=id_)
            assert (again["success"], again["previous_state"]) == (False, "cancelled")
        assert "Sub-agent not found: nope" in str((await on.one("agent_cancel", agent_id="nope"))["message"])
        done = await on.spawn("ended")
        assert (await on.ended(done))["state"] == "completed"
        assert (await on.one("agent_cancel", agent_id=done))["previous_state"] == "completed"
        assert (await on.ended(done))["output"] == "x"


@pytest.mark.req("DSP-02", "DSP-06", "BLT-66")
async def test_l4_one_child_that_fails_takes_no_other_with_it(tmp_path: Path) -> None:
    cast = Cast(
        good=[{"text": "good"}],
        broken=[{"error": {"status": 400, "message": "broken"}}],
        odd=[lambda request: {"no": "answer"}],
        denied=[{"calls": [call("Nope")]}, {"text": "went on"}],
    )
    async with stage(tmp_path, cast, tools=[says("Look")]) as on:
        parts = ("good", "broken", "odd", "denied", "good")
        results = await on.play({"calls": [subagent(part) for part in parts]})
        assert [result.is_error for result in results] == [False, True, True, False, False]
        assert [result.call_id for result in results] == [f"call_1_{number}" for number in range(1, 6)]
        assert all(result.content.strip() for result in results)
        assert "broken" in json.loads(results[1].content)["message"]
        assert results[3].content.startswith("went on")
        assert on.result.stop_reason is StopReason.END_TURN


@pytest.mark.req("BLT-65", "SES-04")
async def test_l2_a_child_may_be_ended_from_any_task_and_leaves_no_task(tmp_path: Path) -> None:
    cast = Cast(child=[{"calls": [call("Hold")]}, {"text": "x"}])
    held = Held()
    async with stage(tmp_path, cast, tools=[held.tool()]) as on:
        tasks = asyncio.all_tasks()
        children = on.children
        waiting = asyncio.create_task(children.run(ChildOrder(prompt="child")))
        await cast.reach("child")
        background = await children.start(ChildOrder(prompt="child"))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.create_task(_end(children, background.id))
        with anyio.fail_after(5):
            while {task for task in asyncio.all_tasks() if not task.done()} > tasks:
                await anyio.sleep(0.001)
        assert [child.state for child in children.children()] == ["cancelled", "cancelled"]


async def _end(children: ChildAgents, id_: str) -> None:
    await children.cancel(id_)
