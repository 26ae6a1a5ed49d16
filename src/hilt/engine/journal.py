"""Carries a session's events to its event log: in order, in batches, without ever delaying a run on its own."""

import logging

import anyio

from hilt.core.event import Event
from hilt.core.session import SessionId
from hilt.ports.store import EventLog

logger = logging.getLogger(__name__)


class Journal:
    """Collects events and appends them; what an append could not write is kept for the next one."""

    def __init__(self, log: EventLog, session_id: SessionId) -> None:
        self._log = log
        self._session_id = session_id
        self._waiting: list[Event] = []
        self._durable = False
        self._lock = anyio.Lock()
        self._arrived = anyio.Event()

    def take(self, event: Event) -> None:
        """Receive one event."""
        self._waiting.append(event)
        self._arrived.set()

    async def write(self, durable: bool = False) -> None:
        """Append everything that waits; with `durable` it is on stable storage when this returns.

        Raises:
            Exception: The log could not be written; the events wait for the next try.
        """
        # Whoever writes what waits now must flush it, even when that is not this caller.
        self._durable = self._durable or durable
        async with self._lock:
            batch, self._waiting = self._waiting, []
            if not batch:
                return
            flush, self._durable = self._durable, False
            try:
                await self._log.append(self._session_id, batch, durable=flush)
            except BaseException:
                self._waiting = batch + self._waiting
                self._durable = self._durable or flush
                raise

    async def run(self) -> None:
        """Write as events arrive, until cancelled."""
        told = False
        while True:
            await self._arrived.wait()
            self._arrived = anyio.Event()
            try:
                await self.write()
            except Exception:
                if not told:
                    told = True
                    logger.exception("event_log_failed session=%s", self._session_id)
