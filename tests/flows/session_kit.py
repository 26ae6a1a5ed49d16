"""Stores that outlive an application, runs read to their end, and a tool that stays inside until it is let go."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio

from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.inmemory.store import MemoryStore
from hilt.adapters.store_jsonl import JsonlStore
from hilt.app.stores import Store
from hilt.core.errors import HarnessFault
from hilt.core.event import Event, EventBody, RunResult, ToolStart
from hilt.core.session import AssistantMessage, Message, SessionId, SessionRecord, ToolMessage
from hilt.core.tool import ToolCall
from hilt.engine.run import Run
from hilt.engine.session import Session
from hilt.ports.tool import Environment
from tests.flows.kit import FunctionTool

ID = "the session"

STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(clock=FixedClock()),
    "jsonl": lambda folder: JsonlStore(folder / "store", clock=FixedClock()),
}


class Held:
    """The body of a tool that says when it is inside and returns when it is let go."""

    def __init__(self) -> None:
        self.inside = anyio.Event()
        self.go = anyio.Event()

    async def __call__(self, call: ToolCall, env: Environment) -> str:
        """See `kit.Body`."""
        self.inside.set()
        await self.go.wait()
        return "let go"

    def tool(self, name: str = "Hold", *, read_only: bool = True) -> FunctionTool:
        """Return the tool."""
        return FunctionTool(name, self, read_only=read_only)


async def bodies(run: Run) -> list[EventBody]:
    """Read a run to its end and return what it emitted."""
    async with run:
        return [event.body async for event in run]


async def asked(run: Run) -> list[Event]:
    """Read a run until a person is asked, and return its events so far."""
    events: list[Event] = []
    async for event in run:
        events.append(event)
        if event.body.kind == "permission.ask":
            return events
    raise AssertionError("nobody was asked")


async def ended(run: Run) -> RunResult:
    """Read a run to its end and return its result."""
    last = (await bodies(run))[-1]
    assert isinstance(last, RunResult)
    return last


def pending_id(session: Session) -> str:
    """Return the id of the ask that waits."""
    assert session.pending_ask is not None
    return session.pending_ask.ask_id


def contents(messages: Sequence[Message]) -> list[str]:
    """Return the texts of all results, in order."""
    return [result.content for message in messages if isinstance(message, ToolMessage) for result in message.results]


def unpaired(messages: Sequence[Message]) -> list[str]:
    """Return the ids of calls without exactly one result in the message behind them."""
    out: list[str] = []
    for position, message in enumerate(messages):
        if not isinstance(message, AssistantMessage) or not message.calls:
            continue
        following = messages[position + 1] if position + 1 < len(messages) else None
        given = [result.call_id for result in following.results] if isinstance(following, ToolMessage) else []
        if given != [call.id for call in message.calls]:
            out.extend(call.id for call in message.calls)
    return out


def killed_copy(folder: Path) -> JsonlStore:
    """Return a store as a process that was killed now would leave it: a copy of the files of `STORES["jsonl"]`."""
    copy = folder / "killed"
    shutil.copytree(folder / "store", copy)
    return JsonlStore(copy, clock=FixedClock())


def misnumbered(events: Sequence[Mapping[str, object]]) -> list[object]:
    """Return the numbers that are not one more than the number before them."""
    numbers = [event["seq"] for event in events]
    return [seq for seq, expected in zip(numbers, range(1, len(numbers) + 1), strict=True) if seq != expected]


async def events_of(store: Store, session_id: str = ID) -> Sequence[Mapping[str, object]]:
    """Return the stored events of a session."""
    return await store.events.read(SessionId(session_id))


async def record_of(store: Store, session_id: str = ID) -> SessionRecord:
    """Return the stored record of a session."""
    record = await store.sessions.load(SessionId(session_id))
    assert record is not None
    return record


def of_call(events: Sequence[Mapping[str, object]], call_id: str) -> list[object]:
    """Return the kinds of the events of one call, in order."""
    return [event["type"] for event in events if event.get("call_id") == call_id]


class Watched:
    """A store that is also its own event log, and remembers the calls whose start it was told to flush.

    While it is `broken` nothing can be read.
    """

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self.sessions, self.calls, self.events = inner.sessions, inner.calls, self
        self.flushed: set[str] = set()
        self.broken = False

    async def append(self, session_id: SessionId, events: Sequence[Event], *, durable: bool = False) -> None:
        """See `EventLog.append`."""
        await self._inner.events.append(session_id, events, durable=durable)
        if durable:
            self.flushed.update(event.body.call_id for event in events if isinstance(event.body, ToolStart))

    async def read(self, session_id: SessionId, *, after: int = 0) -> Sequence[Mapping[str, object]]:
        """See `EventLog.read`."""
        if self.broken:
            raise HarnessFault("the disk is gone")
        return await self._inner.events.read(session_id, after=after)

    async def delete(self, session_id: SessionId) -> None:
        """See `EventLog.delete`."""
        await self._inner.events.delete(session_id)

    def close(self) -> None:
        """Give the store back."""
        self._inner.close()


class Failing:
    """A store whose saves fail once it is told to."""

    def __init__(self) -> None:
        self._inner = MemoryStore(clock=FixedClock())
        self.events = self._inner.events
        self.calls = self._inner.calls
        self.sessions = self
        self.broken = False

    async def save(self, record: SessionRecord) -> SessionRecord:
        """See `SessionStore.save`."""
        if self.broken:
            raise HarnessFault("the disk is full")
        return await self._inner.sessions.save(record)

    async def load(self, session_id: SessionId) -> SessionRecord | None:
        """See `SessionStore.load`."""
        return await self._inner.sessions.load(session_id)

    async def list(
        self, *, cursor: str = "", limit: int = 50, owner: str | None = None
    ) -> tuple[Sequence[SessionRecord], str]:
        """See `SessionStore.list`."""
        return await self._inner.sessions.list(cursor=cursor, limit=limit, owner=owner)

    async def delete(self, session_id: SessionId) -> bool:
        """See `SessionStore.delete`."""
        return await self._inner.sessions.delete(session_id)

    def close(self) -> None:
        """Give the store back."""
        self._inner.close()
