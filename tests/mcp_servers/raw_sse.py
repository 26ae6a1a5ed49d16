"""An SSE server in the test's own loop: what it names as its endpoint, and how it takes each POST, is the test's."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import anyio.abc

from tests.mcp_servers.raw_http import INITIALIZED, STANDING, Answer, RawServer, Received, http, raw_server, stream_head


@dataclass(slots=True)
class SseServer:
    """The raw server below it, and the open event streams."""

    raw: RawServer
    streams: list[anyio.abc.SocketStream] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where its event stream is."""
        return self.raw.url

    async def push(self, raw: bytes) -> None:
        """Write bytes to the newest event stream."""
        await self.streams[-1].send(raw)

    async def say(self, message: dict[str, object]) -> None:
        """Send one JSON-RPC message as an event."""
        await self.push(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")


@asynccontextmanager
async def sse_server(
    *, endpoint: bytes | None = b"event: endpoint\ndata: /post?s=1\n\n", **answers: Answer
) -> AsyncIterator[SseServer]:
    """Serve on loopback; each request but those in `answers` is accepted and answered on the stream."""
    server: SseServer

    async def stream(request: Received, socket: anyio.abc.SocketStream) -> None:
        server.streams.append(socket)
        await socket.send(stream_head() + (endpoint or b": nothing\n\n"))
        await anyio.sleep_forever()

    def answered(value: object) -> Answer:
        async def answer(request: Received, socket: anyio.abc.SocketStream) -> None:
            await socket.send(http(b"", status="202 Accepted"))
            await server.say({"jsonrpc": "2.0", "id": request.rpc.get("id"), "result": value})

        return answer

    async def refused(request: Received, socket: anyio.abc.SocketStream) -> None:
        await socket.send(http(b"", status="202 Accepted"))
        error = {"code": -32601, "message": "Method not found"}
        await server.say({"jsonrpc": "2.0", "id": request.rpc.get("id"), "error": error})

    usual: dict[str, Answer] = {
        STANDING: stream,
        "server/discover": refused,
        "initialize": answered({**INITIALIZED, "protocolVersion": "2024-11-05"}),
        "tools/list": answered({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}),
        "tools/call": answered({"content": [{"type": "text", "text": "ok"}]}),
    }
    async with raw_server(
        **{name.replace("/", "__"): answer for name, answer in [*usual.items(), *answers.items()]}
    ) as raw:
        server = SseServer(raw)
        yield server
