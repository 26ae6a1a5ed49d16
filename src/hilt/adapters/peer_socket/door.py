"""Listens at a UNIX socket or a TCP port and hands over the frames that come in; whoever dials costs little.

A connection carries one frame and its answer, within a deadline; when there are too many, the one that is open for the
longest is cut off, so that those who drip or only hold on keep nobody out.
"""

import errno
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio.abc import Listener, SocketStream, TaskGroup

from hilt.adapters.peer_socket import place
from hilt.adapters.peer_socket.frames import FrameTooLargeError, read_frame, write_frame
from hilt.core.envelope import FRAME_MAX_BYTES
from hilt.core.errors import ConfigError
from hilt.core.peer import TcpAddress, UnixAddress
from hilt.ports.peer import PlaceTakenError, Receive

logger = logging.getLogger(__name__)

CONNECTIONS_MAX: Final = 64
CONNECTION_S: Final = 15.0
CLOSE_S: Final = 5.0


class SocketDoor:
    """One address of an agent; see `PeerDoor`. It is served by a task of the group until it is closed."""

    def __init__(
        self,
        address: UnixAddress | TcpAddress,
        tasks: TaskGroup,
        *,
        connections_max: int = CONNECTIONS_MAX,
        connection_s: float = CONNECTION_S,
    ) -> None:
        self._address = address
        self._tasks = tasks
        self._connections_max = connections_max
        self._connection_s = connection_s
        self._open: dict[anyio.CancelScope, None] = {}
        self._scope = anyio.CancelScope()
        self._ended: anyio.Event | None = None

    async def open(self, receive: Receive) -> None:
        """See `PeerDoor.open`."""
        try:
            listener, close = await self._listening()
        except TimeoutError:
            raise ConfigError("another process holds its folder; try again") from None
        except OSError as exc:
            if exc.errno == errno.EADDRINUSE:
                raise PlaceTakenError("another process listens there") from None
            raise ConfigError(f"nobody can listen there: {exc.strerror or exc}") from None
        self._scope, self._ended = anyio.CancelScope(), anyio.Event()
        self._tasks.start_soon(self._serve, listener, close, receive, name=f"peers at {self._address}")

    async def aclose(self) -> None:
        """See `PeerDoor.aclose`."""
        if self._ended is not None:
            self._scope.cancel()
            await self._ended.wait()

    async def _listening(self) -> tuple[Listener[SocketStream], Callable[[], Awaitable[None]]]:
        address = self._address
        if isinstance(address, TcpAddress):
            return await anyio.create_tcp_listener(local_host=address.host, local_port=address.port), _nothing
        listener, inode = await place.taken(address.path)
        return listener, lambda: place.given_back(address.path, inode)

    async def _serve(
        self, listener: Listener[SocketStream], close: Callable[[], Awaitable[None]], receive: Receive
    ) -> None:
        async def handle(stream: SocketStream) -> None:
            await self._handle(stream, receive)

        try:
            with self._scope:
                await listener.serve(handle)
        finally:
            with anyio.move_on_after(CLOSE_S, shield=True):
                await self._closed(listener, close)
            if self._ended is not None:
                self._ended.set()

    async def _closed(self, listener: Listener[SocketStream], close: Callable[[], Awaitable[None]]) -> None:
        await listener.aclose()
        try:
            await close()
        except (OSError, TimeoutError) as exc:
            logger.warning("peer_socket_left address=%s why=%s", self._address, exc)

    async def _handle(self, stream: SocketStream, receive: Receive) -> None:
        """Serve one connection; whatever goes wrong on it ends it alone."""
        with anyio.move_on_after(self._connection_s) as scope:
            self._admit(scope)
            try:
                async with stream:
                    frame = await read_frame(stream, most=FRAME_MAX_BYTES)
                    answer = receive(frame)
                    if answer:
                        await write_frame(stream, answer)
            except FrameTooLargeError as exc:
                logger.info("peer_frame_refused address=%s why=%s", self._address, exc)
            except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                logger.debug("peer_connection_ended address=%s", self._address)
            except Exception:
                logger.exception("peer_connection_failed address=%s", self._address)
            finally:
                self._open.pop(scope, None)

    def _admit(self, scope: anyio.CancelScope) -> None:
        if len(self._open) >= self._connections_max:
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.cancel()
            logger.debug("peer_connection_cut address=%s why=too many are open", self._address)
        self._open[scope] = None


async def _nothing() -> None:
    """Give back nothing: the system frees a port."""
