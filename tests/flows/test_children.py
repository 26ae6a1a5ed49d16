"""Child agents: what they start with, what they see, how they end, and what their session hears of it."""

import json
from pathlib import Path

import pytest

from hilt.core.session import AssistantMessage, ToolMessage, UserMessage
from tests.flows.acting import error_of
from tests.flows.children_kit import Cast, id_of, stage, subagent
from tests.flows.kit import call, says


@pytest.mark.req("BLT-62", "BLT-72")
async def test_a_child_starts_with_its_prompt_alone_and_only_its_answer_comes_back(tmp_path: Path) -> None:
    cast = Cast(child=[{"calls": [call("Look")]}, {"text": "found it"}])
    async with stage(tmp_path, cast, tools=[says("Look", "secret text")]) as on:
        (result,) = await on.play({"calls": [subagent("child: look")]})
        assert result.content == f"found it\n\nagent_id: {id_of(result)}"
        first, second = cast.seen("child")
        assert list(first.messages) == [UserMessage(text="child: look")]
        assert "secret text" in str(second.messages)
        assert all("secret text" not in str(request.messages) for request in cast.seen("main"))
        status = await on.one("agent_status", agent_id=id_of(result))
        assert (status["state"], status["output"], status["is_final"]) == ("completed", "found it", True)


@pytest.mark.req("BLT-62")
async def test_a_fork_has_all_messages_with_calls_and_results_paired(tmp_path: Path) -> None:
    cast = Cast(child=[{"text": "forked"}])
    async with stage(tmp_path, cast, tools=[says("Look")]) as on:
        await on.play({"calls": [call("Look")]})
        looked, forked = await on.play({"calls": [call("Look"), call("agent_fork", {"prompt": "child: go on"})]})
        body = json.loads(forked.content)
        await on.ended(body["agent_id"])
        (request,) = cast.seen("child")
        assert body["messages_inherited"] == 6
        *inherited, paired, prompt = request.messages
        assert prompt == UserMessage(text="child: go on")
        assert len(inherited) == 6
        assert isinstance(inherited[-1], AssistantMessage)
        assert isinstance(paired, ToolMessage)
        assert [one.call_id for one in paired.results] == [one.id for one in inherited[-1].calls]
        assert looked.content == "ok"


@pytest.mark.req("BLT-60")
async def test_no_child_has_the_tools_of_agents_and_delegation(tmp_path: Path) -> None:
    names = ("Subagent", "agent_spawn", "agent_list", "SubagentStatus")
    cast = Cast(child=[{"calls": [call(name, {"prompt": "child"}) for name in names]}, {"text": "no"}])
    async with stage(tmp_path, cast, tools=[says("Look")]) as on:
        await on.ended(await on.spawn("child"))
        first, second = cast.seen("child")
        assert [spec.name for spec in first.tools] == ["Look", "ReadResult"]
        last = second.messages[-1]
        assert isinstance(last, ToolMessage)
        assert [error_of(result) for result in last.results] == ["access_denied"] * 4
        assert len((await on.one("agent_list"))["agents"]) == 1  # type: ignore[arg-type]  # an object by id
