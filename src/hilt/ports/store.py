"""Where sessions, their events and their audit are kept: three ports that work without one another."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from hilt.core.earlier import EarlierMessage
from hilt.core.event import Event
from hilt.core.session import SessionId, SessionRecord
from hilt.core.tool import ToolCall, ToolResult

PAGE_MAX = 200


class SessionStore(Protocol):
    """Records of sessions, each replaced as a whole."""

    async def save(self, record: SessionRecord) -> SessionRecord:
        """Store the record and return it with its new version.

        `record.version` must be the stored one, 0 for a new session; of two saves at once exactly one succeeds.

        Raises:
            ConflictError: The version is not the current one, or a new id exists.
        """
        ...

    async def load(self, session_id: SessionId) -> SessionRecord | None:
        """Return the record, None when there is none.

        Raises:
            HarnessFault: The stored record cannot be read; the text names the file.
        """
        ...

    async def list(
        self, *, cursor: str = "", limit: int = 50, owner: str | None = None
    ) -> tuple[Sequence[SessionRecord], str]:
        """Return a page by time of creation, at most 200, and the next cursor, "" at the end.

        With `owner` there are only the sessions of that principal.
        """
        ...

    async def delete(self, session_id: SessionId) -> bool:
        """Remove the record; False when there was none."""
        ...


@runtime_checkable
class SessionHold(Protocol):
    """A store of sessions that several processes may use at once."""

    async def hold(self, session_id: SessionId) -> Callable[[], None]:
        """Keep a session for one opening of it; return the plain function that gives it back.

        Raises:
            SessionBusyError: It is open in another process.
        """
        ...


@runtime_checkable
class SessionCheck(Protocol):
    """A store of sessions that can be looked through for damage."""

    async def damaged(self) -> Sequence[str]:
        """Return what is wrong with each record that cannot be read, by name of its file; nothing is changed."""
        ...


@runtime_checkable
class TurnArchive(Protocol):
    """A store of sessions that keeps what gives way to a summary; deleting a session removes it before the record."""

    async def save_shortened(self, record: SessionRecord, gone: Sequence[EarlierMessage]) -> SessionRecord:
        """Store the record as `SessionStore.save` does, and with it messages that it no longer holds: both or neither.

        Their numbers end with `record.archived`.

        Raises:
            ConflictError: As `SessionStore.save`; nothing is kept then.
        """
        ...

    async def earlier(self, session_id: SessionId) -> Sequence[EarlierMessage]:
        """Return the messages that gave way, in order: those that the stored record counts as such, no others."""
        ...


class EventLog(Protocol):
    """What runs emitted, by session, in the order of `seq`."""

    async def append(self, session_id: SessionId, events: Sequence[Event], *, durable: bool = False) -> None:
        """Add the events; with `durable` they are on stable storage when this returns."""
        ...

    async def read(self, session_id: SessionId, *, after: int = 0) -> Sequence[Mapping[str, object]]:
        """Return the events behind `seq` `after` as JSON objects (`event_to_json`); a missing log reads as empty.

        Raises:
            HarnessFault: A line has an unknown version.
        """
        ...

    async def delete(self, session_id: SessionId) -> None:
        """Remove the log; none is no error."""
        ...


class ToolCallRecorder(Protocol):
    """The audit of tool calls, apart from the event stream and from the log."""

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
        """Record one call, refused ones included; `queued` and `took` are seconds.

        `call` has the arguments as executed. `detail` holds, where they apply: mode, decision, rule, hooks,
        coercions, targets, code, server, attempt, parts.
        """
        ...


@runtime_checkable
class ToolCallReader(Protocol):
    """A recorder that can also be read; one that cannot may be told of a call twice after a restart."""

    async def read(self, session_id: str) -> Sequence[Mapping[str, object]]:
        """Return the records of a session's calls in the order in which they were made."""
        ...
