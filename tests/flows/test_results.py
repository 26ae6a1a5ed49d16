"""Results over whole turns: JSON that is withheld, how a model gets at it, and filters over remote calls."""

import json
import os
import re
import time
from pathlib import Path

import anyio
import pytest

import hilt
from hilt.core.event import ToolSettled
from hilt.core.hook import HookEvent
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.permission import Verdict
from hilt.ports.tool import Environment
from tests.app.house import House, house, names
from tests.flows.kit import Answering, Recorder, allow, call, deny
from tests.flows.results_kit import ROWS, calls_received, content, far, query, remote_tool, server, text

CAP = 25_000


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


# ---------------------------------------------------------------- structured results fail closed


@pytest.mark.req("RES-32", "RES-33", "RES-34", "RES-36", "DSP-66")
@pytest.mark.parametrize(
    "step",
    [
        content(text(ROWS)),
        content(text(" \n" + json.dumps(ROWS, indent=1))),
        content(structuredContent={"rows": ROWS}),
        content(text(ROWS), structuredContent=ROWS),
        content(text("Here is what was found:"), text(ROWS)),
        content(text("head"), {"type": "resource", "resource": {"uri": "a:b", "text": json.dumps(ROWS)}}),
        content({"type": "resource", "resource": {"uri": "a:b", "mimeType": "application/json", "text": "x" * 40_000}}),
        content(
            {"type": "resource", "resource": {"uri": "a:b", "mimeType": "application/vnd.x+json", "text": "1" * 40_000}}
        ),
    ],
)
async def test_json_over_the_cap_is_withheld_whole_and_outlined(tmp_path: Path, step: dict[str, object]) -> None:
    async with far(tmp_path, {"list": step}, rules=allow("*")) as home:
        session = await home.app.sessions.create()
        (result,) = await home.turn(session, call("mcp__far__list", {"city": "Oslo"}))
        told = error(result)
        assert told["error"] == "result_too_large"
        assert len(result.content.encode()) < 8_000
        assert result.parts == ()
        assert not re.search(r"row \d|xxxx|1111", result.content)
        assert "by its limit" in str(told["message"])
        wrapped = named(result, "CallMcpWithQuery")
        assert (wrapped["server"], wrapped["tool"], wrapped["args"]) == ("far", "list", {"city": "Oslo"})
        data = told["data"]
        assert isinstance(data, dict)
        if "outline" not in data:
            assert "No JSON of it could be read" in str(told["message"])
            return
        inner = data["outline"]["rows"] if isinstance(data["outline"], dict) else data["outline"]
        assert inner == ["1000 items", {"id": "number", "name": "string", "note": "string"}]
        shown, kept = await home.turn(
            session,
            {"name": "CallMcpWithQuery", "args": wrapped},
            {"name": "ReadResult", "args": named(result, "ReadResult")},
        )
        expected = [{"id": row["id"], "name": row["name"], "note": row["note"]} for row in ROWS[:10]]
        assert json.loads(shown.content) == json.loads(kept.content) == expected


@pytest.mark.req("RES-32")
async def test_a_tool_that_promised_structure_fails_closed_whatever_it_sends(tmp_path: Path) -> None:
    promised = remote_tool("list", outputSchema={"type": "object"})
    async with far(tmp_path, {"list": content(text("word " * 8_000))}, [promised]) as home:
        session = await home.app.sessions.create()
        (result,) = await home.turn(session, call("mcp__far__list"))
    assert error(result)["error"] == "result_too_large"
    assert "word word" not in result.content


@pytest.mark.req("RES-38")
async def test_json_within_the_cap_reaches_the_model_as_the_server_wrote_it(tmp_path: Path) -> None:
    written = '{ "b" : 1,\n\t"a":[ 1.50, 12345678901234567890 ] }'
    near = json.dumps([{"n": "y" * 90}] * 240)
    steps = {"own": content(text(written), structuredContent=json.loads(written)), "near": content(text(near))}
    async with far(tmp_path, steps) as home:
        session = await home.app.sessions.create()
        own, near_ = await home.turn(session, call("mcp__far__own"), call("mcp__far__near"))
    assert (own.content, own.is_error) == (written, False)
    assert near_.content == near
    assert 24_000 < len(near) <= CAP


@pytest.mark.req("RES-20", "RES-30")
async def test_an_error_of_the_server_is_cut_as_text_also_when_it_is_json(tmp_path: Path) -> None:
    step = content(text({"error": "e" * 40_000}), isError=True)
    async with far(tmp_path, {"list": step}) as home:
        session = await home.app.sessions.create()
        (result,) = await home.turn(session, call("mcp__far__list"))
    assert result.is_error
    assert result.content.startswith('{"error": "eeee')
    assert "bytes are missing here" in result.content
    assert len(result.content.encode()) <= CAP


@pytest.mark.req("RES-31")
async def test_text_tools_of_the_host_are_text_and_their_structured_parts_are_not(tmp_path: Path) -> None:
    (tmp_path / "big.json").write_text(json.dumps(ROWS, indent=0))

    @hilt.tool(read_only=True)
    def as_text() -> str:
        """Give JSON as text."""
        return json.dumps(ROWS)

    @hilt.tool(read_only=True)
    def as_value(limit: int = 1000) -> list[dict[str, object]]:
        """Give a value."""
        return [dict(row) for row in ROWS[:limit]]

    async with house(tmp_path, tools=[as_text, as_value], enable={"files"}) as home:
        session = await home.app.sessions.create()
        read, plain, value = await home.turn(
            session, call("Read", {"path": "big.json"}), call("as_text"), call("as_value")
        )
        assert not read.is_error
        assert not plain.is_error
        assert "bytes are missing here" in plain.content
        told = error(value)
        assert told["error"] == "result_too_large"
        assert "call as_value with less asked for by its limit" in str(told["message"])
        assert "CallMcpWithQuery" not in value.content
        (kept,) = await home.turn(session, {"name": "ReadResult", "args": named(value, "ReadResult")})
        assert json.loads(kept.content)[0] == {"id": 0, "name": "row 0", "note": "x" * 40}


@pytest.mark.req("RES-35")
async def test_a_call_that_changed_something_is_not_to_be_made_again(tmp_path: Path) -> None:
    tools = [remote_tool("add", read_only=False)]
    async with far(tmp_path, {"add": content(text(ROWS))}, tools, rules=allow("*")) as home:
        session = await home.app.sessions.create()
        (result,) = await home.turn(session, call("mcp__far__add"))
        message = str(error(result)["message"])
        assert "The call was carried out" in message
        assert message.index("(1) ReadResult") < message.index("CallMcpWithQuery")
        (kept,) = await home.turn(session, {"name": "ReadResult", "args": named(result, "ReadResult")})
        assert len(json.loads(kept.content)) == 10
    assert len(calls_received(tmp_path)) == 1


@pytest.mark.req("RES-39", "RES-40")
async def test_a_withheld_result_can_be_paged_and_filtered_without_the_server(tmp_path: Path) -> None:
    sent = json.dumps(ROWS)
    async with far(tmp_path, {"list": content(text(sent))}) as home:
        session = await home.app.sessions.create()
        (result,) = await home.turn(session, call("mcp__far__list"))
        handle = named(result, "ReadResult")["handle"]
        pages, offset = "", 0
        while offset < len(sent):
            (page,) = await home.turn(session, call("ReadResult", {"handle": handle, "offset": offset, "limit": 24_000}))
            head, _, body = page.content.partition("\n")
            pages += body
            offset += len(body)
            assert f"of {len(sent)}" in head
        assert pages == sent
        found = await home.turn(
            session,
            call("ReadResult", {"handle": handle, "jq_filter": "length"}),
            call("ReadResult", {"handle": handle, "jq_filter": ".["}),
            call("ReadResult", {"handle": handle, "jq_filter": "."}),
            call("ReadResult", {"handle": handle, "jq_filter": "map(.id)"}),
        )
    assert found[0].content == "1000"
    assert "does not compile" in str(error(found[1])["message"])
    assert error(found[2])["error"] == "execution_failed"
    assert json.loads(found[3].content) == list(range(1000))
    assert len(calls_received(tmp_path)) == 1


@pytest.mark.req("RES-07")
async def test_hooks_see_what_the_model_is_not_shown(tmp_path: Path) -> None:
    seen: list[ToolResult] = []

    @hilt.hook(HookEvent.POST_TOOL_USE)
    def look(given: hilt.HookInput) -> None:
        assert given.tool_response is not None
        seen.append(given.tool_response)

    async with far(tmp_path, {"list": content(text("short"), structuredContent=ROWS)}, hooks=[look]) as home:
        session = await home.app.sessions.create()
        (result,) = await home.turn(session, call("mcp__far__list"))
    assert error(result)["error"] == "result_too_large"
    assert [part.kind for part in seen[0].parts] == ["text", "structured"]
    assert "row 999" in seen[0].content


# ---------------------------------------------------------------- CallMcpWithQuery


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
    async with house(tmp_path, enable={"files"}) as home:
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

    async with far(tmp_path, {"list": content(text([1]))}, services={hilt.ports.query.JsonQuery: Meeting()}) as home:
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
    starts = [
        event.body.kind for event in home.events if event.session_id == session.id and event.body.kind.startswith("tool.")
    ]
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
    async with far(tmp_path, {"add": content(text([1]))}, tools, approver=approver) as home:
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
    slow = {"list": content(text([1])), "slow": {"sleep": 30}, "hidden": content(text([1]))}
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = [{**remote_tool("list"), "inputSchema": schema}]
    config = hilt.app.config.Config()
    async with far(tmp_path, slow, tools) as home:
        assert config is not None
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
@pytest.mark.parametrize("given", [None, {}, '{"city": "Oslo"}', {"city": "Oslo"}, "{city: 'Oslo'}"])
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
    answers = {
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
    assert [result.content for result in results] == [str(big), f'{{"m":[{big}],"n":{big}}}']


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
    async with house(folder, mcp_servers=[entry]) as home:
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


# ---------------------------------------------------------------- promises of a tool's own schema


@pytest.mark.req("RES-22")
async def test_content_that_breaks_its_schema_reaches_the_model_with_a_note(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    promise = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    long = {"type": "object", "properties": {"k" * 900: {"type": "integer"}}}
    tools = [
        remote_tool("keeps", outputSchema=promise),
        remote_tool("breaks", outputSchema=promise),
        remote_tool("lacks", outputSchema=promise),
        remote_tool("long", outputSchema=long),
        remote_tool("broken", outputSchema={"type": "object", "properties": {"n": {"$ref": "#/nowhere"}}}),
        remote_tool("fails", outputSchema=promise),
    ]
    answers = {
        "keeps": content(structuredContent={"n": 1}),
        "breaks": content(structuredContent={"n": "one"}),
        "lacks": content(structuredContent={}),
        "long": content(structuredContent={"k" * 900: "x"}),
        "broken": content(structuredContent={"n": 1}),
        "fails": content(structuredContent={"n": "one"}, isError=True),
    }
    async with far(tmp_path, answers, tools) as home:
        session = await home.app.sessions.create()
        found = await home.turn(session, *[call(f"mcp__far__{name}") for name in answers])
    keeps, breaks, lacks, long_, broken, fails = found
    assert [result.is_error for result in found] == [False] * 5 + [True]
    assert (keeps.content, broken.content, fails.content) == ('{"n": 1}', '{"n": 1}', '{"n": "one"}')
    value, _, note = breaks.content.partition("\n")
    assert value == '{"n": "one"}'
    assert note.startswith("[note: the structured content breaks the tool's output schema at ")
    assert "n: " in note
    assert "its root" in lacks.content
    assert len(long_.content.partition("\n")[2].encode()) <= 500
    assert "mcp_output_schema server=far tool='broken'" in caplog.text
    assert [part.kind for part in breaks.parts] == ["structured"]


# ---------------------------------------------------------------- size and time


@pytest.mark.req("RES-37")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("form", ["text", "structure"])
async def test_20_mib_of_json_are_refused_and_hold_nobody_up(tmp_path: Path, form: str) -> None:
    rows = [dict(row) for row in ROWS[:1]] * 250_000
    sent = json.dumps(rows)[: 20 * 1024 * 1024 - 2].rpartition("},")[0] + "}]"
    value = json.loads(sent)

    class Huge:
        """Gives the rows at once, as a server's tool."""

        spec = hilt.ToolSpec("Huge", "Gives rows.")
        read_only = True
        server = "far"
        name_on_server = "huge"

        async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
            if form == "text":
                return ToolResult.text(call.id, sent)
            return ToolResult.with_parts(call.id, sent, [hilt.StructuredPart(value=value)])

    longest, last = 0.0, time.perf_counter()
    done = anyio.Event()

    async def ticking() -> None:
        nonlocal longest, last
        while not done.is_set():
            await anyio.sleep(0.005)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    async with house(tmp_path, tools=[Huge()]) as home:
        session = await home.app.sessions.create()
        async with anyio.create_task_group() as group:
            group.start_soon(ticking)
            began = time.perf_counter()
            result = await session.call_tool("Huge", "{}")
            took = time.perf_counter() - began
            done.set()
    told = error(result)
    assert told["error"] == "result_too_large"
    assert isinstance(told["data"], dict)
    assert told["data"]["outline"] == [f"{len(value)} items", {"id": "number", "name": "string", "note": "string"}]
    assert took < 2.0
    assert longest < 0.5


def test_the_process_that_ran_this_is_not_root_everywhere() -> None:
    assert os.name == "posix"


async def settled(home: House) -> list[ToolSettled]:
    return [event.body for event in home.events if isinstance(event.body, ToolSettled)]
