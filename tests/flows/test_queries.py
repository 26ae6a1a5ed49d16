"""CallMcpWithQuery over whole turns: who is called, under whose rules, and what comes back."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

import hilt
from hilt.core.hook import HookEvent
from hilt.core.tool import ToolResult
from hilt.ports.permission import Verdict
from hilt.ports.query import JsonQuery
from tests.app.house import house, names
from tests.flows.kit import Answering, Recorder, allow, call, deny
from tests.flows.results_kit import ROWS, calls_received, content, far, query, remote_tool, server, text


def error(result: ToolResult) -> dict[str, object]:
    assert result.is_error
    body: dict[str, object] = json.loads(result.content)
    return body


def named(result: ToolResult, tool: str) -> dict[str, object]:
    """Return the arguments of the call of a tool that the error's message names."""
    message = str(error(result)["message"])
    found: dict[str, object]
    found, _ = json.JSONDecoder().raw_decode(message, message.index(f"{tool} {{") + len(tool) + 1)
    return found


@pytest.mark.req("RES-43", "RES-49")
async def test_a_query_returns_the_filtered_json_alone_and_the_record_names_both(tmp_path: Path) -> None:
    recorder = Recorder()
    async with far(tmp_path, {"list": content(text(ROWS))}, recorder=recorder) as home:
        session = await home.app.sessions.create()
        own, full = await home.turn(
            session,
            query("list", ".[3] | {id, name}", args={"limit": "7"}),
            query("mcp__far__list", "map(.id) | add"),
        )
    assert (own.content, own.is_error) == ('{"id":3,"name":"row 3"}', False)
    assert full.content == str(sum(range(1000)))
    received = calls_received(tmp_path)
    assert [params["name"] for params in received] == ["list", "list"]
    assert {"limit": 7} in [params["arguments"] for params in received]
    assert [record.call.name for record in recorder.records] == ["CallMcpWithQuery"] * 2
    assert [record.detail["targets"] for record in recorder.records] == [["mcp__far__list"]] * 2


@pytest.mark.req("RES-44")
async def test_the_tool_is_there_with_the_first_remote_tool_and_listed_in_plan_mode(tmp_path: Path) -> None:
    async with house(tmp_path, enable={"files"}, rules=allow("*")) as home:
        session = await home.app.sessions.create()
        assert "CallMcpWithQuery" not in names(session)
        own = await home.app.sessions.create(mcp_servers=[server(tmp_path, {"a": content(text([1]))}, name="own")])
        assert "CallMcpWithQuery" in names(own)
        (result,) = await home.turn(own, query("a", ".[0]", server="own"))
        assert result.content == "1"
    async with far(tmp_path, {"list": content(text([1]))}) as home:
        for options in ({}, {"mode": "plan"}, {"profile": "no-fs"}):
            session = await home.app.sessions.create(**options)  # type: ignore[arg-type]  # keywords of create
            assert "CallMcpWithQuery" in names(session)


@pytest.mark.req("RES-44", "MCP-119")
async def test_a_session_with_servers_of_its_own_queries_those_and_the_shared_ones(tmp_path: Path) -> None:
    async with far(tmp_path, {"list": content(text([7]))}) as home:
        own = server(tmp_path, {"mine": content(text([8]))}, name="own")
        session = await home.app.sessions.create(mcp_servers=[own])
        results = await home.turn(session, query("list", ".[0]"), query("mine", ".[0]", server="own"))
        assert [result.content for result in results] == ["7", "8"]
        other = await home.app.sessions.create()
        (refused,) = await home.turn(other, query("mine", ".", server="own"))
    assert "no MCP server is named 'own'; there are far" in str(error(refused)["message"])


@pytest.mark.req("RES-45")
async def test_queries_of_reads_run_together(tmp_path: Path) -> None:
    inside = 0
    both = anyio.Event()

    class Meeting:
        """Lets no filter end before two are there."""

        async def check(self, program: str) -> None:
            nonlocal inside
            inside += 1
            if inside == 2:
                both.set()
            with anyio.fail_after(5):
                await both.wait()

        async def run(self, program: str, text: str) -> str:
            return text

    async with far(tmp_path, {"list": content(text([1]))}, services={JsonQuery: Meeting()}) as home:
        session = await home.app.sessions.create()
        results = await home.turn(session, query("list", "."), query("list", "."))
    assert [result.content for result in results] == ["[1]", "[1]"]


@pytest.mark.req("RES-46", "CAT-62")
async def test_a_query_of_a_tool_that_changes_things_is_a_change(tmp_path: Path) -> None:
    tools = [remote_tool("add", read_only=False)]
    async with far(tmp_path, {"add": content(text([1]))}, tools, rules=allow("*")) as home:
        plan = await home.app.sessions.create(mode="plan")
        (refused,) = await home.turn(plan, query("add", "."))
        assert error(refused)["error"] == "access_denied"
        assert calls_received(tmp_path) == []
        session = await home.app.sessions.create()
        await home.turn(session, query("add", "."), query("add", "."))
    kinds = [event.body.kind for event in home.events]
    starts = [kind for kind in kinds if kind.startswith("tool.")][2:]
    assert starts == ["tool.call", "tool.call", *["tool.start", "tool.end", "tool.result"] * 2]


@pytest.mark.req("RES-47", "PRM-15")
@pytest.mark.parametrize("rule", ["mcp__far__list", "mcp__far__list(city=Oslo)", "CallMcpWithQuery", "mcp__far__*"])
async def test_a_rule_against_either_name_stops_the_query(tmp_path: Path, rule: str) -> None:
    async with far(tmp_path, {"list": content(text([1]))}, rules=[*allow("*"), *deny(rule)]) as home:
        session = await home.app.sessions.create()
        (refused,) = await home.turn(session, query("list", ".", args={"city": "Oslo"}))
    assert error(refused)["error"] == "access_denied"
    assert calls_received(tmp_path) == []


@pytest.mark.req("RES-47")
async def test_a_grant_is_remembered_for_the_target(tmp_path: Path) -> None:
    approver = Answering([Verdict(kind="allow_always"), Verdict(kind="deny")])
    tools = [remote_tool("add", read_only=False)]
    async with far(tmp_path, {"add": content(text([1]))}, tools, rules=[], approver=approver) as home:
        session = await home.app.sessions.create()
        await home.turn(session, query("add", ".", args={"city": "Oslo"}))
        again, direct, other = await home.turn(
            session,
            query("add", "length", args={"city": "Oslo"}),
            call("mcp__far__add", {"city": "Oslo"}),
            query("add", ".", args={"city": "Bergen"}),
        )
    assert (again.content, direct.content) == ("1", "[1]")
    assert error(other)["error"] == "access_denied"
    assert len(approver.asked) == 2


@pytest.mark.req("RES-48")
async def test_hooks_of_either_name_run_and_what_they_rewrite_is_decided_again(tmp_path: Path) -> None:
    seen: list[str] = []

    @hilt.hook(HookEvent.PRE_TOOL_USE, match="mcp__far__list")
    def of_target(given: hilt.HookInput) -> hilt.HookAnswer | None:
        seen.append(given.tool_name)
        arguments = dict(given.tool_input or {})
        if arguments["jq_filter"] != "rewrite":
            return None
        return hilt.HookAnswer(updated_input={**arguments, "jq_filter": ".", "args": {"city": "Rome"}})

    @hilt.hook(HookEvent.PRE_TOOL_USE, match="CallMcpWithQuery")
    def of_wrapper(given: hilt.HookInput) -> None:
        seen.append(given.tool_name)

    rules = [*allow("*"), *deny("mcp__far__list(city=Rome)")]
    async with far(tmp_path, {"list": content(text([1]))}, rules=rules, hooks=[of_target, of_wrapper]) as home:
        session = await home.app.sessions.create()
        fine, refused = await home.turn(session, query("list", "."), query("list", "rewrite"))
    assert fine.content == "[1]"
    assert error(refused)["error"] == "access_denied"
    assert seen == ["CallMcpWithQuery"] * 4
    assert len(calls_received(tmp_path)) == 1


@pytest.mark.req("RES-49")
async def test_filter_schema_and_deadline_of_the_target_hold(tmp_path: Path) -> None:
    slow: dict[str, Mapping[str, object]] = {
        "list": content(text([1])),
        "slow": {"sleep": 30},
        "hidden": content(text([1])),
    }
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = [{**remote_tool("list"), "inputSchema": schema}]
    async with far(tmp_path, slow, tools) as home:
        session = await home.app.sessions.create(tools=hilt.ToolFilter(deny=("mcp__far__hidden",)))
        lacking, hidden, unknown = await home.turn(
            session, query("list", "."), query("hidden", "."), query("nosuch", ".")
        )
    assert error(lacking)["error"] == "invalid_arguments"
    assert "city" in lacking.content
    assert error(hidden)["error"] == "access_denied"
    assert "has no tool 'nosuch'; it has hidden, list, slow" in str(error(unknown)["message"])
    assert calls_received(tmp_path) == []


@pytest.mark.req("RES-50")
@pytest.mark.parametrize("given", [None, {}, '{"city": "Oslo"}', {"city": "Oslo"}])
async def test_arguments_come_as_an_object_as_text_or_not_at_all(tmp_path: Path, given: object) -> None:
    async with far(tmp_path, {"list": content(text([1]))}) as home:
        session = await home.app.sessions.create()
        (result,) = await home.turn(session, query("list", ".", args=given))
    assert result.content == "[1]"
    (received,) = calls_received(tmp_path)
    assert received["arguments"] == ({"city": "Oslo"} if given else {})


@pytest.mark.req("RES-50")
@pytest.mark.parametrize("given", ["[1]", "Oslo", 7, [1], True])
async def test_other_arguments_are_refused_with_an_example(tmp_path: Path, given: object) -> None:
    async with far(tmp_path, {"list": content(text([1]))}) as home:
        session = await home.app.sessions.create()
        (result,) = await home.turn(session, query("list", ".", args=given))
    assert error(result)["error"] == "invalid_arguments"
    assert re.search(r"such as|[Ee]xample", result.content)
    assert calls_received(tmp_path) == []


@pytest.mark.req("RES-51")
async def test_a_filter_that_does_not_compile_calls_nobody(tmp_path: Path) -> None:
    async with far(tmp_path, {"list": content(text([1]))}) as home:
        session = await home.app.sessions.create()
        (result,) = await home.turn(session, query("list", ".["))
    assert error(result)["error"] == "invalid_arguments"
    assert "The tool was not called" in result.content
    assert calls_received(tmp_path) == []


@pytest.mark.req("RES-52")
async def test_what_is_filtered_is_the_structured_content_else_the_first_json_text(tmp_path: Path) -> None:
    answers: dict[str, Mapping[str, object]] = {
        "both": content(text({"from": "text"}), structuredContent={"from": "structure"}),
        "second": content(text("no json"), text({"from": "second"}), text({"from": "third"})),
        "scalar": content(text("42")),
        "none": content(text("plain"), {"type": "image", "mimeType": "image/png", "data": "AAAA"}),
        "bad": content(text({"from": "error"}), isError=True),
        "gone": {"error": {"code": -32000, "message": "not today"}},
    }
    async with far(tmp_path, answers) as home:
        session = await home.app.sessions.create()
        both, second, scalar, none, bad, gone = await home.turn(session, *[query(name, ".from?") for name in answers])
        assert (both.content, second.content) == ('"structure"', '"second"')
        assert scalar.content == "null"
        assert "holds no JSON" in str(error(none)["message"])
        handle = re.search(r'"handle": "([^"]+)"', json.loads(none.content)["message"])
        assert handle is not None
        (kept,) = await home.turn(session, call("ReadResult", {"handle": handle[1]}))
        assert "plain" in kept.content
    assert (bad.content, bad.is_error) == ('{"from": "error"}', True)
    assert gone.is_error
    assert "not today" in gone.content


@pytest.mark.req("RES-57")
async def test_whole_numbers_of_any_size_pass_a_query_unchanged(tmp_path: Path) -> None:
    big = 12345678901234567890
    answers = {"text": content(text({"n": big})), "value": content(structuredContent={"n": big})}
    async with far(tmp_path, answers) as home:
        session = await home.app.sessions.create()
        results = await home.turn(session, query("text", ".n"), query("value", "{n, m: [.n]}"))
    assert [result.content for result in results] == [str(big), f'{{"n":{big},"m":[{big}]}}']


@pytest.mark.req("RES-58")
async def test_a_filtered_answer_over_the_cap_fails_closed_too(tmp_path: Path) -> None:
    async with far(tmp_path, {"list": content(text(ROWS))}) as home:
        session = await home.app.sessions.create()
        (result,) = await home.turn(session, query("list", "."))
        told = error(result)
        assert told["error"] == "result_too_large"
        assert isinstance(told["data"], dict)
        assert told["data"]["outline"][0] == "1000 items"
        assert "row 1" not in result.content
        assert "by its jq_filter" in str(told["message"])
        (kept,) = await home.turn(session, {"name": "ReadResult", "args": named(result, "ReadResult")})
        assert len(json.loads(kept.content)) == 10


@pytest.mark.req("RES-59")
async def test_a_filter_that_fails_after_the_call_keeps_the_answer(tmp_path: Path) -> None:
    async with far(tmp_path, {"list": content(text({"a": [1, 2]}))}) as home:
        session = await home.app.sessions.create()
        (result,) = await home.turn(session, query("list", ".a.b"))
        message = str(error(result)["message"])
        assert "the tool was called, but jq_filter failed" in message
        handle = re.search(r'"handle": "([^"]+)"', message)
        assert handle is not None
        (kept,) = await home.turn(session, call("ReadResult", {"handle": handle[1], "jq_filter": ".a[1]"}))
    assert kept.content == "2"
    assert len(calls_received(tmp_path)) == 1


@pytest.mark.req("RES-60")
async def test_a_query_works_where_nothing_can_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "shut"
    folder.mkdir()
    entry = server(tmp_path, {"list": content(text(ROWS))})
    async with house(folder, mcp_servers=[entry], rules=allow("*")) as home:
        session = await home.app.sessions.create()
        folder.chmod(0o500)
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.suffix != ".log"}
        (result,) = await home.turn(session, query("list", "length"))
        after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.suffix != ".log"}
        folder.chmod(0o700)
    assert result.content == "1000"
    assert before == after


@pytest.mark.req("RES-54")
async def test_while_a_filter_runs_away_other_calls_go_on(tmp_path: Path) -> None:
    took: list[float] = []
    filtered = anyio.Event()

    async with far(tmp_path, {"list": content(text([1]))}) as home:
        runaway = await home.app.sessions.create()
        other = await home.app.sessions.create()

        async def endless() -> None:
            result = await runaway.call_tool(
                "CallMcpWithQuery", json.dumps({"server": "far", "tool": "list", "jq_filter": "last(range(infinite))"})
            )
            assert "limit of 5 s" in result.content
            filtered.set()

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(endless)
                while not filtered.is_set():
                    began = time.perf_counter()
                    result = await other.call_tool("mcp__far__list", "{}")
                    took.append(time.perf_counter() - began)
                    assert result.content == "[1]"
                    await anyio.sleep(0.02)
    took.sort()
    assert len(took) > 5
    assert took[len(took) // 2] < 0.1


@pytest.mark.req("RES-49", "CAT-25")
async def test_the_deadline_of_the_target_ends_a_query(tmp_path: Path) -> None:
    entry = replace(server(tmp_path, {"slow": {"sleep": 5}}), call_timeout_s=0.3)
    async with house(tmp_path, mcp_servers=[entry], rules=allow("*")) as home:
        session = await home.app.sessions.create()
        with anyio.fail_after(10):
            (result,) = await home.turn(session, query("slow", "."))
    assert error(result)["error"] == "timeout"
    assert "after 300ms" in result.content
