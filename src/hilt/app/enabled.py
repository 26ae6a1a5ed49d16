"""What a category needs beside its tools. The libraries of each are loaded here, when it is enabled."""

import logging
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from anyio.abc import TaskGroup

from hilt.app.assembly import SessionMemories
from hilt.app.catalog import CommsPart
from hilt.app.child_definitions import load_definitions
from hilt.app.config import Config
from hilt.app.stores import Store
from hilt.core.child_definition import ChildDefinition
from hilt.engine.child_start import ChildrenHost
from hilt.ports.clock import Clock
from hilt.ports.tool import Tool

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enabled:
    """The categories of one application, with what it lends them.

    Services are added as they are needed; what has to be closed is left to the stack.
    """

    categories: frozenset[str]
    config: Config
    root: str
    clock: Clock
    tasks: TaskGroup
    services: MutableMapping[type, object]
    stack: AsyncExitStack

    async def definitions(self) -> Mapping[str, ChildDefinition]:
        """Return the definitions of child agents by name, none without the category that uses them."""
        return await load_definitions(self.config, root=self.root) if "delegation" in self.categories else {}

    def children(self, definitions: Mapping[str, ChildDefinition]) -> ChildrenHost | None:
        """Return where child agents run; None without a category that starts any."""
        if not self.categories & {"agents", "delegation"}:
            return None
        places = self.config.agents.max_concurrent
        return ChildrenHost(places=places, tasks=self.tasks, clock=self.clock, definitions=definitions)

    def web(self) -> Sequence[Tool]:
        """Return the tools of the category `web`, none without it."""
        if "web" not in self.categories:
            return ()
        from hilt.app.web import web_tools

        return web_tools(self.config, self.services)

    def fetcher(self) -> None:
        """Provide what fetches links of MCP results."""
        from hilt.app.web import provide_fetcher

        provide_fetcher(self.services)

    def comms(self) -> CommsPart:
        """Return the category `comms`; what signs is loaded where there are peers.

        Raises:
            ConfigError: The settings name peers that cannot be.
        """
        if "comms" not in self.categories:
            return CommsPart()
        if not self.config.comms.peers:
            from hilt.builtins.comms import NO_PEERS, comms_tools

            return CommsPart(tools=comms_tools(), why_not=NO_PEERS)
        from hilt.app.comms import comms_part

        return comms_part(self.config, self.tasks, clock=self.clock, services=self.services)

    def memories(
        self, store: str | Store, opened: Store, *, redact: Callable[[str], str], main_model: str
    ) -> SessionMemories | None:
        """Open what is remembered; None without the category.

        Raises:
            ConfigError: There is no place to remember in.
        """
        if "memory" not in self.categories:
            if self.config.memory.user_review:
                logger.info("user_review_off why=the category 'memory' is not enabled")
            return None
        from hilt.app.memory import MemorySetup, open_memories

        setup = MemorySetup(
            config=self.config, store=store, opened=opened, root=self.root, clock=self.clock, services=self.services
        )
        memories = open_memories(setup, redact=redact, main_model=main_model)
        self.stack.callback(memories.close)
        return memories
