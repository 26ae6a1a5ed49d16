import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.abc
import pytest

from hilt.core.mcp import McpLimits
from hilt.ports.mcp import Fault, McpConnection, McpFault
from tests.mcp_servers.kit import SDK_SERVER, call, dialled, http_spec, mounted, serving, tool_of
from tests.mcp_servers.raw_http import (
    Answer,
    RawServer,
    Received,
    hangs,
    http,
    raw_server,
    result,
    says,
    sends,
    stream_head,
)

TEXT = {"content": [{"type": "text", "text": "ok"}]}


@asynccontextmanager
async def connected(
    *, limits: McpLimits | None = None, headers: dict[str, str] | None = None, **answers: Answer
) -> AsyncIterator[tuple[McpConnection, RawServer]]:
    async with (
        raw_server(**answers) as server,
        dialled(http_spec(server.url, protocol="handshake", headers=headers or {}), limits=limits) as connection,
    ):
        server.received.clear()
        yield connection, server


async def _fault(connection: McpConnection, *, timeout_s: float = 5.0) -> McpFault:
    with anyio.fail_after(6), pytest.raises(McpFault) as caught:
        await connection.request("tools/call", {"name": "t"}, timeout_s=timeout_s)
    return caught.value


def _events(*events: bytes) -> Answer:
    async def answer(request: Received, stream: anyio.abc.SocketStream) -> None:
        request_id = json.dumps(request.rpc.get("id")).encode()
        raw = b"".join(events).replace(b"@ID@", request_id)
        await stream.send(stream_head() + raw)
        await stream.aclose()

    return answer


ANSWER = b'data: {"jsonrpc": "2.0", "id": @ID@, "result": {"content": []}}\n\n'


@pytest.mark.req("MCP-24", "MCP-40", "MCP-41", "MCP-60")
@pytest.mark.parametrize("protocol", ["auto", "handshake", "stateless"])
async def test_a_server_on_the_official_sdk_is_listed_and_called_in_both_eras(tmp_path: Path, protocol: str) -> None:
    with serving([str(SDK_SERVER)], tmp_path / "log") as served:
        async with mounted(http_spec(served.url, protocol=protocol, required=True)) as manager:
            assert manager.reports()[0].facts.era == ("handshake" if protocol == "handshake" else "stateless")
            assert tool_of(manager, "add").read_only
            assert not tool_of(manager, "shout").read_only
            assert (await call(manager, "add", '{"a": 1, "b": 2}')).content == '3\n{"result": 3}'
            assert (await call(manager, "shout", "{}")).is_error


@pytest.mark.req("MCP-24")
async def test_the_session_id_and_the_revision_are_sent_with_every_request_and_the_close() -> None:
    async with connected(tools__call=says(TEXT)) as (connection, server):
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=5) == TEXT
        await connection.close()
        await connection.close()
    assert server.methods() == ["tools/call", "DELETE"]
    for request in server.received:
        assert request.headers["mcp-session-id"] == "s1"
        assert request.headers["mcp-protocol-version"] == "2025-11-25"
        assert request.headers["accept-encoding"] == "identity"


@pytest.mark.req("MCP-09")
async def test_configured_headers_go_with_every_request() -> None:
    async with connected(headers={"Authorization": "Bearer t", "X-A": "1"}, tools__call=says(TEXT)) as (c, server):
        await c.request("tools/call", {"name": "t"}, timeout_s=5)
    assert [(r.headers["authorization"], r.headers["x-a"]) for r in server.received] == [("Bearer t", "1")] * 2


@pytest.mark.req("MCP-24", "MCP-25")
async def test_an_answer_is_found_behind_other_messages_of_its_stream() -> None:
    answer = _events(
        b": hello\r\n\r\n",
        b"id: 1\ndata:\n\n",
        b"event: ping\ndata: {}\n\n",
        b"data: ping\n\n",
        b'data: {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}\n\n',
        ANSWER,
    )
    async with connected(tools__call=answer) as (connection, _):
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=5) == {"content": []}


@pytest.mark.req("MCP-26")
async def test_a_cut_stream_with_an_event_id_is_resumed_after_the_server_s_pause() -> None:
    cut = _events(b"id: r-1\nretry: 100\ndata:\n\n")
    request_id = ""

    async def resume(request: Received, stream: anyio.abc.SocketStream) -> None:
        assert request.headers["last-event-id"] == "r-1"
        await stream.send(stream_head() + ANSWER.replace(b"@ID@", request_id.encode()))
        await stream.aclose()

    async with connected(tools__call=cut, GET=resume) as (connection, server):
        request_id = "2"
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=5) == {"content": []}
        assert server.methods() == ["tools/call", "GET"]


@pytest.mark.req("MCP-26")
@pytest.mark.parametrize(
    "answer", [_events(), sends(http(b"", status="503 No")), sends(b""), sends(http(b"{}"))], ids=str
)
async def test_after_three_vain_resumptions_the_stream_counts_as_cut(answer: Answer) -> None:
    async with connected(tools__call=_events(b"id: 1\nretry: 1\ndata:\n\n"), GET=answer) as (connection, server):
        assert (await _fault(connection)).fault is Fault.CUT
        assert server.methods() == ["tools/call", "GET", "GET", "GET"]


@pytest.mark.parametrize(
    ("raw", "fault", "text"),
    [
        (b"", Fault.CUT, "cut"),
        (b"garbage\r\n\r\n", Fault.CUT, "cut"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{", Fault.CUT, "cut"),
        (stream_head() + b": nothing\n\n", Fault.CUT, "without the answer"),
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
        (http(gzip.compress(b"{}"), head="Content-Encoding: gzip\r\n"), Fault.PROTOCOL, "compressed"),
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
            found = await _fault(connection)
        assert (found.fault, text in found.text) == (fault, True), found.text
        assert await connection.request("tools/list", {}, timeout_s=5) == {"tools": []}


@pytest.mark.req("MCP-16")
async def test_a_redirect_within_the_origin_is_followed_with_its_body() -> None:
    async def answer(request: Received, stream: anyio.abc.SocketStream) -> None:
        if request.path == "/mcp":
            await stream.send(http(b"", status="307 Temporary Redirect", head="Location: /moved\r\n"))
        else:
            await stream.send(http(result(request, TEXT)))

    async with connected(tools__call=answer) as (connection, server):
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=5) == TEXT
        assert [request.path for request in server.received] == ["/mcp", "/moved"]


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
        found = await _fault(connection)
    assert (found.fault, found.code) == (fault, code)


@pytest.mark.req("MCP-93")
@pytest.mark.parametrize(
    ("given", "seconds"),
    [("7", 7.0), ("soon", None), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("", None)],
)
async def test_the_server_s_wish_to_wait_is_kept(given: str, seconds: float | None) -> None:
    answer = sends(http(b"", status="429 Too Many Requests", head=f"Retry-After: {given}\r\n"))
    async with connected(tools__call=answer) as (connection, _):
        found = await _fault(connection)
    assert (found.status, found.retry_after_s) == (429, seconds)
    assert found.text == "HTTP 429 Too Many Requests"


@pytest.mark.req("MCP-28")
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_a_message_over_the_limit_fails_its_call(kind: str) -> None:
    long = sends(http(b"data: " + b"x" * 5000, kind=kind))
    async with connected(limits=McpLimits(message_max_bytes=4096), tools__call=long) as (connection, _):
        found = await _fault(connection)
    assert "longer than 4096 bytes" in found.text


@pytest.mark.req("MCP-28")
async def test_a_message_of_many_mebibytes_is_read_whole() -> None:
    big = {"content": [{"type": "text", "text": "é" * 4_000_000}]}
    async with connected(tools__call=says(big)) as (connection, _):
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=20) == big


@pytest.mark.req("MCP-68", "MCP-78")
async def test_a_deadline_tells_the_server_and_the_connection_stays() -> None:
    async with connected(tools__call=hangs) as (connection, server):
        assert (await _fault(connection, timeout_s=0.1)).fault is Fault.TIMEOUT
        assert "tools" in await connection.request("tools/list", {}, timeout_s=5)
        with anyio.fail_after(1):
            while "notifications/cancelled" not in server.methods():
                await anyio.sleep(0.01)
        cancelled = next(r for r in server.received if r.method == "notifications/cancelled")
        params = cancelled.rpc["params"]
        assert isinstance(params, dict)
        assert params["requestId"] == 2


@pytest.mark.req("MCP-68")
async def test_a_cancelled_caller_is_free_at_once_also_when_the_notice_is_never_answered() -> None:
    async with connected(tools__call=hangs, notifications__cancelled=hangs) as (connection, server):
        with anyio.fail_after(1):
            with anyio.move_on_after(0.1):
                await connection.request("tools/call", {"name": "t"}, timeout_s=60)
            assert "tools" in await connection.request("tools/list", {}, timeout_s=5)
        assert "notifications/cancelled" in server.methods()


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
            assert (await _fault(connection)).fault is Fault.CUT
            release.set()
    assert got == [TEXT]


@pytest.mark.req("MCP-29")
@pytest.mark.parametrize("answer", [hangs, sends(b""), sends(http(b"", status="500 Oops"))])
async def test_a_close_takes_any_answer_and_three_seconds_at_most(answer: Answer) -> None:
    async with connected(DELETE=answer) as (connection, server):
        with anyio.fail_after(4):
            await connection.close()
        assert server.methods() == ["DELETE"]
        with pytest.raises(McpFault) as caught:
            await connection.request("tools/list", {}, timeout_s=5)
        assert caught.value.fault is Fault.NOT_SENT


@pytest.mark.req("MCP-71")
async def test_a_close_during_a_call_ends_it() -> None:
    async with connected(tools__call=hangs) as (connection, _), anyio.create_task_group() as group:

        async def one() -> None:
            assert (await _fault(connection)).fault is Fault.CLOSED

        group.start_soon(one)
        await anyio.wait_all_tasks_blocked()
        await connection.close()


@pytest.mark.req("MCP-72", "MCP-76")
@pytest.mark.parametrize(
    ("method", "request_id", "answer"),
    [
        ("ping", 7, {"result": {}}),
        ("ping", "7", {"result": {}}),
        ("elicitation/create", 1, {"result": {"action": "decline"}}),
        ("sampling/createMessage", 1, {"error": {"code": -32601, "message": "Method not found"}}),
        ("roots/list", 1, {"error": {"code": -32601, "message": "Method not found"}}),
        ("un/known", "x", {"error": {"code": -32601, "message": "Method not found"}}),
    ],
)
async def test_requests_of_the_server_are_answered_under_their_own_id(
    method: str, request_id: object, answer: dict[str, object]
) -> None:
    ask = json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method}).encode()
    answered = anyio.Event()
    bodies: list[object] = []

    async def take(request: Received, stream: anyio.abc.SocketStream) -> None:
        bodies.append(request.rpc)
        await stream.send(http(b"", status="202 Accepted"))
        answered.set()

    async with connected(tools__call=_events(b"data: " + ask + b"\n\n", ANSWER)) as (connection, server):
        server.answers[""] = take
        await connection.request("tools/call", {"name": "t"}, timeout_s=5)
        with anyio.fail_after(5):
            await answered.wait()
    assert bodies == [{"jsonrpc": "2.0", "id": request_id, **answer}]


@pytest.mark.req("MCP-70")
async def test_answers_with_ids_that_nobody_asked_for_are_dropped_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stray = b'data: {"jsonrpc": "2.0", "id": "2", "result": {}}\n\n'
    other = b'data: {"jsonrpc": "2.0", "id": 77, "result": {}}\n\n'
    odd = b'data: {"jsonrpc": "2.0", "id": [1], "method": "ping"}\n\n'
    async with connected(tools__call=_events(stray, other, odd, ANSWER, ANSWER)) as (connection, _):
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=5) == {"content": []}
    assert [record.getMessage() for record in caplog.records] == ["mcp_answer_with_unknown_id"]


@pytest.mark.req("MCP-67")
async def test_only_rising_progress_of_the_own_call_is_reported() -> None:
    def report(token: object, value: object, **more: object) -> bytes:
        params = {"progressToken": token, "progress": value, **more}
        message = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        return b"data: " + json.dumps(message).encode() + b"\n\n"

    reports = (
        report(2, 1, total=3, message="a"),
        report(2, 1),
        report(2, 0.5),
        report("2", 5),
        report(9, 5),
        report(2, "x"),
        report(2, True),
        report(2, 2.5, total="x", message=5),
    )
    seen: list[tuple[float, float | None, str]] = []
    async with connected(tools__call=_events(*reports, ANSWER)) as (connection, server):
        await connection.request(
            "tools/call", {"name": "t"}, timeout_s=5, on_progress=lambda *values: seen.append(values)
        )
        params = server.received[0].rpc["params"]
    assert params == {"name": "t", "_meta": {"progressToken": 2}}
    assert seen == [(1, 3, "a"), (2.5, None, "")]


async def test_a_handler_that_fails_does_not_stop_the_reader(caplog: pytest.LogCaptureFixture) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 2, "progress": 1}}

    def fails(done: float, total: float | None, text: str) -> None:
        raise RuntimeError("boom")

    answer = _events(b"data: " + json.dumps(message).encode() + b"\n\n", ANSWER)
    async with connected(tools__call=answer) as (connection, _):
        answered = await connection.request("tools/call", {"name": "t"}, timeout_s=5, on_progress=fails)
    assert answered == {"content": []}
    assert "mcp_notification_handler_failed" in caplog.text


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


async def test_an_sse_server_is_refused_with_the_way_out() -> None:
    with pytest.raises(McpFault, match="streamable HTTP"):
        async with dialled(http_spec("http://127.0.0.1:9/", transport="sse")):
            pytest.fail("it connected")


async def test_what_breaks_inside_an_exchange_ends_that_call_alone(caplog: pytest.LogCaptureFixture) -> None:
    async with connected(tools__call=says(TEXT)) as (connection, _):
        with pytest.raises(McpFault) as caught:
            await connection.request("tools/call", {"name": {1, 2}}, timeout_s=5)
        assert caught.value.fault is Fault.PROTOCOL
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=5) == TEXT
    assert "mcp_http_exchange_failed" in caplog.text


async def test_a_lone_surrogate_in_the_arguments_is_sent_as_an_escape() -> None:
    async with connected(tools__call=says(TEXT)) as (connection, server):
        await connection.request("tools/call", {"name": "\ud800"}, timeout_s=5)
        assert b'"\\ud800"' in server.received[0].body
