import json

import anyio
import anyio.abc
import pytest

from hilt.adapters.mcp_wire import DEPTH_MAX, parse_object
from hilt.core.mcp_text import TOO_DEEP
from hilt.ports.mcp import Fault, McpFault
from tests.mcp_servers.kit import call, dialled, http_spec, mounted
from tests.mcp_servers.raw_http import Received, http, raw_server, result, says, stream_head

TEXT = {"content": [{"type": "text", "text": "ok"}]}
DISCOVERED = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"}


def refusal(request: Received, *revisions: str, has_id: bool = True) -> bytes:
    error = {"code": -32022, "message": "Unsupported protocol version", "data": {"supported": list(revisions)}}
    body = {"jsonrpc": "2.0", "id": request.rpc["id"] if has_id else None, "error": error}
    return http(json.dumps(body).encode(), status="400 Bad Request")


@pytest.mark.req("MCP-41")
async def test_a_refused_probe_that_names_a_revision_we_speak_is_sent_once_more_with_it() -> None:
    asked: list[Received] = []

    async def discover(request: Received, stream: anyio.abc.SocketStream) -> None:
        asked.append(request)
        first = len(asked) == 1
        await stream.send(refusal(request, "2027-01-01", "2026-07-28") if first else http(result(request, DISCOVERED)))

    async with raw_server(server__discover=discover, tools__call=says(TEXT)) as server:
        async with mounted(http_spec(server.url)) as manager:
            assert manager.reports()[0].facts.era == "stateless"
            assert (await call(manager, "t")).content == "ok"
        assert "initialize" not in server.methods()
    assert len(asked) == 2


@pytest.mark.req("MCP-41", "MCP-43")
async def test_a_server_that_missed_the_probe_and_refuses_the_handshake_is_probed_again() -> None:
    asked: list[Received] = []

    async def discover(request: Received, stream: anyio.abc.SocketStream) -> None:
        asked.append(request)
        if len(asked) == 1:
            await anyio.sleep_forever()
        await stream.send(http(result(request, DISCOVERED)))

    async def initialize(request: Received, stream: anyio.abc.SocketStream) -> None:
        await stream.send(refusal(request, "2026-07-28"))

    async with (
        raw_server(server__discover=discover, initialize=initialize, tools__call=says(TEXT)) as server,
        mounted(http_spec(server.url, connect_timeout_s=1.0)) as manager,
    ):
        assert manager.reports()[0].facts.era == "stateless"
        assert (await call(manager, "t")).content == "ok"


@pytest.mark.req("MCP-44", "MCP-82")
async def test_a_stateless_server_that_came_back_in_the_other_era_is_probed_by_the_next_call() -> None:
    async with raw_server(server__discover=says(DISCOVERED), tools__call=says(TEXT)) as server:
        async with mounted(http_spec(server.url)) as manager:

            async def no_session(request: Received, stream: anyio.abc.SocketStream) -> None:
                body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no valid session id"}}
                await stream.send(http(json.dumps(body).encode(), status="400 Bad Request"))

            async def called(request: Received, stream: anyio.abc.SocketStream) -> None:
                if "mcp-session-id" not in request.headers:
                    await no_session(request, stream)
                else:
                    await stream.send(http(result(request, TEXT)))

            server.answers["tools/call"], server.answers["server/discover"] = called, no_session
            first = await call(manager, "t")
            assert first.is_error
            assert "the next call opens a new one" in first.content
            assert (await call(manager, "t")).content == "ok"
        assert server.methods().count("initialize") == 1


@pytest.mark.req("MCP-72", "MCP-76")
async def test_a_flood_of_requests_is_answered_to_the_last_and_holds_no_answer_up() -> None:
    methods = ("ping", "sampling/createMessage", "what/ever", "elicitation/create")
    answers: list[dict[str, object]] = []
    done = anyio.Event()

    async def flood(request: Received, stream: anyio.abc.SocketStream) -> None:
        asked = [{"jsonrpc": "2.0", "id": f"s{n}", "method": methods[n % 4], "params": {}} for n in range(400)]
        await stream.send(stream_head() + b"".join(b"data: " + json.dumps(a).encode() + b"\n\n" for a in asked))
        await done.wait()
        await stream.send(b"data: " + result(request, TEXT) + b"\n\n")
        await stream.aclose()

    async def reply(request: Received, stream: anyio.abc.SocketStream) -> None:
        answers.append(request.rpc)
        await stream.send(http(b"", status="202 Accepted"))
        if len(answers) == 400:
            done.set()

    async with (
        raw_server(**{"tools__call": flood, "": reply}) as server,
        dialled(http_spec(server.url, protocol="handshake")) as connection,
    ):
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=20) == TEXT
    found = {str(answer["id"]): answer.get("result", answer.get("error")) for answer in answers}
    missing = {"code": -32601, "message": "Method not found"}
    assert [found[f"s{n}"] for n in range(4)] == [{}, missing, missing, {"action": "decline"}]
    assert len(found) == 400


async def test_what_is_nested_too_deeply_is_marked_and_the_rest_is_read() -> None:
    deep = '{"a": ' * 5000 + '"}]\\""' + "}" * 5000
    text = f'{{"before": "[{{", "deep": {deep}, "after": [1, {{"b": 2}}]}}'
    value = await parse_object(text.encode())
    assert value is not None
    assert (value["before"], value["after"]) == ("[{", [1, {"b": 2}])
    inner, levels = value["deep"], 0
    while isinstance(inner, dict):
        inner, levels = inner["a"], levels + 1
    assert (inner, levels) == (TOO_DEEP, DEPTH_MAX - 1)
    assert await parse_object(b"[" * 5000) is None
    assert await parse_object(b'{"a": ' + b"[" * 5000 + b"]" * 5000) is None


@pytest.mark.req("MCP-62")
async def test_a_tool_whose_schema_is_nested_too_deeply_is_withheld_alone() -> None:
    schema = '{"type": "object", "properties": ' + '{"a": ' * 5000 + "{}" + "}" * 5000 + "}"
    plain = '{"name": "t", "inputSchema": {"type": "object"}}'
    body = f'{{"tools": [{{"name": "deep", "inputSchema": {schema}}}, {plain}]}}'

    async def tools(request: Received, stream: anyio.abc.SocketStream) -> None:
        await stream.send(http(f'{{"jsonrpc": "2.0", "id": {request.rpc["id"]}, "result": {body}}}'.encode()))

    async with raw_server(tools__list=tools) as server, mounted(http_spec(server.url)) as manager:
        report = manager.reports()[0]
    assert (report.state, report.tools) == ("ready", 1)
    assert [tool.name for tool in report.withheld] == ["deep"]


@pytest.mark.req("MCP-116", "MCP-16")
async def test_a_session_s_own_server_is_not_followed_anywhere() -> None:
    async def moved(request: Received, stream: anyio.abc.SocketStream) -> None:
        await stream.send(http(b"", status="307 Moved", head="Location: /other\r\n"))

    async with (
        raw_server(tools__call=moved) as server,
        dialled(http_spec(server.url, protocol="handshake", origin="client")) as connection,
    ):
        with pytest.raises(McpFault, match="a redirect is not followed here") as caught:
            await connection.request("tools/call", {"name": "t"}, timeout_s=5)
        assert server.methods().count("tools/call") == 1
    assert caught.value.fault is Fault.PROTOCOL
