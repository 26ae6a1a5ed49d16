"""What child agents may use: their own limits, and those of the whole tree."""

import json
from pathlib import Path

import pytest

from hilt.app.config import Config
from hilt.app.settings import AgentSettings
from hilt.core.child import ChildLimits, ChildOrder
from hilt.core.session import StopReason, ToolMessage, UserMessage
from hilt.ports.child import ChildAgents
from tests.flows.children_kit import Cast, stage, subagent
from tests.flows.kit import call, says

USED = {"usage": {"input": 6_000, "output": 4_000}}


def busy(**more: object) -> dict[str, object]:
    """Return an answer that uses 10,000 tokens and makes a call."""
    return {**USED, "calls": [call("Look", more)]}


def counting(answers: int) -> list[dict[str, object]]:
    """Return answers of which no two turns are alike, then an end."""
    return [*(busy(n=number) for number in range(answers)), {"text": "end"}]


@pytest.mark.req("BLT-64")
async def test_each_limit_that_is_given_ends_the_child(tmp_path: Path) -> None:
    cast = Cast(child=counting(20))
    async with stage(tmp_path, cast, tools=[says("Look")]) as on:
        for args, reason, requests in (
            ({"max_turns": 2}, "max_turns", 2),
            ({"max_tool_calls": 3}, "max_tool_calls", 3),
            ({"max_run_tokens": 40_000}, "max_tokens", 4),
            ({"max_run_tokens": 1}, "max_tokens", 3),
        ):
            cast.requests.clear()
            (result,) = await on.play({"calls": [subagent("child", **args)]})
            assert f"failed: it was stopped by {reason}." in json.loads(result.content)["message"]
            assert len(cast.seen("child")) == requests
        for budget, requests in (
            ({"max_turns": 2}, 2),
            ({"max_tool_calls": 3}, 3),
            ({"max_tokens": 40_000}, 4),
            ({"max_tokens": 10}, 3),
            ({"max_turns": 0, "max_tool_calls": 0, "max_tokens": 0}, 21),
        ):
            cast.requests.clear()
            body = await on.one("agent_spawn", prompt="child", budget=budget)
            status = await on.one("agent_status", agent_id=body["agent_id"], wait_secs=30)
            assert len(cast.seen("child")) == requests
            assert status["state"] == ("completed" if requests == 21 else "failed")
            assert status["tokens_used"] == min(requests, 20) * 10_000


@pytest.mark.req("BLT-64")
async def test_a_limit_only_lowers_what_the_parent_has_left(tmp_path: Path) -> None:
    cast = Cast(child=counting(20))
    limits = {"max_turns": 5, "max_tool_calls": 6, "max_tokens": 30_000}
    async with stage(tmp_path, cast, tools=[says("Look")], session={"limits": limits}) as on:
        wide = {"max_turns": 100, "max_tool_calls": 100, "max_run_tokens": 100_000}
        (result,) = await on.play({**USED, "calls": [subagent("child", **wide)]})
        assert "max_tokens" in result.content
        assert len(cast.seen("child")) == 2
        assert on.result.stop_reason is StopReason.MAX_TOKENS
    async with stage(tmp_path, cast, tools=[says("Look")], session={"limits": {"max_turns": 3}}) as on:
        cast.requests.clear()
        (result,) = await on.play({"calls": [subagent("child", **wide)]})
        assert "max_turns" in result.content
        assert len(cast.seen("child")) == 3


@pytest.mark.req("DSP-92")
async def test_tokens_of_the_whole_tree_count_and_end_parent_and_children(tmp_path: Path) -> None:
    cast = Cast(child=[busy(), {**USED, "text": "x"}], back=counting(50))
    limits = {"max_tokens": 50_000}
    async with stage(tmp_path, cast, tools=[says("Look")], session={"limits": limits}) as on:
        await on.play(
            {"calls": [subagent("child"), subagent("child")]},
            {"calls": [subagent("child", background=True)]},
            *[{"calls": [call("Look", {"n": number})]} for number in range(200)],
        )
        assert on.result.stop_reason is StopReason.MAX_TOKENS
        assert on.result.usage.total >= 50_000
        assert on.session.record.usage.total == on.result.usage.total


@pytest.mark.req("DSP-92", "DSP-93")
async def test_tool_calls_of_the_whole_tree_count(tmp_path: Path) -> None:
    cast = Cast(child=[{"calls": [call("Look", {"n": 1})] * 4}, {"text": "x"}])
    look = says("Look")
    session = {"limits": {"max_tool_calls": 8}}
    async with stage(tmp_path, cast, tools=[look], session=session) as on:
        one, two, last = await on.play({"calls": [subagent("child"), subagent("child"), call("Look")]})
        assert len(look.calls) == 6
        assert on.result.stop_reason is StopReason.MAX_TOOL_CALLS
        assert on.result.tool_calls >= 8
        assert sorted((one.is_error, two.is_error)) == [True, True]
        assert not last.is_error
        results = [
            result.content
            for request in cast.seen("child")
            for message in request.messages
            if isinstance(message, ToolMessage)
            for result in message.results
        ]
        assert results == []
        shown = [await on_child_page(on.children, number) for number in (0, 1)]
        assert sum(text.count("The limit max_tool_calls of this run is reached") for text in shown) == 3
        assert len(cast.seen("main")) == 1


async def on_child_page(children: ChildAgents, number: int) -> str:
    """Return the transcript of a child as text."""
    return str(children.transcript(children.children()[number].id).messages)


@pytest.mark.req("DSP-92")
async def test_what_a_child_spends_between_runs_ends_it_by_its_own_limit_and_counts_for_the_session(
    tmp_path: Path,
) -> None:
    cast = Cast(child=counting(30))
    hold = cast.hold("child")
    async with stage(tmp_path, cast, tools=[says("Look")], session={"limits": {"max_tokens": 40_000}}) as on:
        id_ = await on.spawn("child")
        hold.set()
        children = on.children
        child = await children.report(id_, wait_s=10)
        assert (child.state, child.error, child.tokens, child.calls) == (
            "failed",
            "it was stopped by max_tokens",
            40_000,
            4,
        )
        await on.play()
        assert on.session.record.usage.total == 40_000


@pytest.mark.req("BLT-64")
@pytest.mark.parametrize(
    ("policy", "tokens"),
    [
        ("remaining", 300_000),
        ("equal", 150_000),
        ("proportional", 100_000),
        ("fixed:60000", 60_000),
        ("fixed:1", 30_000),
    ],
)
async def test_a_fork_has_the_part_of_the_tokens_that_its_policy_gives(
    tmp_path: Path, policy: str, tokens: int
) -> None:
    cast = Cast(child=counting(200))
    config = Config(agents=AgentSettings(max_concurrent=2))
    session = {"limits": {"max_tokens": 300_000}}
    async with stage(tmp_path, cast, tools=[says("Look")], session=session, config=config) as on:
        body = await on.one("agent_fork", prompt="child", budget_policy=policy)
        status = await on.one("agent_status", agent_id=body["agent_id"], wait_secs=30)
        assert (status["state"], status["tokens_used"]) == ("failed", tokens)
        body = await on.one("agent_fork", prompt="child", budget_policy="half")
        assert body["error"] == "invalid_arguments"


@pytest.mark.req("BLT-64")
async def test_children_that_are_started_together_spend_from_one_budget(tmp_path: Path) -> None:
    cast = Cast(child=counting(30))
    async with stage(tmp_path, cast, tools=[says("Look")]) as on:
        children = on.children
        team = children.together(max_tokens=60_000)
        assert team.places == children.places
        first = await team.run(ChildOrder(prompt="child", limits=ChildLimits(max_tokens=40_000)))
        second = await team.report((await team.start(ChildOrder(prompt="child"))).id, wait_s=10)
        assert [child.tokens for child in (first, second)] == [40_000, 20_000]
        assert (await team.run(ChildOrder(prompt="child"))).calls == 0
        assert (await children.run(ChildOrder(prompt="child"))).state == "completed"
        assert [child.id for child in team.children()] == [child.id for child in children.children()]
        assert team.transcript(first.id).messages[0] == UserMessage(text="child")
        assert (await team.cancel(second.id))[1].state == "failed"
        assert team.together(max_tokens=None).places == 8


@pytest.mark.req("BLT-64", "DSP-92")
async def test_a_child_has_no_more_time_than_its_parent(tmp_path: Path) -> None:
    cast = Cast(child=[{"text": "x"}])
    cast.hold("child")
    async with stage(tmp_path, cast, session={"limits": {"max_seconds": 0.3}}) as on:
        id_ = await on.spawn("child")
        children = on.children
        child = await children.report(id_, wait_s=10)
        assert (child.state, child.error) == ("failed", "it was stopped by max_seconds")
