"""One list of a server, kept until the server declares that it changed."""

import logging
from collections.abc import Awaitable, Callable, MutableSet
from typing import Generic, TypeVar

import anyio

from hilt.mcp.failure import CallFailedError, log_text
from hilt.ports.mcp import McpFault

logger = logging.getLogger(__name__)

T = TypeVar("T")


class ServerList(Generic[T]):
    """What one list gave when it was read last; `kind` is its name in the protocol.

    `stale` is shared with the server's notifications: while it holds `kind`, the next reader reads anew. Readers at
    the same time share one reading; a notice that comes while it is under way leaves the list stale. Where a
    reading fails, the old list is used and stays stale, and one WARN is logged until a reading succeeds.
    """

    def __init__(
        self, server: str, kind: str, read: Callable[[], Awaitable[T]], *, empty: T, stale: MutableSet[str]
    ) -> None:
        self._server = server
        self._kind = kind
        self._read = read
        self._value = empty
        self._stale = stale
        self._known = False
        self._warned = False
        self._readings = 0
        self._lock = anyio.Lock()

    @property
    def known(self) -> T:
        """The list as it was read last, without asking the server."""
        return self._value

    @property
    def due(self) -> bool:
        """Whether the next reader waits: for a reading under way, or for one of its own."""
        return self._kind in self._stale or self._lock.locked()

    def put(self, value: T) -> None:
        """Take what the list gave when its server was started."""
        self._value = value
        self._known = True

    async def value(self) -> T:
        """Return the list; it is read where it never was, or is stale. A failed reading is logged, not raised."""
        if self._known and not self.due:
            return self._value
        before = self._readings
        async with self._lock:
            if before == self._readings:
                await self._read_again()
        return self._value

    async def _read_again(self) -> None:
        self._stale.discard(self._kind)
        done = False
        try:
            self._value = await self._read()
            done = self._known = True
            self._warned = False
        except (McpFault, CallFailedError) as exc:
            if not self._warned:
                self._warned = True
                cause = log_text(str(exc))
                logger.warning("mcp_list_failed server=%s list=%s cause=%s", self._server, self._kind, cause)
            self._readings += 1
        else:
            self._readings += 1
        finally:
            # A reader that was cancelled has read nothing: the next one in line reads.
            if not done and self._known:
                self._stale.add(self._kind)
