import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import pytest

from hilt.adapters.mcp_channel import ChannelState, StreamEnd, StreamReport, hold_channel
from hilt.core.mcp import McpLimits
from hilt.mcp.manager import McpManager
from tests.mcp_servers.kit import call, http_spec, mounted
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

LIMITS = McpLimits(first_pause_s=0.02)
TEXT = {"content": [{"type": "text", "text": "ok"}]}
CHANGED = b'data: {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n\n'


@asynccontextmanager
async def mount(
    *, limits: McpLimits = LIMITS, protocol: str = "handshake", **answers: Answer
) -> AsyncIterator[tuple[RawServer, McpManager]]:
    async with (
        raw_server(tools__call=says(TEXT), **answers) as server,
        mounted(http_spec(server.url, protocol=protocol), limits=limits) as manager,
    ):
        yield server, manager


async def until(true: Callable[[], bool]) -> None:
    with anyio.fail_after(5):
        while not true():
            await anyio.sleep(0.005)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage().split(" ")[0] for r in caplog.records if r.levelno >= logging.WARNING]


def stays_open(*chunks: bytes) -> Answer:
    async def answer(request: Received, stream: anyio.abc.SocketStream) -> None:
        await stream.send(stream_head() + b"".join(chunks))
        await hangs(request, stream)

    return answer


@pytest.mark.req("MCP-96")
async def test_a_change_on_the_get_stream_marks_the_list_stale_and_asks_nothing() -> None:
    kinds = (b"tools", b"prompts", b"resources")
    stream = stays_open(b": hello\n\n", b"data: no message\n\n", *(CHANGED.replace(b"tools", kind) for kind in kinds))
    async with mount(standing=stream) as (server, manager):
        await until(lambda: len(manager.servers[0].stale) == 3)
        assert set(manager.servers[0].stale) == {"tools", "prompts", "resources"}
        assert server.methods().count("tools/list") == 1
        get = next(request for request in server.received if request.verb == "GET")
        assert get.headers["mcp-session-id"] == "s1"
        assert get.headers["accept"] == "text/event-stream"
        assert get.headers["mcp-protocol-version"] == "2025-11-25"
        assert server.methods().count("GET") == 1


@pytest.mark.req("MCP-102")
async def test_a_server_without_a_standing_stream_is_asked_once_and_nothing_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    no = sends(http(b"", status="405 Method Not Allowed"))
    async with mount(standing=no) as (server, manager):
        await until(lambda: "GET" in server.methods())
        await anyio.sleep(0.2)
        assert server.methods().count("GET") == 1
        assert (await call(manager, "t")).content == "ok"
    assert warnings(caplog) == []


async def _reset(request: Received, stream: anyio.abc.SocketStream) -> None:
    await stream.aclose()


@pytest.mark.req("MCP-102")
@pytest.mark.parametrize(
    "hostile",
    [
        sends(stream_head()),
        sends(http(b"", status="500 Broken")),
        sends(http(b"", status="404 Gone")),
        sends(http(b"<html>", kind="text/html")),
        sends(stream_head() + b"data: " + b"x" * 70_000),
        _reset,
    ],
)
async def test_three_failed_standing_streams_end_the_channel_for_good_with_one_warning(
    hostile: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    limits = McpLimits(first_pause_s=0.02, message_max_bytes=65_536)
    async with mount(standing=hostile, limits=limits) as (server, manager):
        await until(lambda: server.methods().count("GET") == 3)
        await until(lambda: bool(warnings(caplog)))
        assert (await call(manager, "t")).content == "ok"
        server.answers["tools/call"] = sends(http(b"", status="404 Gone"))
        await call(manager, "t")
        await until(lambda: server.methods().count("initialize") == 2)
        server.answers["tools/call"] = says(TEXT)
        assert (await call(manager, "t")).content == "ok"
        await anyio.sleep(0.1)
        assert server.methods().count("GET") == 3
    assert warnings(caplog) == ["mcp_standing_channel_given_up"]


@pytest.mark.req("MCP-102")
async def test_a_stream_that_was_of_use_is_opened_again_after_the_server_s_pause_and_where_it_ended() -> None:
    async with mount(standing=sends(stream_head() + b"id: 7\nretry: 30\n\n"), GET=stays_open(CHANGED)) as (
        server,
        manager,
    ):
        await until(lambda: "tools" in manager.servers[0].stale)
        gets = [request.headers.get("last-event-id") for request in server.received if request.verb == "GET"]
    assert gets == [None, "7"]


@pytest.mark.req("MCP-102")
async def test_failures_count_in_a_row_and_a_stream_that_lasts_starts_the_count_anew() -> None:
    state = ChannelState("s")
    failed, over = StreamReport(end=StreamEnd.FAILED), StreamReport(end=StreamEnd.OVER)
    assert state.note(failed, 0.1)
    assert state.note(over, 0.1)
    assert state.note(over, 6.0)
    assert state.note(failed, 9.0)
    assert state.note(StreamReport(end=StreamEnd.FAILED, heard=True), 9.0)
    assert state.note(StreamReport(end=StreamEnd.FAILED, heard=True), 0.1)
    assert state.note(StreamReport(end=StreamEnd.OVER, heard=True), 0.1)
    assert not state.is_over
    assert state.note(failed, 0.1)
    assert state.note(failed, 0.1)
    assert not state.note(over, 0.1)
    assert state.is_over


async def test_a_channel_that_is_over_opens_nothing() -> None:
    async def never() -> StreamReport:
        raise AssertionError("it opened a stream")

    state = ChannelState("s")
    state.note(StreamReport(end=StreamEnd.NOT_OFFERED), 0.0)
    await hold_channel(never, state, lambda: None)


async def test_a_stream_that_ends_again_and_again_is_opened_less_and_less_often() -> None:
    opened: list[float] = []
    gaps: list[None] = []

    async def short() -> StreamReport:
        opened.append(anyio.current_time())
        return StreamReport(end=StreamEnd.OVER, heard=True)

    with anyio.move_on_after(0.5):
        await hold_channel(short, ChannelState("s", first_pause_s=0.02), lambda: gaps.append(None))
    assert 4 <= len(opened) <= 7
    assert len(gaps) == len(opened)


# ---------------------------------------------------------------- the stateless era

DISCOVERED = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {"listChanged": True}, "prompts": {"listChanged": False}, "resources": {}},
    "resultType": "complete",
}
ACKNOWLEDGED = (
    b'data: {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",'
    b' "params": {"notifications": {"toolsListChanged": true}}}\n\n'
)


@pytest.mark.req("MCP-96", "MCP-45")
async def test_a_stateless_server_is_listened_to_for_the_lists_that_it_promises_to_tell_of() -> None:
    async with mount(
        protocol="stateless", server__discover=says(DISCOVERED), subscriptions__listen=stays_open(ACKNOWLEDGED, CHANGED)
    ) as (server, manager):
        await until(lambda: "tools" in manager.servers[0].stale)
        asked = next(request.rpc for request in server.received if request.method == "subscriptions/listen")
        assert server.methods().count("tools/list") == 1
        assert "GET" not in server.methods()
    params = asked["params"]
    assert isinstance(params, dict)
    assert params["notifications"] == {"toolsListChanged": True}
    assert "_meta" in params


@pytest.mark.req("MCP-102")
async def test_a_stateless_server_that_does_not_listen_is_asked_once(caplog: pytest.LogCaptureFixture) -> None:
    async def unknown(request: Received, stream: anyio.abc.SocketStream) -> None:
        error = {"jsonrpc": "2.0", "id": request.rpc["id"], "error": {"code": -32601, "message": "no"}}
        await stream.send(http(json.dumps(error).encode()))

    async with mount(protocol="stateless", server__discover=says(DISCOVERED), subscriptions__listen=unknown) as (
        server,
        manager,
    ):
        await until(lambda: "subscriptions/listen" in server.methods())
        await anyio.sleep(0.1)
        assert (await call(manager, "t")).content == "ok"
        assert server.methods().count("subscriptions/listen") == 1
    assert warnings(caplog) == []


@pytest.mark.req("MCP-102")
async def test_three_subscriptions_that_are_cut_at_once_end_the_channel(caplog: pytest.LogCaptureFixture) -> None:
    async with mount(
        protocol="stateless", server__discover=says(DISCOVERED), subscriptions__listen=sends(stream_head())
    ) as (server, manager):
        await until(lambda: bool(warnings(caplog)))
        assert (await call(manager, "t")).content == "ok"
        assert server.methods().count("subscriptions/listen") == 3
    assert warnings(caplog) == ["mcp_standing_channel_given_up"]


async def test_a_subscription_that_the_server_ends_is_opened_again() -> None:
    async def ends(request: Received, stream: anyio.abc.SocketStream) -> None:
        await stream.send(stream_head() + ACKNOWLEDGED + b"data: " + result(request, {}) + b"\n\n")
        await stream.aclose()

    async with mount(protocol="stateless", server__discover=says(DISCOVERED), subscriptions__listen=ends) as (
        server,
        _,
    ):
        await until(lambda: server.methods().count("subscriptions/listen") == 3)


async def test_a_stateless_server_that_promises_no_notices_is_not_listened_to() -> None:
    silent = {**DISCOVERED, "capabilities": {"tools": {}}}
    async with mount(protocol="stateless", server__discover=says(silent)) as (server, manager):
        assert (await call(manager, "t")).content == "ok"
        assert "subscriptions/listen" not in server.methods()
