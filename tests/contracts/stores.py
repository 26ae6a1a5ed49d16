"""The stores that every contract of `hilt.ports.store` is tried on; a new adapter is one line here."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.inmemory.store import MemoryStore
from hilt.adapters.store_jsonl import JsonlStore
from hilt.core.event import Event, EventBody, Notice
from hilt.core.session import SessionId, SessionRecord
from hilt.ports.store import EventLog, SessionStore, ToolCallRecorder


class ReadableRecorder(ToolCallRecorder, Protocol):
    """A recorder whose records can be read again."""

    async def read(self, session_id: str) -> Sequence[Mapping[str, object]]:
        """Return the records."""
        ...


class Store(Protocol):
    """The three ports of one store."""

    @property
    def sessions(self) -> SessionStore: ...

    @property
    def events(self) -> EventLog: ...

    @property
    def calls(self) -> ReadableRecorder: ...

    def close(self) -> None: ...


STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(clock=FixedClock()),
    "jsonl": lambda directory: JsonlStore(directory / "store", clock=FixedClock()),
}

# Ids that would be the same, or no name at all, as names of files.
AWKWARD_IDS = (
    "a/b",
    "a_b",
    "a:b",
    "A_B",
    "..",
    "../../etc/passwd",
    "con",
    "x" * 256,
    "x" * 255 + "y",
    "é" * 128,
    " ",
    "-rf *",
)


def record(name: str, second: int = 0, **values: object) -> SessionRecord:
    return SessionRecord(
        id=SessionId(name),
        created_at=f"2026-01-01T00:{second // 60:02}:{second % 60:02}+00:00",
        **values,  # type: ignore[arg-type]  # the test names fields of the record
    )


def event(seq: int, body: EventBody | None = None) -> Event:
    return Event(
        seq=seq,
        run="run_1",
        turn=1,
        time="2026-01-01T00:00:00+00:00",
        body=body or Notice(topic="test", text=f"number {seq}"),
    )
