"""A TCP server in the test's own loop that answers each HTTP request with bytes that the test chooses."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream

from hilt.mcp.background import background_tasks


@dataclass(slots=True)
class Received:
    """One HTTP request."""

    verb: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def rpc(self) -> dict[str, object]:
        """The JSON-RPC message, or an empty one."""
        value = json.loads(self.body) if self.body else {}
        return value if isinstance(value, dict) else {}

    @property
    def method(self) -> str:
        """The JSON-RPC method."""
        return str(self.rpc.get("method", ""))


STANDING = "standing"
"""Key of the answer to the standing stream's GET; without one it gets 405 and is not written down."""

Answer = Callable[[Received, anyio.abc.SocketStream], Awaitable[None]]


@dataclass(slots=True)
class RawServer:
    """Where it listens and what it received; `answers` maps a JSON-RPC method, or a verb, to its answer."""

    url: str
    received: list[Received] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)

    def methods(self) -> list[str]:
        """Return what was asked, in order."""
        return [request.method or request.verb for request in self.received]


def http(body: bytes, *, status: str = "200 OK", kind: str = "application/json", head: str = "") -> bytes:
    """Return a whole HTTP answer."""
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


def stream_head(kind: str = "text/event-stream") -> bytes:
    """Return the head of an answer that ends with the connection."""
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode()


def result(request: Received, value: object) -> bytes:
    """Return the JSON-RPC answer to a request."""
    return json.dumps({"jsonrpc": "2.0", "id": request.rpc.get("id"), "result": value}).encode()


def says(value: object, **more: str) -> Answer:
    """Answer with a JSON-RPC result."""

    async def answer(request: Received, stream: anyio.abc.SocketStream) -> None:
        await stream.send(http(result(request, value), **more))

    return answer


def sends(raw: bytes) -> Answer:
    """Answer with exactly these bytes and close."""

    async def answer(request: Received, stream: anyio.abc.SocketStream) -> None:
        await stream.send(raw)
        await stream.aclose()

    return answer


async def hangs(request: Received, stream: anyio.abc.SocketStream) -> None:
    """Answer nothing until the client goes away."""
    try:
        await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return


INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "raw", "version": "1"},
}


@asynccontextmanager
async def raw_server(**answers: Answer) -> AsyncIterator[RawServer]:
    """Serve on loopback; `initialize`, `tools/list` and notifications have usual answers unless others are given."""
    usual: dict[str, Answer] = {
        "server/discover": says(None, status="400 Bad Request"),
        "initialize": says(INITIALIZED, head="Mcp-Session-Id: s1\r\n"),
        "tools/list": says({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}),
        "notifications/initialized": _accepted,
        "notifications/cancelled": _accepted,
        "": _accepted,
        "DELETE": _accepted,
    }
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    server = RawServer(url=f"http://127.0.0.1:{port}/mcp", answers={**usual, **_named(answers)})
    async with listener, background_tasks() as tasks:
        tasks.start_soon(listener.serve, lambda stream: _serve(server, stream))
        yield server


def _named(answers: dict[str, Answer]) -> dict[str, Answer]:
    return {name.replace("__", "/"): answer for name, answer in answers.items()}


async def _accepted(request: Received, stream: anyio.abc.SocketStream) -> None:
    await stream.send(http(b"", status="202 Accepted"))


async def _serve(server: RawServer, stream: anyio.abc.SocketStream) -> None:
    reader = BufferedByteReceiveStream(stream)
    try:
        async with stream:
            while True:
                request = await _read(reader)
                key = request.method if request.verb == "POST" else request.verb
                if key == "GET" and "last-event-id" not in request.headers:
                    key = STANDING
                if key == STANDING and key not in server.answers:
                    await stream.send(http(b"", status="405 Method Not Allowed"))
                    continue
                server.received.append(request)
                await server.answers[key](request, stream)
    except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError):
        return


async def _read(reader: BufferedByteReceiveStream) -> Received:
    head = (await reader.receive_until(b"\r\n\r\n", 65_536)).decode("latin-1").split("\r\n")
    verb, path, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    body = await reader.receive_exactly(int(headers.get("content-length", "0")))
    return Received(verb=verb, path=path, headers=headers, body=body)
