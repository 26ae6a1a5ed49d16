"""Team: a lead that plans and reports, members side by side, and pages of what each said."""

import json
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from hilt.core.event import ToolProgress
from hilt.core.tool import ToolCall
from hilt.ports.permission import Verdict
from hilt.ports.team import Teams
from hilt.ports.tool import Environment
from tests.flows.acting import error_of
from tests.flows.children_kit import Answer, Part, stage
from tests.flows.delegation_kit import (
    BOB,
    CY,
    ENDED,
    LEAD,
    RULES,
    id_of,
    inspected,
    named,
    places,
    plan,
    prompt_of,
    report_of,
    team_cast,
    teamed,
)
from tests.flows.kit import Answering, FunctionTool, call, deny, says

# ---------------------------------------------------------------- when all goes well


@pytest.mark.req("BLT-71", "BLT-72", "BLT-60")
async def test_the_first_member_plans_the_others_work_and_it_reports(tmp_path: Path) -> None:
    cast = team_cast({BOB: [{"calls": [call("Look")]}, {"text": "bob is done"}]})
    async with stage(tmp_path, cast, tools=[says("Look", "secret")], rules=RULES) as on:
        result = await teamed(on)
        assert not result.is_error
        assert report_of(result) == "All is well."
        assert id_of(result).startswith("team_")
        asked = prompt_of(cast.seen(LEAD)[0])
        assert "You are ann (role of ann), the lead of a team. Its goal:\n\nReview the code." in asked
        assert "- bob (role of bob): only read\n- cy (role of cy): only read" in asked
        assert "Your assignment:\n\nread the tests" in prompt_of(cast.seen(BOB)[0])
        assert "Your assignment:\n\nread the docs" in prompt_of(cast.seen(CY)[0])
        assert len(cast.seen(BOB)[0].messages) == 1
        (last,) = cast.seen(ENDED)
        assert len(last.messages) == 3
        assert "--- bob (role of bob) ---\nbob is done" in prompt_of(last)
        assert "--- cy (role of cy) ---\ncy is done" in prompt_of(last)
        assert all("secret" not in str(request.messages) for request in cast.seen("main"))
        assert all(named(request) == {"Look", "ReadResult"} for request in [*cast.seen(LEAD), *cast.seen(CY), last])
        told = [body.text for body in on.bodies if isinstance(body, ToolProgress)]
        assert "bob: agent-2: Look" in told
        assert told[-1] == "ann: completed"
        assert on.told == []


@pytest.mark.req("BLT-71")
async def test_members_work_at_the_same_time_and_wait_for_places(tmp_path: Path) -> None:
    inside = 0
    most = 0
    both = anyio.Event()

    async def look(call: ToolCall, env: Environment) -> str:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        if inside == 2:
            both.set()
        await both.wait()
        inside -= 1
        return "seen"

    names = ["bob", "cy", "dan", "eve"]
    work: Sequence[Answer | Part] = [{"calls": [call("Look")]}, {"text": "done"}]
    parts: dict[str, Sequence[Answer | Part]] = {f"You are {name}": work for name in names}
    cast = team_cast({**parts, LEAD: [plan(**dict.fromkeys(names, "look"))]})
    async with stage(tmp_path, cast, tools=[FunctionTool("Look", look)], rules=RULES, config=places(2)) as on:
        assert report_of(await teamed(on, "ann", *names)) == "All is well."
        assert most == 2


@pytest.mark.req("BLT-67", "BLT-71")
async def test_a_member_only_reads_unless_it_is_mutating_and_the_plan_only_reads(tmp_path: Path) -> None:
    cast = team_cast({})
    tools = [says("Look"), says("Change", read_only=False)]
    async with stage(tmp_path, cast, tools=tools, rules=RULES) as on:
        await teamed(on, "ann!", "bob!", "cy")
        reads, both = {"Look", "ReadResult"}, {"Look", "Change", "ReadResult"}
        seen = [named(cast.seen(part)[0]) for part in (LEAD, BOB, CY, ENDED)]
        assert seen == [reads, both, reads, both]
        assert "- bob (role of bob): may change what the work needs" in prompt_of(cast.seen(LEAD)[0])


@pytest.mark.req("BLT-71")
async def test_a_team_of_one_is_given_the_goal_and_its_answer_is_the_report(tmp_path: Path) -> None:
    cast = team_cast({LEAD: [{"text": "done alone"}]})
    async with stage(tmp_path, cast, rules=RULES) as on:
        result = await teamed(on, "ann")
        assert report_of(result) == "done alone"
        (request,) = cast.seen(LEAD)
        assert "and the whole team. Its goal:\n\nReview the code." in prompt_of(request)


@pytest.mark.req("BLT-08", "BLT-71")
async def test_a_team_is_always_asked_and_counts_as_a_change(tmp_path: Path) -> None:
    approver = Answering([Verdict(kind="allow_once"), Verdict(kind="deny")])
    async with stage(tmp_path, team_cast({}), rules=[], approver=approver) as on:
        assert not (await teamed(on)).is_error
        assert error_of(await teamed(on)) == "access_denied"
        assert [asked.tool for asked in approver.asked] == ["Team", "Team"]
    async with stage(tmp_path, team_cast({}), rules=deny("Team"), session={"mode": "plan"}) as on:
        assert error_of(await teamed(on)) == "access_denied"


# ---------------------------------------------------------------- InspectMember


@pytest.mark.req("BLT-72", "BLT-73")
async def test_a_members_transcript_is_shown_in_pages(tmp_path: Path) -> None:
    cast = team_cast({BOB: [{"calls": [call("Look")]}, {"text": "bob is done"}]})
    async with stage(tmp_path, cast, tools=[says("Look", "what he saw")], rules=RULES) as on:
        result = await teamed(on)
        bob = await inspected(on, result, "bob")
        assert "agent-2" in bob.content.splitlines()[0]
        assert "messages 1 to 4 of 4." in bob.content
        assert all(text in bob.content for text in ("read the tests", "call Look", "what he saw", "bob is done"))
        last = await inspected(on, result, "bob", limit=1)
        assert "bob is done" in last.content
        assert last.content.endswith("Older ones: before=4.")
        older = await inspected(on, result, "bob", limit=2, before=4)
        assert "messages 2 to 3 of 4." in older.content
        lead = await inspected(on, result, "ann")
        assert "messages 1 to 4 of 4." in lead.content
        assert "All is well." in lead.content


@pytest.mark.req("BLT-73")
async def test_unknown_teams_and_members_are_told_and_sessions_do_not_share_them(tmp_path: Path) -> None:
    cast = team_cast({})
    async with stage(tmp_path, cast, rules=RULES) as on:
        result = await teamed(on)
        gone = await on.play({"calls": [call("InspectMember", {"team_id": "team_x", "member": "ann"})]})
        assert json.loads(gone[0].content)["message"] == "Tool execution failed: Team not found: team_x"
        wrong = await inspected(on, result, "dan")
        assert error_of(wrong) == "execution_failed"
        assert json.loads(wrong.content)["message"] == (
            f"Tool execution failed: Member not found: dan; the members of {id_of(result)} are ann, bob, cy"
        )
        on.session = await on.app.sessions.create()
        assert "Team not found" in (await inspected(on, result, "ann")).content


@pytest.mark.req("BLT-73")
async def test_a_member_that_never_started_and_one_that_is_forgotten_are_told_apart(tmp_path: Path) -> None:
    async def open_(call: ToolCall, env: Environment) -> str:
        teams = env.service(Teams)  # type: ignore[type-abstract]  # the host names it by its port
        team_id = teams.open(["ann", "bob"])
        teams.note(team_id, "ann", "agent_of_long_ago")
        return f"team_id: {team_id}"

    async with stage(tmp_path, team_cast({}), tools=[FunctionTool("Open", open_)]) as on:
        (result,) = await on.play({"calls": [call("Open")]})
        for name, said in (("ann", "is no longer kept"), ("bob", "never started")):
            shown = await inspected(on, result, name)
            assert error_of(shown) == "execution_failed"
            assert said in shown.content
