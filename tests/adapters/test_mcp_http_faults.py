import gzip

import anyio
import anyio.abc
import pytest

from hilt.core.mcp import McpLimits
from hilt.mcp.background import background_tasks
from hilt.ports.mcp import Fault, McpFault
from tests.mcp_servers.far import ANSWER, TEXT, connected, events, fault_of_call
from tests.mcp_servers.kit import dialled, http_spec
from tests.mcp_servers.raw_http import (
    Answer,
    Received,
    http,
    raw_server,
    result,
    says,
    sends,
    stream_head,
)

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.req("MCP-26")
@pytest.mark.parametrize("answer", [events(), sends(http(b"", status="503 No")), sends(b""), sends(http(b"{}"))])
async def test_after_three_vain_resumptions_the_stream_counts_as_cut(answer: Answer) -> None:
    async with connected(tools__call=events(b"id: 1\nretry: 1\ndata:\n\n"), GET=answer) as (connection, server):
        assert (await fault_of_call(connection)).fault is Fault.CUT
        assert server.methods() == ["tools/call", "GET", "GET", "GET"]


@pytest.mark.parametrize(
    ("raw", "fault", "text"),
    [
        (b"", Fault.CUT, "cut"),
        (b"garbage\r\n\r\n", Fault.CUT, "cut"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{", Fault.CUT, "cut"),
        (stream_head() + b": nothing\n\n", Fault.CUT, "without the answer"),
        (CHUNKED + b"5\r\n: x\n\n\r\n", Fault.CUT, "without the answer"),
        (http(b"<html>", kind="text/html"), Fault.PROTOCOL, "text/html"),
        (http(b""), Fault.PROTOCOL, "empty"),
        (http(b'{"jsonrpc": "2.0", "id"'), Fault.PROTOCOL, "no MCP message"),
        (http(b"[" * 200_000), Fault.PROTOCOL, "no MCP message"),
        (http(b'{"ok": true}'), Fault.PROTOCOL, "no MCP message"),
        (http(b'{"jsonrpc": "2.0", "id": 99, "result": {}}'), Fault.PROTOCOL, "another request"),
        (http(b'{"jsonrpc": "2.0", "id": "2", "result": {}}'), Fault.PROTOCOL, "another request"),
        (http(b'{"jsonrpc": "2.0", "id": 2, "result": []}'), Fault.PROTOCOL, "no JSON object"),
        (http(b"", status="202 Accepted", kind=""), Fault.PROTOCOL, "no content type and status 202"),
        (stream_head() + b"data: {half\n\n", Fault.PROTOCOL, "no MCP message"),
        (http(gzip.compress(b"{}", mtime=0), head="Content-Encoding: gzip\r\n"), Fault.PROTOCOL, "compressed"),
        (http(b"", status="302 Found", head="Location: /other\r\n"), Fault.PROTOCOL, "302"),
        (http(b"", status="307 X", head="Location: http://h.example/x?s=1\r\n"), Fault.PROTOCOL, "http://h.example "),
        (http(b"", status="307 X", head="Location: file:///etc/passwd\r\n"), Fault.PROTOCOL, "not followed"),
        (http(b"", status="308 X"), Fault.PROTOCOL, "without a usable location"),
        (http(b"", status="307 X", head="Location: /mcp\r\n"), Fault.PROTOCOL, "more than 3 redirects"),
    ],
)
@pytest.mark.req("MCP-15", "MCP-16", "MCP-27")
async def test_an_answer_that_is_none_ends_its_call_alone(raw: bytes, fault: Fault, text: str) -> None:
    async with connected(tools__call=sends(raw), tools__list=says({"tools": []})) as (connection, _):
        with anyio.fail_after(1.5):
            found = await fault_of_call(connection)
        assert (found.fault, text in found.text) == (fault, True), found.text
        assert await connection.request("tools/list", {}, timeout_s=5) == {"tools": []}


@pytest.mark.parametrize(
    ("status", "body", "fault", "code"),
    [
        ("404 Not Found", b"", Fault.SESSION_LOST, None),
        ("404 Not Found", b"<html>", Fault.SESSION_LOST, None),
        (
            "404 Not Found",
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}',
            Fault.SESSION_ENDED,
            -32600,
        ),
        ("400 Bad Request", b'{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}', Fault.SESSION_ENDED, 1),
        ("404 Not Found", b'{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"x"}}', Fault.DECLARED, -32602),
        ("400 Bad Request", b"", Fault.HTTP_STATUS, None),
        ("403 Forbidden", b"", Fault.HTTP_STATUS, None),
        ("500 Oops", b'{"error":{"code":true,"message":5}}', Fault.HTTP_STATUS, None),
        ("503 Unavailable", b"x", Fault.HTTP_STATUS, None),
        ("200 OK", b'{"jsonrpc":"2.0","id":2,"error":"odd"}', Fault.DECLARED, None),
    ],
)
@pytest.mark.req("MCP-80", "MCP-81", "MCP-82", "MCP-83")
async def test_status_and_id_say_what_a_refusal_means(status: str, body: bytes, fault: Fault, code: int | None) -> None:
    async with connected(tools__call=sends(http(body, status=status))) as (connection, _):
        found = await fault_of_call(connection)
    assert (found.fault, found.code) == (fault, code)


@pytest.mark.req("MCP-93")
@pytest.mark.parametrize(
    ("given", "seconds"),
    [("7", 7.0), ("soon", None), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("", None)],
)
async def test_the_server_s_wish_to_wait_is_kept(given: str, seconds: float | None) -> None:
    answer = sends(http(b"", status="429 Too Many Requests", head=f"Retry-After: {given}\r\n"))
    async with connected(tools__call=answer) as (connection, _):
        found = await fault_of_call(connection)
    assert (found.status, found.retry_after_s) == (429, seconds)
    assert found.text == "HTTP 429 Too Many Requests"


@pytest.mark.req("MCP-28")
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_a_message_over_the_limit_fails_its_call(kind: str) -> None:
    long = sends(http(b"data: " + b"x" * 5000, kind=kind))
    async with connected(limits=McpLimits(message_max_bytes=4096), tools__call=long) as (connection, _):
        found = await fault_of_call(connection)
    assert "longer than 4096 bytes" in found.text


@pytest.mark.req("MCP-69")
async def test_a_fault_hits_its_own_call_only() -> None:
    release = anyio.Event()

    async def answer(request: Received, stream: anyio.abc.SocketStream) -> None:
        params = request.rpc["params"]
        assert isinstance(params, dict)
        if params["name"] == "slow":
            await release.wait()
            await stream.send(http(result(request, TEXT)))
        else:
            await stream.aclose()

    got: list[object] = []
    async with connected(tools__call=answer) as (connection, _):

        async def slow() -> None:
            got.append(await connection.request("tools/call", {"name": "slow"}, timeout_s=5))

        async with anyio.create_task_group() as group:
            group.start_soon(slow)
            assert (await fault_of_call(connection)).fault is Fault.CUT
            release.set()
    assert got == [TEXT]


@pytest.mark.req("MCP-70")
async def test_answers_with_ids_that_nobody_asked_for_are_dropped_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stray = b'data: {"jsonrpc": "2.0", "id": "2", "result": {}}\n\n'
    other = b'data: {"jsonrpc": "2.0", "id": 77, "result": {}}\n\n'
    odd = b'data: {"jsonrpc": "2.0", "id": [1], "method": "ping"}\n\n'
    async with connected(tools__call=events(stray, other, odd, ANSWER, ANSWER)) as (connection, _):
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=5) == {"content": []}
    assert [record.getMessage() for record in caplog.records] == ["mcp_answer_with_unknown_id server=far id='2'"]


@pytest.mark.req("MCP-79")
async def test_a_refused_connection_was_never_sent() -> None:
    async with raw_server() as server:
        url = server.url
    with pytest.raises(McpFault) as caught:
        async with dialled(http_spec(url)):
            pytest.fail("it connected")
    assert caught.value.fault is Fault.NOT_SENT
    assert url in caught.value.text


@pytest.mark.parametrize("headers", [{"X-A": "a\nb"}, {"X-A": "é\udc80"}, {"X A": "b"}])
async def test_a_header_that_cannot_be_sent_fails_the_connect(headers: dict[str, str]) -> None:
    async with raw_server() as server:
        with pytest.raises(McpFault) as caught:
            async with dialled(http_spec(server.url, headers=headers)):
                pytest.fail("it connected")
    assert caught.value.fault is Fault.NOT_SENT


@pytest.mark.req("MCP-49")
@pytest.mark.parametrize("head", [b"", stream_head()])
async def test_a_server_that_accepts_and_never_answers_fails_at_the_deadline(head: bytes) -> None:
    async def drip(request: Received, stream: anyio.abc.SocketStream) -> None:
        await stream.send(head or b"HTTP/1.1 200 OK\r\n")
        while True:
            await stream.send(b": \n" if head else b"X: y\r\n")
            await anyio.sleep(0.05)

    async with raw_server(initialize=drip, server__discover=drip) as server:
        with anyio.fail_after(3), pytest.raises(McpFault) as caught:
            async with dialled(http_spec(server.url, connect_timeout_s=0.5)):
                pytest.fail("it connected")
    assert caught.value.fault is Fault.TIMEOUT


@pytest.mark.req("MCP-79")
async def test_a_tls_failure_was_never_sent() -> None:
    async def no_tls(stream: anyio.abc.SocketStream) -> None:
        await stream.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await stream.aclose()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, background_tasks() as tasks:
        tasks.start_soon(listener.serve, no_tls)
        with anyio.fail_after(5), pytest.raises(McpFault) as caught:
            async with dialled(http_spec(f"https://127.0.0.1:{port}/mcp")):
                pytest.fail("it connected")
    assert caught.value.fault is Fault.NOT_SENT


async def test_a_resumption_that_is_answered_with_what_may_not_be_ends_the_call() -> None:
    packed = sends(http(b"x", kind="text/event-stream", head="Content-Encoding: gzip\r\n"))
    async with connected(tools__call=events(b"id: 1\nretry: 1\ndata:\n\n"), GET=packed) as (connection, server):
        assert (await fault_of_call(connection)).fault is Fault.PROTOCOL
        assert server.methods() == ["tools/call", "GET"]


async def test_what_breaks_inside_an_exchange_ends_that_call_alone(caplog: pytest.LogCaptureFixture) -> None:
    async with connected(tools__call=says(TEXT)) as (connection, _):
        with pytest.raises(McpFault) as caught:
            await connection.request("tools/call", {"name": {1, 2}}, timeout_s=5)
        assert caught.value.fault is Fault.PROTOCOL
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=5) == TEXT
    assert "mcp_http_exchange_failed" in caplog.text
