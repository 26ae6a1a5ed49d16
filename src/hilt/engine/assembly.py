"""What a session is made of: what it shares with all others, and what was made for it alone."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from anyio.abc import TaskGroup

from hilt.core.permission import PermissionRule
from hilt.core.session import ToolFilter
from hilt.engine.children import SessionChildren
from hilt.engine.conversation import Conversation
from hilt.engine.emitter import Receiver
from hilt.engine.funnel import Parts
from hilt.ports.clock import Clock
from hilt.ports.store import EventLog, SessionStore
from hilt.ports.workspace import ReadLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What all sessions of an application share."""

    store: SessionStore
    log: EventLog
    clock: Clock
    tasks: TaskGroup
    receivers: Sequence[Receiver] = ()


class SessionPart(Protocol):
    """Something that a session has for itself while it is open."""

    async def begin(self) -> None:
        """Start; a session that is only looked at is never begun.

        Raises:
            ConfigError: It cannot work; says why.
        """
        ...

    def bind(self, conversation: Conversation) -> None:
        """Take the session's conversation."""
        ...

    def close(self) -> None:
        """End; also called where it never began."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """What is made for one session.

    `layers` are the filters above its own, `begin` starts what only it holds and `close` ends it, `bind` is told its
    conversation, `refresh` brings its catalog up to date before each turn, `busy` tells whether something of it works
    although no run is under way, `children` are its child agents, None where it can have none.
    `refuses_auto` says why mode auto is not to be had, "" where it is.
    """

    parts: Parts
    ledger: ReadLedger
    layers: Sequence[ToolFilter] = ()
    persist: Callable[[PermissionRule], Awaitable[None]] | None = None
    begin: Callable[[], Awaitable[None]] | None = None
    close: Callable[[], Awaitable[None]] | None = None
    bind: Callable[[Conversation], None] | None = None
    refresh: Callable[[], Awaitable[None]] | None = None
    busy: Callable[[], bool] | None = None
    children: SessionChildren | None = None
    via_session: bool = False
    refuses_auto: str = ""
