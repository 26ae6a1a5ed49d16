"""A public web on loopback: names, addresses and servers that answer for them, with everything recorded."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.abc
import httpcore2
from anyio.streams.tls import TLSListener

from hilt.adapters.fetch_http import FetchLimits, HttpFetcher
from tests.web.authority import client_context, server_context

PUBLIC = "93.184.215.14"
HOSTS = (
    *("example.com", "other.example", "docs.example.com", "redir.test", "redir-loop.test", "dual.test", "dns64.test"),
    *("rebind.test", "rebind2.test", "xn--bcher-kva.example", "1.1.1.1", "::ffff:93.184.215.14"),
    "2606:2800:21f:cb07:6820:80da:af6b:8b2c",
)

Handler = Callable[[anyio.abc.ByteStream], Awaitable[None]]
Page = bytes | Handler


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as a server got it; header names in lower case."""

    tls: bool
    method: str
    target: str
    headers: Mapping[str, str]


@dataclass(kw_only=True)
class World(httpcore2.AsyncNetworkBackend):
    """`names` are the answers to successive queries for a host; `pages` are by host and target.

    `looked_up` and `dialled` are what was asked of resolver and network, in order.
    """

    names: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    pages: dict[tuple[str, str], Page] = field(default_factory=dict)
    looked_up: list[str] = field(default_factory=list)
    dialled: list[tuple[str, int]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    dead: set[str] = field(default_factory=set)
    ports: dict[bool, int] = field(default_factory=dict)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Answer for a name; the last answer stays."""
        self.looked_up.append(host)
        answers = self.names.get(host)
        if answers is None:
            raise OSError("no such name")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Record the address, and connect to the server on loopback that stands for every address."""
        self.dialled.append((host, port))
        if host in self.dead:
            raise httpcore2.ConnectError(f"cannot reach {host}")
        return await httpcore2.AnyIOBackend().connect_tcp("127.0.0.1", self.ports[port != 80], timeout=timeout)

    def page(self, url: str, page: Page) -> None:
        """Serve `page` at a URL; its host resolves to a public address."""
        host, _, target = url.partition("://")[2].partition("/")
        self.pages[host, f"/{target}"] = page
        self.names.setdefault(host.partition(":")[0], [(PUBLIC,)])

    def fetcher(self, limits: FetchLimits | None = None) -> HttpFetcher:
        """Return a fetcher for this web."""
        return HttpFetcher(limits=limits, resolve=self.resolve, network=self, tls=client_context())

    async def serve(self, stream: anyio.abc.ByteStream, *, tls: bool) -> None:
        """Answer one request."""
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                try:
                    head += await stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError, ssl.SSLError):
                    return
            first, *lines = head.decode("latin-1").strip().split("\r\n")
            method, target, _ = first.split(" ")
            headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines}
            self.asked.append(Asked(tls=tls, method=method, target=target, headers=headers))
            page = self.pages.get((headers["host"], target), answer("nothing here", status=404))
            try:
                if isinstance(page, bytes):
                    await stream.send(page)
                else:
                    await page(stream)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError):
                return


def answer(body: bytes | str, content_type: str = "text/plain", *, status: int = 200, **headers: str) -> bytes:
    """Return the bytes of a whole answer; `x_a="1"` becomes the header `x-a`; an empty type is left out."""
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Said", f"content-length: {len(content)}"]
    lines += [f"content-type: {content_type}"] if content_type else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


def redirect(location: str, status: int = 302) -> bytes:
    """Return a redirect."""
    return answer("", status=status, location=location)


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    """Serve a web until the block ends."""
    web = World()
    plain = await anyio.create_tcp_listener(local_host="127.0.0.1")
    inner = await anyio.create_tcp_listener(local_host="127.0.0.1")
    secure = TLSListener(inner, server_context(folder, HOSTS), standard_compatible=False)
    web.ports[False] = plain.extra(anyio.abc.SocketAttribute.local_port)
    web.ports[True] = inner.extra(anyio.abc.SocketAttribute.local_port)

    async def plainly(stream: anyio.abc.ByteStream) -> None:
        await web.serve(stream, tls=False)

    async def securely(stream: anyio.abc.ByteStream) -> None:
        await web.serve(stream, tls=True)

    async with plain, secure, anyio.create_task_group() as tasks:
        tasks.start_soon(plain.serve, plainly)
        tasks.start_soon(secure.serve, securely)
        yield web
        tasks.cancel_scope.cancel()
