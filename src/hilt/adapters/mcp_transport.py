"""The HTTP connections to one MCP server: taken and given back without a look at the others.

A general pool looks at all of its connections twice a request and asks the system about each idle one, which with
many calls at once costs more than the calls. Here all lead to one origin, so that any idle one will do.
"""

import ssl
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager, suppress
from functools import partial
from typing import Any, Final, cast

import anyio
import httpcore2
import httpx2

KEPT_MAX: Final = 64
"""As many as often run at once are kept alive; of all there is no bound, as calls that hang may not hold others up."""

KEPT_S: Final = 5.0
"""Servers close what is idle; a request on a connection that is closed meanwhile is lost."""

GATHERED_MAX_BYTES: Final = 64 * 1024

_SAME: Final[dict[type[BaseException], type[httpx2.TransportError]]] = {
    httpcore2.ConnectError: httpx2.ConnectError,
    httpcore2.ConnectTimeout: httpx2.ConnectTimeout,
    httpcore2.ConnectionNotAvailable: httpx2.ConnectError,
    httpcore2.LocalProtocolError: httpx2.LocalProtocolError,
    httpcore2.NetworkError: httpx2.NetworkError,
    httpcore2.PoolTimeout: httpx2.PoolTimeout,
    httpcore2.ProtocolError: httpx2.ProtocolError,
    httpcore2.ProxyError: httpx2.ProxyError,
    httpcore2.ReadError: httpx2.ReadError,
    httpcore2.ReadTimeout: httpx2.ReadTimeout,
    httpcore2.RemoteProtocolError: httpx2.RemoteProtocolError,
    httpcore2.TimeoutException: httpx2.TimeoutException,
    httpcore2.UnsupportedProtocol: httpx2.UnsupportedProtocol,
    httpcore2.WriteError: httpx2.WriteError,
    httpcore2.WriteTimeout: httpx2.WriteTimeout,
}


class OriginTransport(httpx2.AsyncBaseTransport):
    """Sends requests to one origin over HTTP/1.1, each on the idle connection that was used last, or on a new one.

    `tls` is for https; `network` opens the connections, of which at most `kept_max` stay open for later requests.
    """

    def __init__(
        self,
        *,
        tls: ssl.SSLContext | None = None,
        network: httpcore2.AsyncNetworkBackend | None = None,
        kept_max: int = KEPT_MAX,
        monotonic: Callable[[], float] = anyio.current_time,
    ) -> None:
        self._tls = tls
        self._kept_max = kept_max
        self._monotonic = monotonic
        self._network = _GatheringNetwork(network or httpcore2.AnyIOBackend())
        self._idle: deque[tuple[httpcore2.AsyncHTTPConnection, float]] = deque()
        self._busy: set[httpcore2.AsyncHTTPConnection] = set()
        self._closed = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request and return its response, whose body is read and closed by the caller.

        Raises:
            httpx2.TransportError: The connection failed, or all are closed.
        """
        if self._closed:
            raise httpx2.ConnectError("the connection is closed")
        url = request.url
        target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        message = httpcore2.Request(
            request.method,
            target,
            headers=request.headers.raw,
            content=cast(httpx2.AsyncByteStream, request.stream),
            extensions=request.extensions,
        )
        connection = await self._taken(target.origin)
        try:
            with _same_errors():
                answer = await connection.handle_async_request(message)
        except BaseException:
            self._busy.discard(connection)
            await _close(connection)
            raise
        return httpx2.Response(
            answer.status,
            headers=answer.headers,
            stream=_Body(answer, partial(self._given_back, connection)),
            extensions=answer.extensions,
        )

    async def _taken(self, origin: httpcore2.Origin) -> httpcore2.AsyncHTTPConnection:
        while self._idle:
            connection, since = self._idle.pop()
            fresh = self._monotonic() - since <= KEPT_S
            # An idle connection expires when there is something to read of it: the server has closed it.
            if fresh and connection.can_handle_request(origin) and not connection.has_expired():
                break
            await _close(connection)
        else:
            connection = httpcore2.AsyncHTTPConnection(origin, self._tls, network_backend=self._network)
        self._busy.add(connection)
        return connection

    async def _given_back(self, connection: httpcore2.AsyncHTTPConnection) -> None:
        self._busy.discard(connection)
        if self._closed or not connection.is_idle():
            await _close(connection)
            return
        now = self._monotonic()
        self._idle.append((connection, now))
        while len(self._idle) > self._kept_max or now - self._idle[0][1] > KEPT_S:
            await _close(self._idle.popleft()[0])

    async def aclose(self) -> None:
        """Close every connection, also those in use; later requests are refused."""
        self._closed = True
        open_now = [*self._busy, *(connection for connection, _ in self._idle)]
        self._busy.clear()
        self._idle.clear()
        for connection in open_now:
            await _close(connection)


class _Body(httpx2.AsyncByteStream):
    """What comes of a response; its end, or its close, gives the connection back."""

    def __init__(self, answer: httpcore2.Response, give_back: Callable[[], Awaitable[None]]) -> None:
        self._answer = answer
        self._stream = cast(AsyncIterable[bytes], answer.stream)
        self._give_back = give_back
        self._open = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _same_errors():
            async with aclosing(cast(AsyncGenerator[bytes], aiter(self._stream))) as pieces:
                async for piece in pieces:
                    yield piece

    async def aclose(self) -> None:
        if self._open:
            self._open = False
            with anyio.CancelScope(shield=True):
                try:
                    await self._answer.aclose()
                finally:
                    await self._give_back()


class _GatheringNetwork(httpcore2.AsyncNetworkBackend):
    """Opens connections that send a request in one piece."""

    def __init__(self, network: httpcore2.AsyncNetworkBackend) -> None:
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # the name is httpcore2's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        return _Gathered(await self._network.connect_tcp(host, port, timeout, local_address, socket_options))


class _Gathered(httpcore2.AsyncNetworkStream):
    """Holds the head of a request back until its body, or the wait for its answer, sends both at once.

    Head and body each in a packet of their own wake the server twice.
    """

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._held: list[bytes] = []
        self._size = 0

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._held.append(buffer)
        self._size += len(buffer)
        if self._size > GATHERED_MAX_BYTES:
            await self._send(timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._held:
            # What cannot be sent to its end may still have been answered.
            with suppress(httpcore2.WriteError):
                await self._send(timeout)
        return await self._stream.read(max_bytes, timeout)

    async def _send(self, timeout: float | None) -> None:
        whole = b"".join(self._held)
        self._held.clear()
        self._size = 0
        await self._stream.write(whole, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        try:
            return _Gathered(await self._stream.start_tls(ssl_context, server_hostname, timeout))
        except BaseException:
            # A caller that gives up meanwhile would leave the socket open.
            with anyio.CancelScope(shield=True):
                await self._stream.aclose()
            raise

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - httpcore2's
        return self._stream.get_extra_info(info)


@contextmanager
def _same_errors() -> Iterator[None]:
    """Raise the errors of httpcore2 as those of httpx2."""
    try:
        yield
    except Exception as exc:
        same = next((_SAME[kind] for kind in type(exc).__mro__ if kind in _SAME), None)
        if same is None:
            raise
        raise same(str(exc)) from exc


async def _close(connection: httpcore2.AsyncHTTPConnection) -> None:
    with anyio.CancelScope(shield=True):
        await connection.aclose()
