"""What the service offers, as its routes use it: one application's sessions and inventory, and where it stands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio

from hilt.api.metrics import Metrics
from hilt.core.errors import RequestError
from hilt.core.redaction import Redactor
from hilt.engine.catalog import Catalog
from hilt.engine.session import Session
from hilt.engine.sessions import Sessions
from hilt.engine.skills import SkillBook
from hilt.engine.slash import SlashCommands

SILENCE_S = 15.0
POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedServer:
    """An MCP server of the process; `cause` says why it failed, redacted."""

    name: str
    transport: str
    state: str
    cause: str
    era: str
    tools: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What sessions may be here; `client_mcp` is whether their creators may bring MCP servers."""

    model: str = ""
    mode: str = ""
    categories: Sequence[str] = ()
    client_mcp: bool = True


@dataclass(slots=True, kw_only=True)
class Service:
    """One application behind the routes. `silence_s` is how long a stream stays silent before a comment goes out."""

    sessions: Sessions
    catalog: Catalog
    slash: SlashCommands
    skills: SkillBook
    calls: object
    servers: Callable[[], Sequence[MountedServer]] = list
    offer: Offer = field(default_factory=Offer)
    redactor: Redactor = field(default_factory=Redactor)
    metrics: Metrics = field(default_factory=Metrics)
    silence_s: float = SILENCE_S
    stopping: bool = False
    stopped: anyio.Event = field(default_factory=anyio.Event)

    def refuse_when_stopping(self) -> None:
        """Refuse what would begin now.

        Raises:
            RequestError: The service stops (`unavailable`).
        """
        if self.stopping:
            raise RequestError("the service stops and takes nothing new", code="unavailable")

    async def drain(self, grace_s: float) -> None:
        """Take no new prompt, let runs go on for `grace_s` seconds, cancel the rest, and end every stream.

        An ask that waits for its verdict is left as it is stored: it goes on after the restart.
        """
        self.stopping = True
        with anyio.move_on_after(grace_s):
            while self.running():  # noqa: ASYNC110 - the end of a run counts, and an ask of it as well
                await anyio.sleep(POLL_S)
        async with anyio.create_task_group() as tasks:
            for session in self.running():
                tasks.start_soon(session.cancel)
        self.stopped.set()

    def running(self) -> list[Session]:
        """Return the sessions with a run that goes on; one that waits for a verdict is none."""
        return [session for session in self.sessions.open_sessions if session.running]
