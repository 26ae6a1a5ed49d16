"""Results over whole turns: JSON that is withheld, and how a model gets at it."""

import gc
import json
import re
import time
from pathlib import Path

import anyio
import pytest

import hilt
from hilt.core.hook import HookEvent, ResultRewrite
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.tool import Environment
from tests.app.house import house
from tests.flows.kit import allow, call
from tests.flows.results_kit import ROWS, calls_received, content, far, remote_tool, text

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
        if not isinstance(told["data"], dict) or "outline" not in told["data"]:
            assert "No JSON of it could be read" in str(told["message"])
            return
        wrapped = named(result, "CallMcpWithQuery")
        assert (wrapped["server"], wrapped["tool"], wrapped["args"]) == ("far", "list", {"city": "Oslo"})
        data = told["data"]
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
            asked = {"handle": handle, "offset": offset, "limit": 24_000}
            (page,) = await home.turn(session, call("ReadResult", asked))
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
    assert error(found[2])["error"] == "result_too_large"
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

    longest, took = 0.0, 0.0

    async def ticking() -> None:
        nonlocal longest
        last = time.perf_counter()
        while True:
            await anyio.sleep(0.005)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    gc.freeze()  # what the test run itself keeps alive is not to be walked over by the collector
    async with house(tmp_path, tools=[Huge()]) as home:
        session = await home.app.sessions.create()
        for _ in range(4):  # other work on the machine may hold up any single try
            longest = 0.0
            async with anyio.create_task_group() as group:
                group.start_soon(ticking)
                began = time.perf_counter()
                result = await session.call_tool("Huge", "{}")
                took = time.perf_counter() - began
                group.cancel_scope.cancel()
            if took < 2.0 and longest < 0.5:
                break
    gc.unfreeze()
    told = error(result)
    assert told["error"] == "result_too_large"
    assert isinstance(told["data"], dict)
    assert told["data"]["outline"] == [f"{len(value)} items", {"id": "number", "name": "string", "note": "string"}]
    assert took < 2.0
    assert longest < 0.5


@pytest.mark.req("HOK-05", "RES-28", "RES-35")
@pytest.mark.parametrize("form", ["text", "structure"])
async def test_what_a_hook_took_out_of_the_text_is_not_to_be_had_from_the_parts(tmp_path: Path, form: str) -> None:
    secrets = ["s3cret"] * 5_000
    step = content(text(secrets)) if form == "text" else content(structuredContent=secrets)

    @hilt.hook(HookEvent.POST_TOOL_USE, match="mcp__*")
    def mask(given: hilt.HookInput) -> hilt.HookAnswer:
        assert given.tool_response is not None
        masked = "about " + given.tool_response.content.replace("s3cret", "masked")
        return hilt.HookAnswer(updated_result=ResultRewrite(content=masked))

    async with far(tmp_path, {"list": step}, hooks=[mask]) as home:
        session = await home.app.sessions.create()
        (result,) = await home.turn(session, call("mcp__far__list"))
        handle = re.search(r'\\?"handle\\?": \\?"(r1-[0-9a-f]+)', result.content)
        assert handle is not None
        paged, filtered = await home.turn(
            session,
            call("ReadResult", {"handle": handle[1], "limit": 24_000}),
            call("ReadResult", {"handle": handle[1], "jq_filter": ".[0]"}),
        )
    assert "s3cret" not in result.content
    assert "masked" in paged.content
    assert "s3cret" not in paged.content
    assert error(filtered)["error"] == "invalid_arguments"
