"""A provider on loopback that plays prepared replies over HTTP/1.1 and keeps what it was sent."""

import json
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

import anyio
from anyio.abc import ByteStream, SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

End = Literal["whole", "drop", "hang"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer to one request.

    `pieces` are the chunks of the body. `end`: `whole` ends the body as HTTP says, `drop` closes the
    connection without that, `hang` waits for the other side to close.
    """

    pieces: Sequence[str] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    end: End = "whole"
    media_type: str = "text/event-stream"


def refusal(status: int, body: object, **headers: str) -> Reply:
    """Return an error reply with a JSON body; `retry_after="2"` becomes the header Retry-After."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(pieces=[json.dumps(body)], status=status, headers=named, media_type="application/json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request as it came; header names in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]

    def at(self, *path: str | int) -> object:
        """Return what stands at a path of keys and indexes of the body."""
        found: object = self.body
        for step in path:
            if isinstance(step, int):
                assert isinstance(found, list), (path, found)
                found = found[step]
            else:
                assert isinstance(found, dict), (path, found)
                found = found[step]
        return found


class ProviderServer:
    """Gives its replies in order, one a request."""

    def __init__(self, port: int, replies: Sequence[Reply]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.requests: list[Seen] = []
        self.replied = anyio.Event()
        self.closed = anyio.Event()
        self._replies = deque(replies)

    async def answer(self, stream: SocketStream) -> None:
        async with stream:
            reader = BufferedByteReceiveStream(stream)
            head = (await reader.receive_until(b"\r\n\r\n", 65536)).decode("latin-1").split("\r\n")
            headers = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in head[1:]}
            body = json.loads(await reader.receive_exactly(int(headers.get("content-length", "0"))))
            self.requests.append(Seen(path=head[0].split(" ")[1], headers=headers, body=body))
            await self._reply(stream, reader, self._replies.popleft())

    async def _reply(self, stream: ByteStream, reader: BufferedByteReceiveStream, reply: Reply) -> None:
        lines = [f"HTTP/1.1 {reply.status} X", f"content-type: {reply.media_type}", "connection: close"]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        await stream.send("\r\n".join([*lines, "transfer-encoding: chunked", "", ""]).encode())
        for piece in reply.pieces:
            encoded = piece.encode()
            await stream.send(f"{len(encoded):x}\r\n".encode() + encoded + b"\r\n")
        self.replied.set()
        if reply.end == "whole":
            await stream.send(b"0\r\n\r\n")
        elif reply.end == "hang":
            with anyio.fail_after(5):
                try:
                    await reader.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    self.closed.set()


@asynccontextmanager
async def provider(*replies: Reply) -> AsyncIterator[ProviderServer]:
    """Serve these replies while the block runs."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
        port = listener.extra(SocketAttribute.local_port)
        server = ProviderServer(port, replies)
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, server.answer)
            yield server
            group.cancel_scope.cancel()
