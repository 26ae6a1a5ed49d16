import json
from pathlib import Path

import anyio
import anyio.abc
import pytest

from hilt.ports.mcp import Fault, McpFault
from tests.mcp_servers.far import ANSWER, TEXT, connected, events, fault_of_call
from tests.mcp_servers.kit import SDK_SERVER, call, http_spec, mounted, serving, tool_of
from tests.mcp_servers.raw_http import (
    INITIALIZED,
    Answer,
    Received,
    hangs,
    http,
    result,
    says,
    sends,
    stream_head,
)


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


@pytest.mark.req("MCP-24")
async def test_cookies_that_a_server_sets_come_back_to_it_alone() -> None:
    sticky = says(INITIALIZED, head="Set-Cookie: node=7; Path=/mcp\r\nSet-Cookie: other=8; Path=/elsewhere\r\n")
    async with connected(initialize=sticky, tools__call=says(TEXT)) as (connection, server):
        await connection.request("tools/call", {"name": "t"}, timeout_s=5)
        assert server.received[-1].headers["cookie"] == "node=7"
    async with connected(tools__call=says(TEXT)) as (connection, server):
        await connection.request("tools/call", {"name": "t"}, timeout_s=5)
        assert "cookie" not in server.received[-1].headers


@pytest.mark.req("MCP-09")
async def test_the_sender_of_a_request_is_named_and_may_be_configured() -> None:
    for headers, name in (({}, "python-httpx2/"), ({"User-Agent": "mine"}, "mine")):
        async with connected(headers=headers, tools__call=says(TEXT)) as (connection, server):
            await connection.request("tools/call", {"name": "t"}, timeout_s=5)
            assert server.received[-1].headers["user-agent"].startswith(name)


@pytest.mark.req("MCP-24", "MCP-25")
async def test_an_answer_is_found_behind_other_messages_of_its_stream() -> None:
    answer = events(
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
    cut = events(b"id: r-1\nretry: 100\ndata:\n\n")
    request_id = ""

    async def resume(request: Received, stream: anyio.abc.SocketStream) -> None:
        assert request.headers["last-event-id"] == "r-1"
        await stream.send(stream_head() + ANSWER.replace(b"@ID@", request_id.encode()))
        await stream.aclose()

    async with connected(tools__call=cut, GET=resume) as (connection, server):
        request_id = "2"
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=5) == {"content": []}
        assert server.methods() == ["tools/call", "GET"]


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


@pytest.mark.req("MCP-28")
async def test_a_message_of_many_mebibytes_is_read_whole() -> None:
    big = {"content": [{"type": "text", "text": "é" * 4_000_000}]}
    async with connected(tools__call=says(big)) as (connection, _):
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=20) == big


@pytest.mark.req("MCP-68", "MCP-78")
async def test_a_deadline_tells_the_server_and_the_connection_stays() -> None:
    async with connected(tools__call=hangs) as (connection, server):
        assert (await fault_of_call(connection, timeout_s=0.1)).fault is Fault.TIMEOUT
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
            assert (await fault_of_call(connection)).fault is Fault.CLOSED

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

    async with connected(tools__call=events(b"data: " + ask + b"\n\n", ANSWER)) as (connection, server):
        server.answers[""] = take
        await connection.request("tools/call", {"name": "t"}, timeout_s=5)
        with anyio.fail_after(5):
            await answered.wait()
    assert bodies == [{"jsonrpc": "2.0", "id": request_id, **answer}]


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
    async with connected(tools__call=events(*reports, ANSWER)) as (connection, server):
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

    answer = events(b"data: " + json.dumps(message).encode() + b"\n\n", ANSWER)
    async with connected(tools__call=answer) as (connection, _):
        answered = await connection.request("tools/call", {"name": "t"}, timeout_s=5, on_progress=fails)
    assert answered == {"content": []}
    assert "mcp_notification_handler_failed" in caplog.text


async def test_a_lone_surrogate_in_the_arguments_is_sent_as_an_escape() -> None:
    async with connected(tools__call=says(TEXT)) as (connection, server):
        await connection.request("tools/call", {"name": "\ud800"}, timeout_s=5)
        assert b'"\\ud800"' in server.received[0].body
