import json
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import anyio.abc
import pytest

from hilt.adapters.mcp_dialer import SdkDialer
from hilt.adapters.mcp_eras import AfterProbe, after_probe, refuses_era
from hilt.core.mcp import McpLimits
from hilt.mcp.background import background_tasks
from hilt.ports.mcp import Fault, McpFault
from tests.mcp_servers.kit import call, dialled, http_spec, mounted, read_log, replay_stdio, stdio_spec
from tests.mcp_servers.raw_http import (
    INITIALIZED,
    Answer,
    Received,
    hangs,
    http,
    raw_server,
    result,
    says,
    sends,
)

DISCOVERED: Mapping[str, object] = {
    "supportedVersions": ["2026-07-28", "2099-01-01"],
    "capabilities": {"tools": {}},
    "instructions": "be nice",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "new", "version": "2"}},
}


def _refuses(code: int, details: object = None, status: str = "200 OK") -> Answer:
    async def answer(request: Received, stream: anyio.abc.SocketStream) -> None:
        error = {"code": code, "message": "no", "data": details}
        body = json.dumps({"jsonrpc": "2.0", "id": request.rpc["id"], "error": error}).encode()
        await stream.send(http(body, status=status))

    return answer


@pytest.mark.req("MCP-41", "MCP-42", "MCP-43")
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (McpFault(Fault.DECLARED, "", code=-32601), AfterProbe.HANDSHAKE),
        (McpFault(Fault.DECLARED, ""), AfterProbe.HANDSHAKE),
        (McpFault(Fault.DECLARED, "", code=-32022, details={"supported": ["2025-06-18"]}), AfterProbe.HANDSHAKE),
        (McpFault(Fault.DECLARED, "", code=-32022, details={"supported": ["2099-01-01"]}), AfterProbe.FAIL),
        (McpFault(Fault.DECLARED, "", code=-32022), AfterProbe.HANDSHAKE),
        (McpFault(Fault.HTTP_STATUS, "", status=400), AfterProbe.HANDSHAKE),
        (McpFault(Fault.HTTP_STATUS, "", status=404), AfterProbe.HANDSHAKE),
        *[(McpFault(Fault.HTTP_STATUS, "", status=s), AfterProbe.FAIL) for s in (401, 403, 408, 425, 429, 500, 503)],
        (McpFault(Fault.HTTP_STATUS, ""), AfterProbe.FAIL),
        (McpFault(Fault.TIMEOUT, ""), AfterProbe.HANDSHAKE_ONCE),
        (McpFault(Fault.PROTOCOL, ""), AfterProbe.HANDSHAKE_ONCE),
        (McpFault(Fault.NOT_SENT, ""), AfterProbe.FAIL),
        (McpFault(Fault.CUT, ""), AfterProbe.FAIL),
    ],
)
def test_what_a_failed_probe_says(fault: McpFault, expected: AfterProbe) -> None:
    assert after_probe(fault, stdio=False) is expected


@pytest.mark.req("MCP-43")
def test_a_process_that_ends_on_the_probe_is_started_again() -> None:
    assert after_probe(McpFault(Fault.CUT, ""), stdio=True) is AfterProbe.RESTART


@pytest.mark.req("MCP-41", "MCP-45")
async def test_a_proper_discovery_selects_the_stateless_era_and_its_stamps() -> None:
    async with raw_server(server__discover=says(DISCOVERED), tools__call=says({"content": []})) as server:
        async with dialled(http_spec(server.url)) as connection:
            facts = connection.facts
            await connection.request("tools/call", {"name": "té", "_meta": {"a": 1}}, timeout_s=5)
        assert (facts.era, facts.revision, facts.name, facts.version, facts.instructions) == (
            "stateless",
            "2026-07-28",
            "new",
            "2",
            "be nice",
        )
        assert server.methods() == ["server/discover", "tools/call"]
        asked = server.received[1]
        assert asked.headers["mcp-protocol-version"] == "2026-07-28"
        assert asked.headers["mcp-method"] == "tools/call"
        assert asked.headers["mcp-name"] == "=?base64?dMOp?="
        assert "mcp-session-id" not in asked.headers
        params = asked.rpc["params"]
        assert isinstance(params, dict)
        assert params["_meta"] == {
            "a": 1,
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "hilt", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }


@pytest.mark.req("MCP-45", "MCP-58")
async def test_in_the_stateless_era_arguments_are_repeated_in_headers_and_wrong_ones_withheld() -> None:
    def tool(name: str, header: str) -> dict[str, object]:
        where = {"type": "string", "x-mcp-header": header}
        return {"name": name, "inputSchema": {"type": "object", "properties": {"where": where}}}

    tools = says({"tools": [tool("good", "Where"), tool("bad", "a b")]})
    async with raw_server(
        server__discover=says(DISCOVERED), tools__list=tools, tools__call=says({"content": []})
    ) as server:
        async with mounted(http_spec(server.url)) as manager:
            assert [tool.name_on_server for tool in manager.tools()] == ["good"]
            await call(manager, "good", '{"where": "Zürich"}')
        assert server.received[-1].headers["mcp-param-where"] == "=?base64?WsO8cmljaA==?="
        async with mounted(http_spec(server.url, protocol="handshake")) as manager:
            assert [tool.name_on_server for tool in manager.tools()] == ["good", "bad"]
            await call(manager, "good", '{"where": "x"}')
        assert not any("mcp-param-where" in request.headers for request in server.received[-2:])


@pytest.mark.req("MCP-41")
@pytest.mark.parametrize(
    "answer",
    [
        _refuses(-32601),
        _refuses(-32600, status="404 Not Found"),
        sends(http(b"", status="405 Not Allowed")),
        _refuses(-32022, {"supported": ["2025-11-25"]}),
        says({"supportedVersions": ["2025-11-25"], "capabilities": {}}),
        says({"supportedVersions": "2026-07-28", "capabilities": {}}),
        says({}),
    ],
)
async def test_anything_else_that_is_no_transient_failure_selects_the_handshake(answer: Answer) -> None:
    async with raw_server(server__discover=answer) as server, dialled(http_spec(server.url)) as connection:
        assert (connection.facts.era, connection.facts.name) == ("handshake", "raw")
        assert server.methods() == ["server/discover", "initialize", "notifications/initialized"]
        assert "mcp-protocol-version" not in server.received[1].headers


@pytest.mark.req("MCP-42")
async def test_a_transient_failure_pins_no_era() -> None:
    async with raw_server(server__discover=sends(http(b"", status="503 Busy"))) as server, background_tasks() as tasks:
        dialer = SdkDialer(tasks)
        with pytest.raises(McpFault) as caught:
            await dialer.dial(http_spec(server.url), on_notification=lambda m, p: None)
        assert caught.value.status == 503
        server.answers["server/discover"] = says(DISCOVERED)
        connection = await dialer.dial(http_spec(server.url), on_notification=lambda m, p: None)
        assert connection.facts.era == "stateless"
        await connection.close()


@pytest.mark.req("MCP-43")
async def test_a_probe_without_answer_is_followed_by_the_handshake_and_nothing_is_remembered() -> None:
    async with raw_server(server__discover=hangs) as server, background_tasks() as tasks:
        dialer = SdkDialer(tasks, limits=McpLimits(probe_s=0.1))
        for _ in range(2):
            connection = await dialer.dial(http_spec(server.url), on_notification=lambda m, p: None)
            assert connection.facts.era == "handshake"
            await connection.close()
        assert server.methods().count("server/discover") == 2
        assert "notifications/cancelled" not in server.methods()


@pytest.mark.req("MCP-44")
async def test_a_remembered_era_that_is_refused_gets_one_fresh_probe() -> None:
    async with raw_server() as server, background_tasks() as tasks:
        dialer = SdkDialer(tasks)
        spec = http_spec(server.url)
        for _ in range(2):
            await (await dialer.dial(spec, on_notification=lambda m, p: None)).close()
        assert server.methods().count("server/discover") == 1
        server.answers["initialize"] = _refuses(-32022, {"supported": ["2026-07-28"]}, status="400 Bad Request")
        server.answers["server/discover"] = says(DISCOVERED)
        connection = await dialer.dial(spec, on_notification=lambda m, p: None)
        assert connection.facts.era == "stateless"
        await connection.close()
        server.answers["initialize"] = says(INITIALIZED)
        server.answers["server/discover"] = _refuses(-32601)
        connection = await dialer.dial(spec, on_notification=lambda m, p: None)
        assert connection.facts.era == "handshake"
        await connection.close()


@pytest.mark.req("MCP-44")
async def test_a_remembered_era_survives_a_transient_failure() -> None:
    async with raw_server() as server, background_tasks() as tasks:
        dialer = SdkDialer(tasks)
        spec = http_spec(server.url)
        await (await dialer.dial(spec, on_notification=lambda m, p: None)).close()
        server.answers["initialize"] = sends(http(b"", status="503 Busy"))
        with pytest.raises(McpFault):
            await dialer.dial(spec, on_notification=lambda m, p: None)
        server.answers["initialize"] = says(INITIALIZED)
        await (await dialer.dial(spec, on_notification=lambda m, p: None)).close()
        assert server.methods().count("server/discover") == 1


@pytest.mark.req("MCP-42", "MCP-44")
@pytest.mark.parametrize(
    ("fault", "refuses"),
    [
        (McpFault(Fault.DECLARED, ""), True),
        (McpFault(Fault.PROTOCOL, ""), True),
        (McpFault(Fault.HTTP_STATUS, "", status=404), True),
        (McpFault(Fault.HTTP_STATUS, "", status=401), False),
        (McpFault(Fault.HTTP_STATUS, "", status=503), False),
        (McpFault(Fault.NOT_SENT, ""), False),
    ],
)
def test_what_refuses_a_remembered_era(fault: McpFault, refuses: bool) -> None:
    assert refuses_era(fault) is refuses


@pytest.mark.req("MCP-40")
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_every_handshake_revision_is_spoken(revision: str) -> None:
    answer = says({**INITIALIZED, "protocolVersion": revision})
    async with raw_server(initialize=answer) as server, dialled(http_spec(server.url)) as connection:
        assert connection.facts.revision == revision


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (says({**INITIALIZED, "protocolVersion": "2099-01-01"}), "2099-01-01"),
        (says({}), "None"),
        (says(INITIALIZED, head="Mcp-Session-Id: a b\r\n"), "session id"),
        (says(INITIALIZED, head=f"Mcp-Session-Id: {'x' * 4096}\r\n"), "session id"),
        (sends(http(b"<html>", kind="text/html")), "text/html"),
    ],
)
async def test_an_odd_answer_to_the_handshake_fails_at_once_and_is_named(answer: Answer, text: str) -> None:
    async with raw_server(initialize=answer) as server:
        with anyio.fail_after(2), pytest.raises(McpFault, match=text):
            async with dialled(http_spec(server.url)):
                pytest.fail("it connected")


@pytest.mark.parametrize("answer", [_refuses(-32601), says({"supportedVersions": [], "capabilities": {}})])
async def test_a_server_that_must_be_stateless_and_is_not_fails(answer: Answer) -> None:
    async with raw_server(server__discover=answer) as server:
        with pytest.raises(McpFault):
            async with dialled(http_spec(server.url, protocol="stateless")):
                pytest.fail("it connected")
        assert server.methods() == ["server/discover"]


async def test_a_request_for_input_is_answered_as_far_as_it_is_offered() -> None:
    rounds = 0

    async def answer(request: Received, stream: anyio.abc.SocketStream) -> None:
        nonlocal rounds
        rounds += 1
        asked: dict[str, object] = {"resultType": "input_required", "requestState": "s" * rounds}
        if rounds == 2:
            asked["inputRequests"] = {"q": {"method": "elicitation/create", "params": {}}}
        await stream.send(http(result(request, asked if rounds < 3 else {"content": []})))

    async with raw_server(server__discover=says(DISCOVERED), tools__call=answer) as server:
        async with dialled(http_spec(server.url)) as connection:
            assert await connection.request("tools/call", {"name": "t"}, timeout_s=5) == {"content": []}
        sent = [request.rpc["params"] for request in server.received[1:]]
    assert all(isinstance(params, dict) for params in sent)
    plain = [{k: v for k, v in params.items() if k != "_meta"} for params in sent if isinstance(params, dict)]
    assert plain == [
        {"name": "t"},
        {"name": "t", "requestState": "s"},
        {"name": "t", "requestState": "ss", "inputResponses": {"q": {"action": "decline"}}},
    ]


@pytest.mark.parametrize(
    ("asked", "text", "sends_made"),
    [
        ({"requestState": "x"}, "more than 10 times", 11),
        ({"inputRequests": {"q": {"method": "sampling/createMessage"}}}, "not offered", 1),
        ({"inputRequests": {"q": 5}}, "not offered", 1),
    ],
)
async def test_a_server_that_asks_without_end_or_for_too_much_fails_the_call(
    asked: dict[str, object], text: str, sends_made: int
) -> None:
    answer = says({"resultType": "input_required", **asked})
    async with raw_server(server__discover=says(DISCOVERED), tools__call=answer) as server:
        async with dialled(http_spec(server.url)) as connection:
            with pytest.raises(McpFault, match=text):
                await connection.request("tools/call", {"name": "t"}, timeout_s=5)
        assert server.methods().count("tools/call") == sends_made


@pytest.mark.req("MCP-68")
async def test_a_stateless_call_is_cancelled_by_closing_its_stream() -> None:
    gone = anyio.Event()

    async def answer(request: Received, stream: anyio.abc.SocketStream) -> None:
        await hangs(request, stream)
        gone.set()

    async with raw_server(server__discover=says(DISCOVERED), tools__call=answer) as server:
        async with dialled(http_spec(server.url)) as connection:
            with pytest.raises(McpFault):
                await connection.request("tools/call", {"name": "t"}, timeout_s=0.1)
            with anyio.fail_after(1):
                await gone.wait()
        assert server.methods() == ["server/discover", "tools/call"]


@pytest.mark.req("MCP-43")
async def test_a_process_that_dies_on_the_probe_is_started_once_more(tmp_path: Path) -> None:
    (tmp_path / "dies.json").write_text(json.dumps({"on": {"server/discover": [{"exit": 1}]}}))
    async with dialled(replay_stdio("dies.json", tmp_path)) as connection:
        assert connection.facts.era == "handshake"
    assert sum("start" in line for line in read_log(tmp_path / "near.log")) == 2


@pytest.mark.req("MCP-76")
async def test_roots_are_offered_to_a_process_and_are_the_workspace_root(tmp_path: Path) -> None:
    scenario = {"on": {"tools/call": [{"request": {"id": 9, "method": "roots/list"}}, {"sleep": 0.3}, {"result": {}}]}}
    (tmp_path / "roots.json").write_text(json.dumps(scenario))
    async with dialled(replay_stdio("roots.json", tmp_path), root=tmp_path) as connection:
        await connection.request("tools/call", {"name": "t"}, timeout_s=5)
    received = [line["recv"] for line in read_log(tmp_path / "near.log") if "recv" in line]
    answers = [message for message in received if isinstance(message, dict) and message.get("id") == 9]
    assert answers == [
        {"jsonrpc": "2.0", "id": 9, "result": {"roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]}}
    ]
    hello = next(m for m in received if isinstance(m, dict) and m.get("method") == "initialize")
    assert hello["params"]["capabilities"] == {"roots": {}}


async def test_a_command_that_is_no_server_fails_within_the_probe(tmp_path: Path) -> None:
    with anyio.fail_after(3), pytest.raises(McpFault, match="exited with code 0"):
        async with dialled(stdio_spec(sys.executable, "-c", "pass")):
            pytest.fail("it connected")
