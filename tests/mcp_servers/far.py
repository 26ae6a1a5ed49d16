"""Connects to a raw HTTP server and calls a tool of it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import pytest

from hilt.core.mcp import McpLimits
from hilt.ports.mcp import McpConnection, McpFault
from tests.mcp_servers.kit import dialled, http_spec
from tests.mcp_servers.raw_http import (
    Answer,
    RawServer,
    Received,
    raw_server,
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


async def fault_of_call(connection: McpConnection, *, timeout_s: float = 5.0) -> McpFault:
    with anyio.fail_after(6), pytest.raises(McpFault) as caught:
        await connection.request("tools/call", {"name": "t"}, timeout_s=timeout_s)
    return caught.value


def events(*events: bytes) -> Answer:
    async def answer(request: Received, stream: anyio.abc.SocketStream) -> None:
        request_id = json.dumps(request.rpc.get("id")).encode()
        raw = b"".join(events).replace(b"@ID@", request_id)
        await stream.send(stream_head() + raw)
        await stream.aclose()

    return answer


ANSWER = b'data: {"jsonrpc": "2.0", "id": @ID@, "result": {"content": []}}\n\n'
