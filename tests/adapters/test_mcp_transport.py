import ssl
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpcore2
import httpx2
import pytest

from hilt.adapters.mcp_transport import GATHERED_MAX_BYTES, KEPT_S, OriginTransport
from tests.mcp_servers.kit import call, http_spec, mounted
from tests.mcp_servers.raw_http import Received, http, raw_server, result
from tests.web.authority import client_context
from tests.web.world import answer, world

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Line(httpcore2.AsyncNetworkStream):
    """A connection on which every read gives the same; `ended` is what the system says of an idle one."""

    def __init__(self, network: "Lines") -> None:
        self._network = network
        self.written: list[bytes] = []
        self.closed = self.ended = False

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.written.append(buffer)
        if self._network.fails_to_write:
            raise httpcore2.WriteError("the peer does not listen")

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        await self._network.before_read()
        return self._network.reply

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        await anyio.sleep_forever()
        return self

    async def aclose(self) -> None:
        self.closed = True

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - httpcore2's
        return self.ended if info == "is_readable" else None


class Lines(httpcore2.AsyncNetworkBackend):
    """A network that keeps every connection, in the order in which they were opened."""

    def __init__(self, reply: bytes = OK) -> None:
        self.reply = reply
        self.lines: list[Line] = []
        self.fails_to_write = False
        self.before_read: Callable[[], Any] = anyio.lowlevel.checkpoint

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        self.lines.append(Line(self))
        return self.lines[-1]

    def closed(self) -> list[bool]:
        return [line.closed for line in self.lines]


async def posted(transport: OriginTransport, *, body: bytes = b"{}", url: str = "http://127.0.0.1:9/mcp") -> str:
    response = await transport.handle_async_request(httpx2.Request("POST", url, content=body))
    try:
        return (await response.aread()).decode()
    finally:
        await response.aclose()


async def posted_at_once(transport: OriginTransport, network: Lines, count: int) -> None:
    """Send requests of which none is answered before all are sent."""
    all_wait = anyio.Event()
    waiting = 0

    async def wait() -> None:
        nonlocal waiting
        waiting += 1
        if waiting == count:
            all_wait.set()
        await all_wait.wait()

    network.before_read = wait
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for _ in range(count):
                tasks.start_soon(posted, transport)


@pytest.mark.req("MCP-65")
async def test_requests_go_over_the_connections_that_are_there() -> None:
    network = Lines()
    transport = OriginTransport(network=network)
    await posted_at_once(transport, network, 8)
    await posted_at_once(transport, network, 8)
    assert network.closed() == [False] * 8
    await posted_at_once(transport, network, 9)
    assert network.closed() == [False] * 9
    await transport.aclose()
    assert network.closed() == [True] * 9


async def test_one_request_after_another_needs_one_connection() -> None:
    network = Lines()
    transport = OriginTransport(network=network)
    assert [await posted(transport) for _ in range(3)] == ["ok"] * 3
    assert network.closed() == [False]


async def test_no_more_stay_open_than_are_to_be_kept() -> None:
    network = Lines()
    transport = OriginTransport(network=network, kept_max=2)
    await posted_at_once(transport, network, 5)
    assert sorted(network.closed()) == [False, False, True, True, True]


@pytest.mark.parametrize("idle_s", [KEPT_S, KEPT_S + 1])
async def test_an_idle_connection_is_used_until_its_time_is_over(idle_s: float) -> None:
    network, now = Lines(), [100.0]
    transport = OriginTransport(network=network, monotonic=lambda: now[0])
    await posted_at_once(transport, network, 2)
    now[0] += idle_s
    await posted(transport)
    assert network.closed() == ([True, True, False] if idle_s > KEPT_S else [False, False])


async def test_connections_that_nobody_needs_any_more_are_closed_beside_the_one_in_use() -> None:
    network, now = Lines(), [100.0]
    transport = OriginTransport(network=network, monotonic=lambda: now[0])
    await posted_at_once(transport, network, 3)
    for _ in range(3):
        now[0] += KEPT_S / 2
        await posted(transport)
    assert sorted(network.closed()) == [False, True, True]


async def test_a_connection_that_the_server_has_closed_is_not_used() -> None:
    network = Lines()
    transport = OriginTransport(network=network)
    await posted(transport)
    network.lines[0].ended = True
    assert await posted(transport) == "ok"
    assert network.closed() == [True, False]


async def test_a_connection_to_another_origin_is_not_used() -> None:
    network = Lines()
    transport = OriginTransport(network=network)
    await posted(transport)
    await posted(transport, url="http://127.0.0.1:10/mcp")
    assert network.closed() == [True, False]


async def test_a_response_that_is_not_read_to_its_end_costs_its_connection() -> None:
    network = Lines(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok")
    transport = OriginTransport(network=network)
    response = await transport.handle_async_request(httpx2.Request("GET", "http://127.0.0.1:9/mcp"))
    await response.aclose()
    await response.aclose()
    assert network.closed() == [True]


async def test_a_request_is_sent_in_one_piece() -> None:
    network = Lines()
    await posted(OriginTransport(network=network), body=b'{"a": 1}')
    assert len(network.lines[0].written) == 1
    assert network.lines[0].written[0].startswith(b"POST /mcp HTTP/1.1\r\n")
    assert network.lines[0].written[0].endswith(b'\r\n\r\n{"a": 1}')


async def test_a_large_request_does_not_wait_for_the_answer() -> None:
    network = Lines()
    body = b"x" * GATHERED_MAX_BYTES
    await posted(OriginTransport(network=network), body=body)
    assert b"".join(network.lines[0].written).endswith(b"\r\n\r\n" + body)


@pytest.mark.parametrize("size", [2, GATHERED_MAX_BYTES])
async def test_what_a_server_answered_before_it_read_all_is_the_answer(size: int) -> None:
    network = Lines()
    network.fails_to_write = True
    assert await posted(OriginTransport(network=network), body=b"x" * size) == "ok"


async def test_closing_ends_what_is_in_use_and_refuses_what_comes_later() -> None:
    network = Lines()
    transport = OriginTransport(network=network)
    response = await transport.handle_async_request(httpx2.Request("GET", "http://127.0.0.1:9/mcp"))
    await transport.aclose()
    assert network.closed() == [True]
    await response.aclose()
    with pytest.raises(httpx2.ConnectError, match="closed"):
        await posted(transport)
    assert len(network.lines) == 1


@pytest.mark.req("MCP-71")
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_request_that_is_given_up_leaves_no_connection(scheme: str) -> None:
    network = Lines()
    begun = anyio.Event()

    async def wait() -> None:
        begun.set()
        await anyio.sleep_forever()

    network.before_read = wait
    transport = OriginTransport(network=network, tls=client_context())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: posted(transport, url=f"{scheme}://127.0.0.1:9/mcp"))
        with anyio.fail_after(5):
            while not network.lines or (scheme == "http" and not begun.is_set()):
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert network.closed() == [True]


async def test_tls_is_used_where_the_address_says_so(tmp_path: Path) -> None:
    async with world(tmp_path) as web:
        web.page("https://example.com/mcp", answer("safe"))
        transport = OriginTransport(tls=client_context(), network=web)
        assert await posted(transport, url="https://example.com/mcp") == "safe"
        assert [(asked.tls, asked.method) for asked in web.asked] == [(True, "POST")]
        await transport.aclose()


@pytest.mark.req("MCP-69")
async def test_every_error_of_the_library_below_is_one_of_the_client() -> None:
    errors = [kind for kind in vars(httpcore2).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(errors) > 10
    for kind in errors:
        network = Lines()

        def fail(kind: type[Exception] = kind) -> None:
            raise kind("as told")

        network.before_read = fail
        with pytest.raises(httpx2.TransportError, match="as told") as caught:
            await posted(OriginTransport(network=network))
        assert isinstance(caught.value.__cause__, kind)
        assert kind is httpcore2.ConnectionNotAvailable or type(caught.value).__name__ == kind.__name__
        assert network.closed() == [True]


async def test_an_error_in_a_body_is_one_of_the_client_and_a_fault_of_ours_is_not() -> None:
    for error, expected in ((httpcore2.ReadError("cut"), httpx2.ReadError), (KeyError("ours"), KeyError)):
        network = Lines(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok")
        transport = OriginTransport(network=network)
        response = await transport.handle_async_request(httpx2.Request("GET", "http://127.0.0.1:9/mcp"))

        def fail(error: Exception = error) -> None:
            raise error

        network.before_read = fail
        with pytest.raises(expected):
            await response.aread()
        await response.aclose()
        assert network.closed() == [True]


@pytest.mark.req("MCP-65")
async def test_calls_at_once_share_a_few_connections() -> None:
    peers: set[object] = set()

    async def answer(request: Received, stream: anyio.abc.SocketStream) -> None:
        peers.add(stream.extra(anyio.abc.SocketAttribute.remote_port))
        await stream.send(http(result(request, {"content": [{"type": "text", "text": "ok"}]})))

    async with raw_server(tools__call=answer) as server, mounted(http_spec(server.url)) as manager:

        async def calls() -> None:
            for _ in range(5):
                assert (await call(manager, "t")).content == "ok"

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(calls)
    assert 1 <= len(peers) <= 8
