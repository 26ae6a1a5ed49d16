"""Child agents: what they start with, what they see, how they end, and what their session hears of it."""

import json
from pathlib import Path

import anyio
import pytest

from hilt.core.child import ChildOrder
from hilt.core.session import AssistantMessage, ToolFilter, ToolMessage, UserMessage
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.tool import Environment
from tests.flows.acting import error_of
from tests.flows.children_kit import Cast, id_of, stage, subagent
from tests.flows.kit import FunctionTool, allow, call, says


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
        assert [one.content[:9] for one in paired.results] == ["This call", "This call"]
        assert "you are the fork" in paired.results[1].content
        assert looked.content == "ok"
        (shown,) = await on.play({"calls": [call("SubagentStatus", {"agent_id": body["agent_id"], "wait_secs": 1})]})
        assert json.loads(shown.content)["result"] == "forked"
        children = on.children
        free = await children.run(ChildOrder(prompt="child", fork=True))
        assert free.inherited == len(cast.seen("child")[-1].messages) - 1


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


def listed(cast: Cast, part: str) -> list[str]:
    """Return the names that the last request of a part listed."""
    return [spec.name for spec in cast.seen(part)[-1].tools]


@pytest.mark.req("BLT-63", "CAT-76")
async def test_access_narrows_what_the_parent_sees_in_the_list_and_at_dispatch(tmp_path: Path) -> None:
    tools = [says("Look"), says("Peek"), says("Hidden"), says("Change", read_only=False)]
    cast = Cast(child=[{"calls": [call("Look"), call("Peek"), call("Hidden")]}, {"text": "done"}])
    session = {"tools": ToolFilter(deny=("Hidden",))}
    async with stage(tmp_path, cast, tools=tools, session=session, rules=allow("*")) as on:
        await on.ended(await on.spawn("child", tool_access={"policy": "allow_list", "tools": ["Look"]}))
        assert listed(cast, "child") == ["Look"]
        last = cast.seen("child")[-1].messages[-1]
        assert isinstance(last, ToolMessage)
        assert [error_of(result) for result in last.results] == ["", "access_denied", "access_denied"]
        assert [len(tool.calls) for tool in tools] == [1, 0, 0, 0]
        await on.ended(await on.spawn("child", tool_access={"policy": "deny_list", "tools": ["Look"]}))
        assert listed(cast, "child") == ["Change", "Peek", "ReadResult"]
        await on.ended(await on.spawn("child", tool_access={"tools": ["Peek"]}))
        assert listed(cast, "child") == ["Peek"]
        await on.ended(await on.spawn("child", tool_access={"policy": "inherit"}))
        assert listed(cast, "child") == ["Change", "Look", "Peek", "ReadResult"]
        await on.play({"calls": [subagent("child", tools=["Look", "Change"], mode="read-write")]})
        assert listed(cast, "child") == ["Change", "Look"]
        body = await on.one("agent_spawn", prompt="child", tool_access={"policy": "inherit", "tools": ["Peek"]})
        assert "policy inherit takes no tools" in str(body["message"])
        for name in ("Hidden", "Nobody", "Subagent"):
            body = await on.one("agent_spawn", prompt="child", tool_access={"policy": "deny_list", "tools": [name]})
            assert body["error"] == "invalid_arguments"
            assert f"{name!r} is not among the tools" in str(body["message"])
        assert len((await on.one("agent_list"))["agents"]) == 5  # type: ignore[arg-type]  # an object by id


@pytest.mark.req("CAT-76", "BLT-63")
async def test_what_a_child_sees_is_fixed_when_it_starts_and_its_mode_follows_its_parents(tmp_path: Path) -> None:
    cast = Cast(child=[{"calls": [call("Look")]}, {"text": "done"}])
    go = cast.hold("child")
    tools = [says("Look"), says("Change", read_only=False)]
    session = {"tools": ToolFilter(deny=("Change",))}
    async with stage(tmp_path, cast, tools=tools, session=session) as on:
        id_ = await on.spawn("child")
        await cast.reach("child")
        await on.session.set(tools=ToolFilter(), mode="plan")
        go.set()
        await on.ended(id_)
        assert listed(cast, "child") == ["Look", "ReadResult"]
        again = await on.play({"calls": [call("agent_spawn", {"prompt": "child"})]})
        assert error_of(again[0]) == "access_denied"
        await on.session.set(mode="default")
        go = cast.hold("child")
        late = await on.spawn("child")
        await cast.reach("child", 3)
        assert listed(cast, "child") == ["Change", "Look", "ReadResult"]
        await on.session.set(mode="plan")
        go.set()
        await on.ended(late)
        assert listed(cast, "child") == ["Look", "ReadResult"]


class Sometimes(FunctionTool):
    """A tool that reads, unless its argument says that it writes."""

    def read_only_for(self, call: ToolCall) -> bool:
        """See `ReadOnlyPerCall`."""
        return not call.arguments.get("write")


@pytest.mark.req("BLT-67")
async def test_a_read_only_child_sees_and_makes_calls_that_read_alone(tmp_path: Path) -> None:
    async def body(call: ToolCall, env: Environment) -> str:
        return "ok"

    some = Sometimes("Some", body)
    change = says("Change", read_only=False)
    calls = [call("Some"), call("Some", {"write": True}), call("Change")]
    cast = Cast(child=[{"calls": calls}, {"text": "done"}])
    async with stage(tmp_path, cast, tools=[some, change], rules=allow("*")) as on:
        await on.play({"calls": [subagent("child")]})
        assert listed(cast, "child") == ["ReadResult", "Some"]
        last = cast.seen("child")[-1].messages[-1]
        assert isinstance(last, ToolMessage)
        assert [error_of(result) for result in last.results] == ["", "access_denied", "access_denied"]
        assert "this child agent may only read" in last.results[1].content
        await on.play({"calls": [subagent("child", mode="read-write")]})
        last = cast.seen("child")[-1].messages[-1]
        assert isinstance(last, ToolMessage)
        assert [error_of(result) for result in last.results] == ["", "", ""]


@pytest.mark.req("BLT-67", "DSP-10", "DSP-11")
async def test_read_only_children_of_one_answer_work_together_and_one_that_writes_alone(tmp_path: Path) -> None:
    cast = Cast(a=[{"text": "a"}], b=[{"text": "b"}], w=[{"text": "w"}])
    holds = {part: cast.hold(part) for part in "abw"}

    async with stage(tmp_path, cast, rules=allow("*")) as on, anyio.create_task_group() as group:
        results: list[ToolResult] = []

        async def play() -> None:
            results.extend(await on.play({"calls": [subagent("a"), subagent("b"), subagent("w", mode="read-write")]}))

        group.start_soon(play)
        await cast.reach("a")
        await cast.reach("b")
        assert cast.seen("w") == []
        holds["b"].set()
        await anyio.wait_all_tasks_blocked()
        assert cast.seen("w") == []
        holds["a"].set()
        await cast.reach("w")
        holds["w"].set()
    assert [result.content[0] for result in results] == ["a", "b", "w"]


@pytest.mark.req("BLT-69")
@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"fork": True, "agent": "critic"}, "fork: cannot go with agent"),
        ({"fork": True, "model": "m"}, "fork: cannot go with model"),
        ({"fork": True, "resume": "agent_1"}, "fork: cannot go with resume"),
        ({"mode": "read-write", "background": True}, "read-write cannot go with background"),
        ({"resume": "agent_1", "model": "m"}, "resume: cannot go with model"),
        ({"max_turns": -1}, "max_turns: expected 0 or more"),
        ({"agent": "critic"}, "no agent is named 'critic'"),
        ({"model": "nope/x"}, "model: unknown model 'nope/x'"),
        ({"output_schema": {"type": "nope"}}, "output_schema: "),
    ],
)
async def test_what_does_not_go_together_is_refused(tmp_path: Path, args: dict[str, object], told: str) -> None:
    async with stage(tmp_path, Cast(), rules=allow("*")) as on:
        body = await on.one("Subagent", prompt="child", **args)
        assert body["error"] == "invalid_arguments"
        assert told in str(body["message"])
        assert await on.one("agent_list") == {
            "agents": {},
            "running_count": 0,
            "completed_count": 0,
            "failed_count": 0,
            "total_count": 0,
        }


@pytest.mark.req("BLT-73")
async def test_an_id_that_no_child_has_is_told_by_every_tool(tmp_path: Path) -> None:
    async with stage(tmp_path, Cast()) as on:
        for name in ("agent_status", "agent_cancel", "InspectSubagent", "SubagentStatus"):
            body = await on.one(name, agent_id="agent_x")
            assert body == {
                "error": "execution_failed",
                "message": "Tool execution failed: Sub-agent not found: agent_x",
            }
        body = await on.one("Subagent", prompt="child", resume="agent_x")
        assert body["message"] == "Tool execution failed: Sub-agent not found: agent_x"


@pytest.mark.req("BLT-62")
async def test_a_model_that_is_named_is_loaded_and_one_half_of_a_name_belongs_to_the_parents(tmp_path: Path) -> None:
    script = tmp_path / "other.jsonl"
    script.write_text('{"text": "from the script"}\n')
    async with stage(tmp_path, Cast(), rules=allow("*")) as on:
        for args in ({"model": f"scripted:{script}"}, {"provider": "scripted", "model": str(script)}):
            body = await on.one("agent_spawn", prompt="child", **args)
            assert (body["provider"], body["model"]) == ("scripted", str(script))
            assert (await on.ended(str(body["agent_id"])))["output"] == "from the script"
        (result,) = await on.play({"calls": [subagent("child", model=f"scripted:{script}")]})
        assert result.content.startswith("from the script")
        on.cast.says("child", {"text": "from the cast"})
        body = await on.one("agent_spawn", prompt="child", provider="scripted", model="cast")
        assert (await on.ended(str(body["agent_id"])))["output"] == "from the cast"
        body = await on.one("agent_spawn", prompt="child", provider="openai")
        assert "provider: name the model too" in str(body["message"])
        for name in ("agent_spawn", "agent_fork", "Subagent"):
            assert "prompt: is blank" in str((await on.one(name, prompt=" \n"))["message"])


@pytest.mark.req("BLT-62")
async def test_the_system_prompt_is_the_parents_unless_another_is_given(tmp_path: Path) -> None:
    cast = Cast(child=[{"text": "done"}])
    async with stage(tmp_path, cast, session={"system_prompt": "Be kind."}) as on:
        await on.ended(await on.spawn("child"))
        await on.ended(await on.spawn("child", system_prompt="Be brief."))
        assert [request.system for request in cast.seen("child")] == ["Be kind.", "Be brief."]


@pytest.mark.req("BLT-68")
async def test_an_answer_that_must_be_json_is_sent_back_twice_and_then_an_error(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    wrong = [{"text": "four"}, {"text": '{"n": "four"}'}]
    cast = Cast(
        right=[*wrong, {"text": '```json\n{"n": 4}\n```'}, {"text": "never"}],
        never=[*wrong, {"text": "{}"}, {"text": "never"}],
        array=[{"text": "[1]"}],
        tools=[{"calls": [call("Look")]}, {"text": '{"n": 1}'}],
    )
    async with stage(tmp_path, cast, tools=[says("Look")]) as on:
        good, bad, many, used = await on.play(
            {
                "calls": [
                    subagent("right", output_schema=schema),
                    subagent("never", output_schema=schema),
                    subagent("array", output_schema={"type": "array", "items": {"type": "integer"}}),
                    subagent("tools", output_schema=schema),
                ]
            }
        )
        assert good.content == f'{{"n": 4}}\n\nagent_id: {id_of(good)}'
        assert '"type": "integer"' in cast.seen("right")[0].system
        corrections = [request.messages[-1] for request in cast.seen("right")[1:]]
        assert all(isinstance(one, UserMessage) and one.notice for one in corrections)
        assert "it is not JSON" in str(corrections[0])
        assert "n: the value is not of type" in str(corrections[1])
        assert bad.is_error
        assert error_of(bad) == "execution_failed"
        assert "its answer does not fit output_schema: its root: " in bad.content
        assert len(cast.seen("never")) == 3
        assert many.content.startswith("[1]\n")
        assert used.content.startswith('{"n": 1}\n')
        assert len(cast.seen("tools")) == 2


@pytest.mark.req("BLT-72")
async def test_a_transcript_is_shown_in_pages(tmp_path: Path) -> None:
    cast = Cast(child=[{"text": "hm", "calls": [call("Look", {"at": 1})]}] * 3 + [{"text": "found"}])
    async with stage(tmp_path, cast, tools=[says("Look", "a text")]) as on:
        (result,) = await on.play({"calls": [subagent("child")]})
        id_ = id_of(result)

        async def page(**more: object) -> str:
            (shown,) = await on.play({"calls": [call("InspectSubagent", {"agent_id": id_, **more})]})
            return shown.content

        whole = await page()
        assert whole.startswith(
            f"agent-1 ({id_}), completed: messages 1 to 8 of 8.\n\n#1 prompt\nchild\n\n#2 answer\nhm\n"
        )
        assert whole.count('call Look {"at": 1}') == 3
        assert whole.endswith("#8 answer\nfound")
        last = await page(limit=2)
        assert "messages 7 to 8 of 8." in last
        assert last.endswith("Older ones: before=7.")
        assert "messages 5 to 6 of 8." in await page(limit=2, before=7)
        assert "no messages here; it has 8." in await page(before=1)


@pytest.mark.req("BLT-62", "BLT-72")
async def test_an_ended_child_goes_on_with_a_new_prompt_and_what_it_knew(tmp_path: Path) -> None:
    cast = Cast(child=[{"calls": [call("Look")]}, {"text": "first"}], next=[{"text": "second"}])
    tools = [says("Look"), says("Peek"), says("Change", read_only=False)]
    async with stage(tmp_path, cast, tools=tools, rules=allow("*")) as on:
        (one,) = await on.play({"calls": [subagent("child", tools=["Look", "Change"])]})
        (two,) = await on.play({"calls": [subagent("next", resume=id_of(one), mode="read-write")]})
        assert two.content == f"second\n\nagent_id: {id_of(one)}"
        (request,) = cast.seen("next")
        assert [getattr(message, "text", "") for message in request.messages] == ["child", "", "", "first", "next"]
        assert listed(cast, "next") == ["Change", "Look"]
        status = await on.one("agent_status", agent_id=id_of(one))
        assert status["output"] == "second"
        (lacks,) = await on.play({"calls": [subagent("next", resume=id_of(one), tools=["Peek"])]})
        assert error_of(lacks) == "invalid_arguments"
        hold = cast.hold("next")
        (three,) = await on.play({"calls": [subagent("next", resume=id_of(one), background=True)]})
        (busy,) = await on.play({"calls": [subagent("next", resume=id_of(one))]})
        assert "still runs; wait for its end or cancel it" in busy.content
        hold.set()
        await on.ended(id_of(three))


@pytest.mark.req("BLT-56")
async def test_a_child_has_a_task_list_of_its_own(tmp_path: Path) -> None:
    cast = Cast(
        child=[{"calls": [call("task_list")]}, {"calls": [call("task_create", {"subject": "theirs"})]}, {"text": "x"}]
    )
    enable = {"agents", "delegation", "tasks"}
    async with stage(tmp_path, cast, enable=enable, rules=allow("*")) as on:
        await on.one("task_create", subject="mine")
        await on.ended(await on.spawn("child"))
        listed_, created = (request.messages[-1] for request in cast.seen("child")[1:])
        assert isinstance(listed_, ToolMessage)
        assert isinstance(created, ToolMessage)
        assert json.loads(listed_.results[0].content) == []
        assert json.loads(created.results[0].content)["subject"] == "theirs"
        (tasks,) = await on.play({"calls": [call("task_list")]})
        assert [task["subject"] for task in json.loads(tasks.content)] == ["mine"]


@pytest.mark.req("BLT-21", "BLT-62")
async def test_a_child_has_read_nothing_yet_and_a_fork_what_its_parent_has(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    edit = call("Edit", {"path": "a.txt", "old_string": "one", "new_string": "two"})
    cast = Cast(child=[{"calls": [edit]}, {"text": "x"}], fork=[{"calls": [edit]}, {"text": "x"}])
    async with stage(tmp_path, cast, enable={"agents", "files"}, rules=allow("*")) as on:
        await on.play({"calls": [call("Read", {"path": "a.txt"})]})
        await on.ended(await on.spawn("child"))
        assert (tmp_path / "a.txt").read_text() == "one\n"
        body = await on.one("agent_fork", prompt="fork")
        await on.ended(str(body["agent_id"]))
        assert (tmp_path / "a.txt").read_text() == "two\n"


@pytest.mark.req("BLT-09", "CAT-95")
async def test_the_switch_enables_the_background_agents_alone_and_without_files_they_are_there_too(
    tmp_path: Path,
) -> None:
    cast = Cast(child=[{"text": "x"}])
    async with stage(tmp_path, cast, enable=(), enable_subagents=True, session={"profile": "no-fs"}) as on:
        names = [spec.name for spec in on.session.specs()]
        assert names == ["ReadResult", "agent_cancel", "agent_fork", "agent_list", "agent_spawn", "agent_status"]
        assert (await on.ended(await on.spawn("child")))["output"] == "x"
