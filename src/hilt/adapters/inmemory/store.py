"""Sessions, events and audit in memory: nothing touches a disk, and all of it ends with the process."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hilt.core.audit import audit_record
from hilt.core.earlier import EarlierMessage
from hilt.core.errors import ConflictError
from hilt.core.event import Event, event_to_json
from hilt.core.page import page_of
from hilt.core.session import SessionId, SessionRecord
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.clock import Clock


class MemoryEvents:
    """See `EventLog`."""

    def __init__(self) -> None:
        self._events: dict[str, list[dict[str, object]]] = {}

    async def append(self, session_id: SessionId, events: Sequence[Event], *, durable: bool = False) -> None:
        """See `EventLog.append`; nothing here is more durable than the process."""
        self._events.setdefault(session_id, []).extend(event_to_json(event) for event in events)

    async def read(self, session_id: SessionId, *, after: int = 0) -> Sequence[Mapping[str, object]]:
        """See `EventLog.read`."""
        found = [(seq, event) for event in self._events.get(session_id, ()) if (seq := _seq(event)) > after]
        found.sort(key=lambda item: item[0])
        return [dict(event) for _, event in found]

    async def delete(self, session_id: SessionId) -> None:
        """See `EventLog.delete`."""
        self._events.pop(session_id, None)


def _seq(event: Mapping[str, object]) -> int:
    seq = event["seq"]
    return seq if isinstance(seq, int) else 0


class MemoryCalls:
    """See `ToolCallRecorder`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._calls: dict[str, list[dict[str, object]]] = {}

    async def tool_call(
        self,
        session_id: str,
        call: ToolCall,
        result: ToolResult,
        queued: float,
        took: float,
        *,
        detail: Mapping[str, object],
    ) -> None:
        """See `ToolCallRecorder.tool_call`."""
        time = self._clock.now().isoformat()
        record = audit_record(session_id, call, result, times=(queued, took), time=time, detail=detail)
        self._calls.setdefault(session_id, []).append(record)

    async def read(self, session_id: str) -> Sequence[Mapping[str, object]]:
        """Return the records of a session's calls in the order in which they were made."""
        return [dict(record) for record in self._calls.get(session_id, ())]

    def delete(self, session_id: str) -> None:
        """Remove the records of a session's calls; none is no error."""
        self._calls.pop(session_id, None)


class MemorySessions:
    """See `SessionStore` and `TurnArchive`. Deleting a session removes all that belongs to it first."""

    def __init__(self, events: MemoryEvents, calls: MemoryCalls) -> None:
        self._events = events
        self._calls = calls
        self._records: dict[str, SessionRecord] = {}
        self._earlier: dict[str, list[EarlierMessage]] = {}

    async def save(self, record: SessionRecord) -> SessionRecord:
        """See `SessionStore.save`."""
        return self._save(record)

    def _save(self, record: SessionRecord) -> SessionRecord:
        stored = self._records.get(record.id)
        version = 0 if stored is None else stored.version
        if record.version != version:
            now = "is gone" if stored is None else f"has version {version}"
            raise ConflictError(f"session {record.id!r} {now}, not {record.version}: load it again before saving")
        fresh = self._records[record.id] = replace(record, version=version + 1)
        return fresh

    async def save_shortened(self, record: SessionRecord, gone: Sequence[EarlierMessage]) -> SessionRecord:
        """See `TurnArchive.save_shortened`."""
        fresh = self._save(record)
        self._earlier.setdefault(record.id, []).extend(gone)
        return fresh

    async def earlier(self, session_id: SessionId) -> Sequence[EarlierMessage]:
        """See `TurnArchive.earlier`."""
        return list(self._earlier.get(session_id, ()))

    async def load(self, session_id: SessionId) -> SessionRecord | None:
        """See `SessionStore.load`."""
        return self._records.get(session_id)

    async def list(
        self, *, cursor: str = "", limit: int = 50, owner: str | None = None
    ) -> tuple[Sequence[SessionRecord], str]:
        """See `SessionStore.list`."""
        shown = [record for record in self._records.values() if owner is None or record.owner == owner]
        places = [(record.created_at, str(record.id)) for record in shown]
        chosen, following = page_of(places, cursor=cursor, limit=limit)
        return [self._records[session_id] for _, session_id in chosen], following

    async def delete(self, session_id: SessionId) -> bool:
        """See `SessionStore.delete`."""
        self._calls.delete(session_id)
        await self._events.delete(session_id)
        self._earlier.pop(session_id, None)
        return self._records.pop(session_id, None) is not None


class MemoryStore:
    """`sessions`, `events` and `calls` of one process."""

    def __init__(self, *, clock: Clock) -> None:
        self.events = MemoryEvents()
        self.calls = MemoryCalls(clock)
        self.sessions = MemorySessions(self.events, self.calls)

    def close(self) -> None:
        """Do nothing; there to be used like other stores."""
