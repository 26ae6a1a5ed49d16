import json
from collections.abc import Mapping

import anyio
import anyio.abc
import pytest

from hilt.adapters.mcp_dialer import SdkDialer
from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.mcp.background import background_tasks
from hilt.ports.mcp import Fault, McpFault
from tests.mcp_servers.kit import call, dialled, http_spec, mounted
from tests.mcp_servers.raw_http import STANDING, Answer, Received, hangs, http, sends, stream_head
from tests.mcp_servers.raw_sse import SseServer, sse_server

TEXT = {"content": [{"type": "text", "text": "ok"}]}


def sse(url: str, connect_timeout_s: float = 5.0) -> McpServerSpec:
    return http_spec(url, transport="sse", connect_timeout_s=connect_timeout_s)


async def fault_of_dial(spec: McpServerSpec) -> McpFault:
    with anyio.fail_after(6), pytest.raises(McpFault) as caught:
        async with dialled(spec):
            pytest.fail("it connected")
    return caught.value


@pytest.mark.req("MCP-30")
async def test_a_named_sse_server_is_mounted_and_called() -> None:
    async with sse_server() as server:
        async with mounted(sse(server.url)) as manager:
            assert (await call(manager, "t")).content == "ok"
            assert manager.reports()[0].facts.revision == "2024-11-05"
        posts = [request for request in server.raw.received if request.verb == "POST"]
    assert {request.path for request in posts} == {"/post?s=1"}
    assert [request.method for request in posts] == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call",
    ]


@pytest.mark.req("MCP-30")
async def test_an_endpoint_of_another_origin_fails_the_connect_at_once() -> None:
    async with sse_server(endpoint=b"event: endpoint\ndata: http://127.0.0.2:1/post\n\n") as server:
        fault = await fault_of_dial(sse(server.url))
        assert [request.verb for request in server.raw.received] == ["GET"]
    assert fault.fault is Fault.PROTOCOL
    assert "http://127.0.0.2:1, which is not used" in fault.text


@pytest.mark.req("MCP-30")
async def test_an_endpoint_that_is_no_address_fails_the_connect() -> None:
    async with sse_server(endpoint=b"event: endpoint\ndata: /\xff\n\n") as server:
        assert "the endpoint is no address" in (await fault_of_dial(sse(server.url))).text


async def test_a_stream_without_an_endpoint_fails_at_the_connect_deadline() -> None:
    async with sse_server(endpoint=None) as server:
        fault = await fault_of_dial(sse(server.url, connect_timeout_s=0.3))
    assert fault.fault is Fault.TIMEOUT


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (sends(http(b"", status="503 Busy")), "HTTP 503 Busy"),
        (sends(http(b"<html>", kind="text/html")), "no event stream but 'text/html'"),
        (sends(stream_head()), "the event stream ended before the server named its endpoint"),
        (sends(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "no event stream but no content type"),
    ],
)
async def test_what_is_no_sse_server_fails_the_connect_with_what_came(answer: Answer, text: str) -> None:
    async with sse_server(standing=answer) as server:
        assert text in (await fault_of_dial(sse(server.url))).text


async def test_a_redirect_of_the_stream_to_another_origin_is_not_followed() -> None:
    moved = sends(http(b"", status="307 Moved", head="Location: http://127.0.0.2:1/\r\n"))
    async with sse_server(standing=moved) as server:
        assert "is not followed" in (await fault_of_dial(sse(server.url))).text


async def _reset(request: Received, stream: anyio.abc.SocketStream) -> None:
    await stream.aclose()


@pytest.mark.parametrize(
    ("answer", "fault", "status"),
    [
        (sends(http(b"", status="401 Unauthorized")), Fault.HTTP_STATUS, 401),
        (sends(http(b"", status="500 Broken")), Fault.HTTP_STATUS, 500),
        (_reset, Fault.CUT, None),
    ],
)
async def test_a_post_that_fails_ends_its_call_at_once_and_no_other(
    answer: Answer, fault: Fault, status: int | None
) -> None:
    async with sse_server(tools__call=answer) as server, dialled(sse(server.url)) as connection:
        with anyio.fail_after(1), pytest.raises(McpFault) as caught:
            await connection.request("tools/call", {"name": "t"}, timeout_s=30)
        assert (caught.value.fault, caught.value.status) == (fault, status)
        assert "tools" in await connection.request("tools/list", {}, timeout_s=5)


async def test_a_declared_error_in_the_answer_to_the_post_is_the_answer() -> None:
    async def declared(request: Received, stream: anyio.abc.SocketStream) -> None:
        body = json.dumps(
            {"jsonrpc": "2.0", "id": request.rpc["id"], "error": {"code": 7, "message": "no row"}}
        ).encode()
        await stream.send(http(body, status="400 Bad Request"))

    async with sse_server(tools__call=declared) as server, dialled(sse(server.url)) as connection:
        with pytest.raises(McpFault, match="no row") as caught:
            await connection.request("tools/call", {"name": "t"}, timeout_s=5)
    assert (caught.value.fault, caught.value.code) == (Fault.DECLARED, 7)


async def test_the_end_of_the_stream_ends_every_open_call_as_cut() -> None:
    silent = sends(http(b"", status="202 Accepted"))
    async with (
        sse_server(tools__call=silent) as server,
        dialled(sse(server.url)) as connection,
        anyio.create_task_group() as group,
    ):
        group.start_soon(_close_when_called, server)
        with anyio.fail_after(2), pytest.raises(McpFault) as caught:
            await connection.request("tools/call", {"name": "t"}, timeout_s=30)
        assert caught.value.fault is Fault.CUT
        with pytest.raises(McpFault) as later:
            await connection.request("tools/call", {"name": "t"}, timeout_s=30)
        assert later.value.fault is Fault.NOT_SENT


async def _close_when_called(server: SseServer) -> None:
    while "tools/call" not in server.raw.methods():
        await anyio.sleep(0.01)
    await server.streams[-1].aclose()


async def test_an_event_that_is_no_message_ends_the_calls_it_may_answer() -> None:
    async def garbled(request: Received, stream: anyio.abc.SocketStream) -> None:
        await stream.send(http(b"", status="202 Accepted"))
        await server.push(b"event: ping\ndata: x\n\ndata: noise\n\ndata: {broken\n\n")

    async with sse_server(tools__call=garbled) as server, dialled(sse(server.url)) as connection:
        with anyio.fail_after(2), pytest.raises(McpFault, match="an event is no MCP message"):
            await connection.request("tools/call", {"name": "t"}, timeout_s=30)


async def test_an_event_over_the_limit_ends_the_connection() -> None:
    async def endless(request: Received, stream: anyio.abc.SocketStream) -> None:
        await stream.send(http(b"", status="202 Accepted"))
        await server.push(b"data: " + b"x" * 5000 + b"\n\n")

    limits = McpLimits(message_max_bytes=2000)
    async with sse_server(tools__call=endless) as server, dialled(sse(server.url), limits=limits) as connection:
        with anyio.fail_after(2), pytest.raises(McpFault, match="longer than 2000 bytes"):
            await connection.request("tools/call", {"name": "t"}, timeout_s=30)


@pytest.mark.req("MCP-68")
async def test_a_call_that_is_given_up_is_cancelled_at_the_server_and_its_post_ended() -> None:
    async with sse_server(tools__call=hangs) as server, dialled(sse(server.url)) as connection:
        with pytest.raises(McpFault) as caught:
            await connection.request("tools/call", {"name": "t"}, timeout_s=0.2)
        assert caught.value.fault is Fault.TIMEOUT
        with anyio.fail_after(1):
            while "notifications/cancelled" not in server.raw.methods():
                await anyio.sleep(0.01)


async def test_notices_of_the_stream_reach_the_owner() -> None:
    seen: list[str] = []

    def notified(method: str, params: Mapping[str, object]) -> None:
        seen.append(method)

    async with sse_server() as server, background_tasks() as tasks:
        connection = await SdkDialer(tasks).dial(sse(server.url), on_notification=notified)
        await server.say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await connection.request("tools/list", {}, timeout_s=5)
        await connection.close()
    assert seen == ["notifications/tools/list_changed"]
    assert STANDING not in server.raw.methods()


async def test_a_server_s_own_request_is_answered_by_a_post_and_a_failing_one_costs_nothing() -> None:
    async def asks(request: Received, stream: anyio.abc.SocketStream) -> None:
        await stream.send(http(b"", status="202 Accepted"))
        await server.say({"jsonrpc": "2.0", "id": "s-1", "method": "ping"})
        while not any(each.rpc.get("id") == "s-1" for each in server.raw.received):
            await anyio.sleep(0.005)
        await server.say({"jsonrpc": "2.0", "id": request.rpc["id"], "result": TEXT})

    async with (
        sse_server(tools__call=asks, notifications__initialized=_reset) as server,
        dialled(sse(server.url)) as connection,
    ):
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=5) == TEXT


async def test_what_breaks_inside_a_post_ends_that_call_alone(caplog: pytest.LogCaptureFixture) -> None:
    async with sse_server() as server, dialled(sse(server.url)) as connection:
        with pytest.raises(McpFault, match="could not be sent"):
            await connection.request("tools/call", {"name": {1, 2}}, timeout_s=5)
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=5) == TEXT
    assert "mcp_sse_exchange_failed" in caplog.text
