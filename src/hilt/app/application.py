"""The running application as its host holds it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hilt.adapters.clock_system import SystemClock
from hilt.app.assembly import SessionAssembler
from hilt.app.config import Config
from hilt.app.stores import Store
from hilt.core.permission import PermissionRule
from hilt.core.redaction import Redactor
from hilt.engine.catalog import Catalog
from hilt.engine.sessions import Sessions
from hilt.engine.skills import SkillBook
from hilt.engine.slash import SlashCommands
from hilt.mcp.manager import McpManager
from hilt.ports.clock import Clock
from hilt.ports.hook import HookRunner


class ViaSession:
    """The approver of an application whose callers answer asks by `session.approve`."""

    async def decide(self, ask: object) -> object:
        """Never called: a session puts itself in this place."""
        raise TypeError("VIA_SESSION stands for session.approve and decides nothing itself")


VIA_SESSION = ViaSession()


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """A running application; it ends when the context of `build` is left. `calls` is where the audit goes."""

    config: Config
    catalog: Catalog
    sessions: Sessions
    store: Store
    assembler: SessionAssembler
    rules: Sequence[PermissionRule] = ()
    hooks: Sequence[HookRunner] = ()
    workspace: str = ""
    mcp: Sequence[McpManager] = ()
    slash: SlashCommands = field(default_factory=SlashCommands)
    skills: SkillBook = field(default_factory=SkillBook)
    redactor: Redactor = field(default_factory=Redactor)
    calls: object = None
    clock: Clock = field(default_factory=SystemClock)
