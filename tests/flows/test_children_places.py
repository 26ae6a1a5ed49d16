"""The places of child agents: how many work at once, and who waits."""

import json
from pathlib import Path

import anyio
import pytest

from hilt.app.config import Config
from hilt.app.settings import AgentSettings
from hilt.core.child import ChildOrder
from hilt.core.tool import ToolCall
from hilt.ports.tool import Environment
from tests.flows.children_kit import Cast, stage, subagent
from tests.flows.kit import FunctionTool, call


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
        await on.all_ended()
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
        children = on.children
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
        children = on.children
        id_ = (await children.start(ChildOrder(prompt="child"))).id
        with anyio.move_on_after(0.05) as gone:
            await children.run(ChildOrder(prompt="late", waits=True))
        assert gone.cancelled_caught
        hold.set()
        assert (await children.report(id_, wait_s=5)).state == "completed"
        assert (await children.run(ChildOrder(prompt="late"))).output == "y"
        assert len(cast.seen("late")) == 1
