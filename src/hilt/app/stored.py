"""The stored sessions, without building an application: `hilt sessions`."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from hilt.adapters.clock_system import SystemClock
from hilt.app.config import Config
from hilt.app.secrets import redactor
from hilt.app.stores import StoreSetup, open_store
from hilt.core.errors import RequestError, SessionNotFoundError
from hilt.core.session import SessionId, SessionRecord
from hilt.ports.store import SessionCheck, SessionHold, ToolCallReader


class StoredSessions(AbstractContextManager["StoredSessions"]):
    """The sessions of the configured store, to look at and to delete."""

    def __init__(self, config: Config) -> None:
        setup = StoreSetup(clock=SystemClock(), redactor=redactor(config.environment), state_dir=config.state_dir)
        self._store = open_store(config.sessions.store, setup, reading=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._store.close()

    async def page(self, *, cursor: str = "", limit: int = 50) -> tuple[Sequence[SessionRecord], str]:
        """Return a page by time of creation, and the next cursor, "" at the end.

        Raises:
            RequestError: The cursor is none of this store.
        """
        return await self._store.sessions.list(cursor=cursor, limit=limit)

    async def damaged(self) -> Sequence[str]:
        """Return what is wrong with the records that cannot be read; nothing for a store that cannot tell."""
        store = self._store.sessions
        return await store.damaged() if isinstance(store, SessionCheck) else ()

    async def show(self, session_id: str) -> SessionRecord:
        """Return the record.

        Raises:
            SessionNotFoundError: No session has this id.
        """
        record = await self._store.sessions.load(SessionId(session_id))
        if record is None:
            raise SessionNotFoundError(f"no session {session_id!r}; `hilt sessions list` shows the stored ones")
        return record

    async def calls(self, session_id: str) -> Sequence[Mapping[str, object]]:
        """Return the audit records of the session's calls.

        Raises:
            SessionNotFoundError: No session has this id.
            RequestError: This store cannot give its audit back.
        """
        record = await self.show(session_id)
        calls = self._store.calls
        if not isinstance(calls, ToolCallReader):
            raise RequestError("this store cannot give its audit back", code="unsupported")
        return await calls.read(record.id)

    async def delete(self, session_id: str) -> None:
        """Remove audit, events and, last, the record.

        Raises:
            SessionNotFoundError: No session has this id.
            SessionBusyError: Another process has it open.
        """
        record = await self.show(session_id)
        store = self._store.sessions
        release = await store.hold(record.id) if isinstance(store, SessionHold) else None
        try:
            await store.delete(record.id)
        finally:
            if release is not None:
                release()
