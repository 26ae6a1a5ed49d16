"""Team: a report whatever fails, limits of all members together, and what a cancel leaves."""

import json
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from hilt.builtins.delegation.attempt import GRACE_S, attempt
from hilt.builtins.delegation.team_work import TeamWork
from hilt.core.child import Child, ChildOrder
from hilt.core.errors import ToolError
from hilt.core.session import StopReason
from hilt.core.team import Member
from hilt.core.tool import ToolCall
from hilt.ports.child import Begun, ChildAgents, Progress
from hilt.ports.model import ModelRequest
from hilt.ports.tool import Environment
from tests.flows.acting import error_of
from tests.flows.children_kit import Answer, Cast, stage
from tests.flows.delegation_kit import (
    BOB,
    CY,
    ENDED,
    LEAD,
    PLAN,
    REPORT,
    RULES,
    USED,
    gives_up,
    id_of,
    inspected,
    places,
    plan,
    prompt_of,
    report_of,
    team,
    team_cast,
    teamed,
)
from tests.flows.kit import FunctionTool, allow, call, says


class Unwilling:
    """Child agents of which the first few cannot be started; see `ChildAgents`."""

    def __init__(self, inner: ChildAgents, refused: int) -> None:
        self._inner = inner
        self._refused = refused
        self.places = inner.places
        self.together = inner.together
        self.start = inner.start
        self.children = inner.children
        self.report = inner.report
        self.cancel = inner.cancel
        self.transcript = inner.transcript

    async def run(self, order: ChildOrder, *, progress: Progress | None = None, begun: Begun | None = None) -> Child:
        """See `ChildAgents.run`."""
        self._refused -= 1
        if self._refused >= 0:
            raise ToolError.execution_failed("no such luck")
        return await self._inner.run(order, progress=progress, begun=begun)


# ---------------------------------------------------------------- when something fails


@pytest.mark.req("BLT-71")
@pytest.mark.parametrize("answer", [{"text": "bob should look at the tests"}, gives_up("down"), plan(bob="only him")])
async def test_without_a_plan_each_member_works_on_the_goal_itself(tmp_path: Path, answer: Answer) -> None:
    cast = team_cast({LEAD: [answer]})
    async with stage(tmp_path, cast, rules=RULES) as on:
        result = await teamed(on)
        assert not result.is_error
        assert report_of(result).startswith("All is well.\n\nNot all went well:\n- ann made no plan (")
        assert report_of(result).endswith("so each member worked on the goal itself")
        for part in (BOB, CY):
            prompt = prompt_of(cast.seen(part)[0])
            assert "Its goal:\n\nReview the code." in prompt
            assert "work on the goal itself" in prompt


@pytest.mark.req("BLT-71")
async def test_a_blank_assignment_is_the_goal_for_that_member_alone(tmp_path: Path) -> None:
    cast = team_cast({LEAD: [plan(bob="read the tests", cy=" ")]})
    async with stage(tmp_path, cast, rules=RULES) as on:
        await teamed(on)
        assert "read the tests" in prompt_of(cast.seen(BOB)[0])
        assert "work on the goal itself" in prompt_of(cast.seen(CY)[0])


@pytest.mark.req("BLT-71")
async def test_a_member_that_fails_stops_nobody_and_the_report_names_it(tmp_path: Path) -> None:
    cast = team_cast({BOB: [{"text": "half", "calls": [call("Look")]}, gives_up("down")], CY: [{"text": ""}]})
    async with stage(tmp_path, cast, tools=[says("Look")], rules=RULES) as on:
        result = await teamed(on)
        assert not result.is_error
        _, _, troubles = report_of(result).partition("All is well.\n\nNot all went well:\n")
        bob, cy = troubles.splitlines()
        assert bob.startswith("- bob failed: ")
        assert "down" in bob
        assert cy == "- cy reported nothing"
        told = prompt_of(cast.seen(ENDED)[0])
        assert "Its last answer:\n\nhalf" in told
        assert "--- cy (role of cy) ---\ncy reported nothing." in told


@pytest.mark.req("BLT-71")
@pytest.mark.parametrize("answer", [gives_up("down"), {"text": ""}])
async def test_a_lead_that_fails_starts_anew_with_the_reports(tmp_path: Path, answer: Answer) -> None:
    anew: list[ModelRequest] = []

    def lead(request: ModelRequest) -> Answer:
        if ENDED not in str(request.messages):
            return PLAN
        anew.append(request)
        return REPORT

    cast = team_cast({LEAD: [lead], ENDED: [answer]})
    async with stage(tmp_path, cast, rules=RULES) as on:
        result = await teamed(on)
        assert report_of(result).startswith(
            "All is well.\n\nNot all went well:\n- ann did not write the report at first ("
        )
        (request,) = anew
        assert len(request.messages) == 1
        assert "bob is done" in prompt_of(request)
        assert "An earlier try of yours failed (" in prompt_of(request)
        assert "Review the code." in prompt_of(request)
        shown = await inspected(on, result, "ann")
        assert "messages 1 to " in shown.content
        assert shown.content.count("#") >= 4


@pytest.mark.req("BLT-71")
async def test_when_the_lead_fails_twice_the_report_is_what_the_members_gave(tmp_path: Path) -> None:
    cast = team_cast({LEAD: [gives_up("no lead")], ENDED: [gives_up("no lead")], CY: [gives_up("cy is down")]})
    async with stage(tmp_path, cast, rules=RULES) as on:
        result = await teamed(on)
        assert not result.is_error
        report = report_of(result)
        assert report.startswith("The lead wrote no report (")
        assert "## bob (role of bob)\n\nbob is done" in report
        assert "## cy (role of cy)\n\ncy failed: " in report
        assert "## ann (role of ann)\n\nann failed: " in report
        assert report.index("## bob") < report.index("## cy") < report.index("## ann")
        assert "- ann made no plan" in report


@pytest.mark.req("BLT-71")
@pytest.mark.parametrize("names", [("ann",), ("ann", "bob", "cy")])
async def test_when_everybody_fails_the_report_says_so_and_is_an_error(tmp_path: Path, names: Sequence[str]) -> None:
    cast = team_cast({part: [gives_up("no provider")] for part in (LEAD, BOB, CY, ENDED)})
    async with stage(tmp_path, cast, rules=RULES) as on:
        result = await teamed(on, *names)
        assert result.is_error
        assert report_of(result).startswith("The lead wrote no report (")
        assert all(f"{name} failed: " in report_of(result) for name in names)
        assert id_of(result).startswith("team_")
        assert on.result.stop_reason is StopReason.END_TURN


@pytest.mark.req("BLT-71")
@pytest.mark.parametrize(
    ("unwilling", "report"), [(1, "All is well."), (9, "The lead wrote no report (no such luck).")]
)
async def test_agents_that_cannot_be_started_do_not_end_the_work(tmp_path: Path, unwilling: int, report: str) -> None:
    members = [Member(name=name, role="r") for name in ("ann", "bob", "cy")]
    done: list[tuple[str, TeamWork]] = []

    async def work(call: ToolCall, env: Environment) -> str:
        children = Unwilling(env.service(ChildAgents), unwilling)  # type: ignore[type-abstract]  # the host names it by its port
        team = TeamWork(
            children, "Review.", members, call_id=call.id, note=lambda member, child: None, progress=env.progress
        )
        done.append((await team.report(), team))
        return "ok"

    cast = team_cast({LEAD: [REPORT]})
    async with stage(tmp_path, cast, tools=[FunctionTool("Work", work, read_only=False)], rules=allow("Work")) as on:
        await on.play({"calls": [call("Work")]})
        ((text, team),) = done
        assert text.startswith(report)
        assert team.troubles[0].startswith("ann made no plan (no such luck)")
        assert team.achieved is (unwilling == 1)
        if unwilling == 1:
            assert "An earlier try of yours failed (it never started)" in prompt_of(cast.seen(LEAD)[0])


@pytest.mark.req("BLT-61", "BLT-71")
@pytest.mark.parametrize("taken", [True, False])
async def test_an_agent_that_gets_no_place_or_does_not_end_in_time_has_failed(tmp_path: Path, taken: bool) -> None:
    ended: list[Child] = []

    async def try_it(call: ToolCall, env: Environment) -> str:
        children = env.service(ChildAgents)  # type: ignore[type-abstract]  # the host names it by its port
        ended.append(await attempt(children, ChildOrder(prompt="slow", waits=True), within_s=0.1 - GRACE_S))
        return "ok"

    cast = Cast(slow=[{"text": "x"}])
    cast.hold("slow")
    tools = [FunctionTool("Try", try_it)]
    async with stage(tmp_path, cast, tools=tools, config=places(1)) as on:
        if taken:
            await on.spawn("slow")
        await on.play({"calls": [call("Try")]})
        (child,) = ended
        assert child.state == "failed"
        assert ("no place became free" in child.error, bool(child.id)) == (taken, not taken)
        assert ("and they passed" in child.error) is not taken


@pytest.mark.req("BLT-71")
async def test_what_a_lead_wrote_before_it_failed_is_not_lost(tmp_path: Path) -> None:
    def lead(request: ModelRequest) -> Answer:
        if "An earlier try" in prompt_of(request) or len(request.messages) > 1:
            return gives_up()
        return {"text": "half of it", "calls": [call("Look")]}

    async with stage(tmp_path, team_cast({LEAD: [lead]}), tools=[says("Look")], rules=RULES) as on:
        result = await teamed(on, "ann")
        assert not result.is_error
        assert "Its last answer:\n\nhalf of it" in report_of(result)


# ---------------------------------------------------------------- limits, cancel


@pytest.mark.req("BLT-64", "BLT-71", "DSP-92")
async def test_max_team_tokens_counts_all_members_together_and_the_report_is_put_together(tmp_path: Path) -> None:
    works = [{**USED, "text": f"step {number}", "calls": [call("Look", {"n": number})]} for number in range(20)]
    cast = team_cast({LEAD: [{**USED, **PLAN}], BOB: works, CY: works})
    async with stage(tmp_path, cast, tools=[says("Look")], rules=RULES) as on:
        result = await teamed(on, max_team_tokens=60_000)
        assert not result.is_error
        assert "bob failed: it was stopped by max_tokens" in result.content
        assert "The lead wrote no report (it was stopped by max_tokens)" in result.content
        assert "step " in result.content
        assert 5 <= len(cast.seen(BOB)) + len(cast.seen(CY)) <= 6
        assert cast.seen(ENDED) == []
        assert on.result.stop_reason is StopReason.END_TURN
        cast.requests.clear()
        await teamed(on, max_team_tokens=1)
        assert 2 <= len(cast.seen(BOB)) + len(cast.seen(CY)) <= 3
        cast.says(BOB, {**USED, "text": "x"})
        cast.says(CY, {**USED, "text": "x"})
        assert report_of(await teamed(on, max_team_tokens=0)) == "All is well."


@pytest.mark.req("BLT-65", "BLT-71", "DSP-59")
@pytest.mark.parametrize("part", [LEAD, BOB, ENDED])
async def test_a_cancelled_team_ends_all_members_at_whatever_they_are(tmp_path: Path, part: str) -> None:
    cast = team_cast({})
    cast.hold(part)
    async with stage(tmp_path, cast, rules=RULES) as on:
        async with anyio.create_task_group() as group:
            group.start_soon(on.play, {"calls": [team()]})
            await cast.reach(part)
            if part == BOB:
                await cast.reach(CY)
            await on.session.cancel()
        assert on.result.stop_reason is StopReason.CANCELLED
        before = {name: len(requests) for name, requests in cast.requests.items()}
        cast.waits[part].set()
        await anyio.wait_all_tasks_blocked()
        assert {name: len(requests) for name, requests in cast.requests.items()} == before
        (listed,) = await on.play({"calls": [call("SubagentStatus")]})
        states = [child["state"] for child in json.loads(listed.content)]
        assert "running" not in states
        assert "cancelled" in states


@pytest.mark.req("BLT-07")
@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([], "members"),
        ([{"name": f"m{number}", "role": "r"} for number in range(9)], "members"),
        ([{"name": "ann"}], "role"),
        ([{"name": "ann", "role": "r", "more": 1}], "more"),
        ([{"name": " ", "role": "r"}], "members[0].name: is blank"),
        ([{"name": "ann", "role": ""}], "members[0].role: is blank"),
        ([{"name": "a\nb", "role": "r"}], "members[0].name: expected one line"),
        ([{"name": "a" * 81, "role": "r"}], "at most 80 characters"),
        (
            [{"name": "ann", "role": "r"}, {"name": "bob", "role": "r"}, {"name": "Ann ", "role": "s"}],
            "members[2].name: 'Ann' is the name of members[0] too",
        ),
    ],
)
async def test_members_that_cannot_be_told_apart_are_refused(
    tmp_path: Path, members: list[dict[str, object]], said: str
) -> None:
    cast = team_cast({})
    async with stage(tmp_path, cast, rules=RULES) as on:
        (result,) = await on.play({"calls": [call("Team", {"goal": "g", "members": members})]})
        assert error_of(result) == "invalid_arguments"
        assert said in json.loads(result.content)["message"]
        assert set(cast.requests) == {"main"}


@pytest.mark.req("BLT-07")
@pytest.mark.parametrize(
    ("args", "said"), [({"goal": " "}, "goal: is blank"), ({"max_team_tokens": -1}, "max_team_tokens: expected 0")]
)
async def test_a_blank_goal_and_a_negative_limit_are_refused(
    tmp_path: Path, args: dict[str, object], said: str
) -> None:
    async with stage(tmp_path, team_cast({}), rules=RULES) as on:
        result = await teamed(on, **args)
        assert error_of(result) == "invalid_arguments"
        assert said in json.loads(result.content)["message"]
