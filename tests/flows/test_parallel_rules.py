"""Parallel: its limits and ends, and the rules, modes and profiles that hold for it."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from hilt.core.event import ToolStart
from hilt.core.session import Mode, StopReason
from hilt.core.tool import ToolCall
from hilt.ports.permission import Verdict
from hilt.ports.tool import Environment
from tests.flows.acting import error_of
from tests.flows.children_kit import Cast, stage
from tests.flows.delegation_kit import (
    JUDGE,
    body_of,
    cast_of,
    entries,
    judged,
    parallel,
    places,
    ran,
    states,
)
from tests.flows.kit import Answering, FunctionTool, allow, ask, call, deny, says

# ---------------------------------------------------------------- limits, cancel


@pytest.mark.req("DSP-92")
async def test_the_calls_and_tokens_of_all_branches_count_towards_the_session(tmp_path: Path) -> None:
    used = {"usage": {"input": 6_000, "output": 4_000}}
    cast = Cast(task=[{**used, "calls": [call("Look", {"n": number})]} for number in range(50)])
    look = says("Look")
    async with stage(tmp_path, cast, tools=[look], session={"limits": {"max_tool_calls": 9}}) as on:
        result = await ran(on, "task 1", "task 2", "task 3")
        assert "max_tool_calls" in result.content
        assert len(look.calls) == 8
        assert on.result.stop_reason is StopReason.MAX_TOOL_CALLS
    cast.requests.clear()
    async with stage(tmp_path, cast, tools=[look], session={"limits": {"max_tokens": 100_000}}) as on:
        result = await ran(on, "task 1", "task 2")
        assert "it was stopped by max_tokens" in result.content
        assert 10 <= len(cast.seen("task")) <= 11
        assert on.result.stop_reason is StopReason.MAX_TOKENS


@pytest.mark.req("BLT-65", "DSP-51")
@pytest.mark.parametrize("part", ["a", JUDGE])
async def test_a_cancelled_run_ends_branches_and_judge_and_starts_none_that_waits(tmp_path: Path, part: str) -> None:
    cast = cast_of({"a": [{"text": "from a"}], JUDGE: [judged(1)]})
    cast.hold(part)
    async with stage(tmp_path, cast, config=places(1)) as on:
        async with anyio.create_task_group() as group:
            group.start_soon(on.play, {"calls": [parallel("a", "a 2", join="judge")]})
            await cast.reach(part)
            await on.session.cancel()
        before = {name: len(requests) for name, requests in cast.requests.items()}
        cast.waits[part].set()
        await anyio.wait_all_tasks_blocked()
        assert {name: len(requests) for name, requests in cast.requests.items()} == before
        assert on.result.stop_reason is StopReason.CANCELLED
        assert await states(on) == [*(["completed"] * (0 if part == "a" else 2)), "cancelled"]
        cast.says("b", {"text": "on"})
        assert [entry["result"] for entry in entries(body_of(await ran(on, "b")))] == ["on"]


@pytest.mark.req("DSP-57", "BLT-65")
async def test_a_cancel_does_not_wait_for_branches_that_swallow_it(tmp_path: Path) -> None:
    inside = 0
    all_in, release = anyio.Event(), anyio.Event()

    async def stubborn(call: ToolCall, env: Environment) -> str:
        nonlocal inside
        inside += 1
        if inside == 8:
            all_in.set()
        with anyio.CancelScope(shield=True):
            await release.wait()
        return "late"

    cast = Cast(task=[{"calls": [call("Look")]}, {"text": "ok"}])
    async with stage(tmp_path, cast, tools=[FunctionTool("Look", stubborn)]) as on:
        async with anyio.create_task_group() as group:
            group.start_soon(on.play, {"calls": [parallel(*(f"task {number}" for number in range(12)))]})
            await all_in.wait()
            begun = anyio.current_time()
            await on.session.cancel()
            taken = anyio.current_time() - begun
        assert taken < (2.0 if "CI" in os.environ else 1.0)
        release.set()
        assert await states(on) == ["cancelled"] * 8
        assert len(cast.seen("task")) == 8


@pytest.mark.req("BLT-07", "DSP-37")
@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"tasks": []}, "tasks"),
        ({"tasks": [f"task {number}" for number in range(17)]}, "tasks"),
        ({"tasks": ["a", " \n"]}, "tasks[1]: is blank"),
        ({"tasks": ["a"], "join": "some"}, "join"),
        ({"tasks": ["a"], "mode": "write"}, "mode"),
        ({"tasks": ["a"], "criteria": "short"}, "criteria: cannot go with join all"),
        ({"tasks": ["a"], "join": "first", "criteria": "short"}, "criteria: cannot go with join first"),
    ],
)
async def test_what_does_not_go_is_refused_before_anything_starts(
    tmp_path: Path, args: dict[str, object], said: str
) -> None:
    cast = Cast(a=[{"text": "x"}])
    async with stage(tmp_path, cast) as on:
        (result,) = await on.play({"calls": [{"name": "Parallel", "args": args}]})
        assert error_of(result) == "invalid_arguments"
        assert said in json.loads(result.content)["message"]
        assert set(cast.requests) == {"main"}


# ---------------------------------------------------------------- mode and rules


@pytest.mark.req("BLT-67", "BLT-08")
async def test_branches_only_read_unless_the_call_is_read_write_and_then_it_is_asked(tmp_path: Path) -> None:
    cast = Cast(task=[{"calls": [call("Change")]}, {"text": "ok"}])
    change = says("Change", read_only=False)
    approver = Answering([Verdict(kind="allow_once"), Verdict(kind="deny", message="not now")])
    async with stage(tmp_path, cast, tools=[says("Look"), change], approver=approver, rules=allow("Change")) as on:
        await ran(on, "task")
        assert {spec.name for spec in cast.seen("task")[0].tools} == {"Look", "ReadResult"}
        assert (change.calls, approver.asked) == ([], [])
        await ran(on, "task 1", "task 2", mode="read-write")
        assert len(change.calls) == 2
        refused = await ran(on, "task 1", "task 2", mode="read-write")
        assert error_of(refused) == "access_denied"
        assert [asked.tool for asked in approver.asked] == ["Parallel", "Parallel"]
        starts = [body.read_only for body in on.bodies if isinstance(body, ToolStart) and body.tool == "Parallel"]
        assert starts == [True, False]


@pytest.mark.req("PRM-50", "PRM-51", "PRM-15")
async def test_an_ask_that_is_allowed_for_good_is_not_put_again(tmp_path: Path) -> None:
    cast = Cast(task=[{"text": "ok"}])
    approver = Answering([Verdict(kind="allow_always"), Verdict(kind="deny")])
    async with stage(tmp_path, cast, approver=approver, rules=[]) as on:
        for tasks in (["task"], ["task 2", "task 3"]):
            body_of(await ran(on, *tasks, mode="read-write"))
        assert [asked.tool for asked in approver.asked] == ["Parallel"]
        (refused,) = await on.play({"calls": [call("Subagent", {"prompt": "task", "mode": "read-write"})]})
        assert error_of(refused) == "access_denied"


@pytest.mark.req("PRM-15", "PRM-20", "PRM-22")
@pytest.mark.parametrize(
    ("rules", "mode", "runs"),
    [
        ([], "read-only", True),
        ([], "read-write", False),
        (allow("Parallel"), "read-write", True),
        (allow("Parallel(mode=read-write)"), "read-write", True),
        (allow("Subagent"), "read-write", False),
        ([*allow("Parallel"), *ask("Subagent")], "read-write", False),
        ([*allow("Parallel"), *deny("Subagent(mode=read-write)")], "read-write", False),
        ([*allow("Parallel"), *deny("Subagent(mode=read-write)")], "read-only", True),
        (deny("Subagent"), "read-only", False),
        (deny("Parallel"), "read-only", False),
    ],
)
async def test_parallel_is_decided_by_the_rules_of_subagent_too(
    tmp_path: Path, rules: Sequence[object], mode: str, runs: bool
) -> None:
    cast = Cast(task=[{"text": "ok"}])
    async with stage(tmp_path, cast, rules=rules) as on:
        result = await ran(on, "task", mode=mode)
        assert error_of(result) == ("" if runs else "access_denied")
        assert bool(cast.seen("task")) is runs


@pytest.mark.req("CAT-62")
async def test_plan_mode_admits_branches_that_read_alone(tmp_path: Path) -> None:
    cast = Cast(task=[{"text": "ok"}])
    async with stage(tmp_path, cast, session={"mode": Mode.PLAN}, rules=allow("Parallel")) as on:
        assert not (await ran(on, "task")).is_error
        assert error_of(await ran(on, "task", mode="read-write")) == "access_denied"


@pytest.mark.req("CAT-95")
async def test_a_session_without_files_has_no_parallel_but_the_other_tools_for_agents(tmp_path: Path) -> None:
    async with stage(tmp_path, Cast(), session={"profile": "no-fs"}, enable={"files", "delegation"}) as on:
        names = {tool.spec.name for tool in on.session.catalog.tools()}
        assert names & {"Parallel", "Team", "Subagent", "Read"} == {"Team", "Subagent"}
