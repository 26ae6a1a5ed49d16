"""The tools of the process's MCP servers as they stand now: for sessions that start, and for those that go on."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypedDict

import anyio

from hilt.app.catalog import BUILTIN, Families, SessionContext, assemble
from hilt.app.config import Config
from hilt.app.query import mcp_query_tools
from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.engine.catalog import Catalog
from hilt.mcp.fetch import FetchMcpResource
from hilt.mcp.manager import McpManager
from hilt.mcp.query import CallMcpWithQuery
from hilt.mcp.resources import offers_resources
from hilt.mcp.server import McpServer
from hilt.mcp.tools import RemoteTool
from hilt.ports.elicitation import Elicitor
from hilt.ports.mcp import McpDialer

GONE = "its MCP server does not list it any more"


class Dialing(TypedDict):
    """What a dialer is told of its application."""

    root: Path
    limits: McpLimits
    elicits: bool


def dialing(root: str, services: Mapping[type, object]) -> Dialing:
    """Return what a dialer is told: servers may ask for what a person knows where the host gave an `Elicitor`."""
    return {"root": Path(root), "limits": McpLimits(), "elicits": Elicitor in services}


def manager_of(
    servers: Sequence[McpServerSpec], dialer: McpDialer, config: Config, *, limits: McpLimits, lists: Sequence[str]
) -> McpManager:
    """Return a manager as the settings want it."""
    make = partial(McpServer, live=config.mcp.live_catalog)
    return McpManager(servers, dialer, limits=limits, lists=lists, make_server=make)


def live_tools(config: Config, managers: Sequence[McpManager]) -> "LiveTools | None":
    """Return what follows the servers of the application, None where it has none."""
    servers = [server for manager in managers for server in manager.servers]
    return LiveTools(servers, late=config.mcp.wait == "fast", live=config.mcp.live_catalog) if servers else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """What a session that starts now is made of: the families, and their catalog without anything of its own."""

    families: Families
    catalog: Catalog


class LiveTools:
    """Follows the servers of a process.

    `late`: tools of a server that is ready late join the open sessions; `live`: every change of a list does.
    """

    def __init__(self, servers: Sequence[McpServer], *, late: bool = False, live: bool = False) -> None:
        self.servers = servers
        self.late = late
        self.live = live
        self._made: dict[int, RemoteTool] = {}
        self._generation: Generation | None = None
        self._key: object = None

    @property
    def ready(self) -> list[McpServer]:
        """The servers whose tools are there."""
        return [server for server in self.servers if server.state == "ready"]

    def waiting(self) -> Mapping[str, str]:
        """Return the servers whose tools are not there, each with its state: connecting, or why it failed."""
        states = {"connecting": "connecting", "failed": ""}
        return {
            server.spec.name: states[server.state] or f"its server cannot be reached: {server.cause}"
            for server in self.servers
            if server.state in states
        }

    def tools_of(self, server: McpServer) -> list[RemoteTool]:
        """Return the tools of one server as they were listed last; the same objects while a tool does not change."""
        listed = server.listing.tools
        for tool in listed:
            made = self._made.get(id(tool))
            if made is None or made.listed is not tool:
                self._made[id(tool)] = RemoteTool(server, tool)
        return [self._made[id(tool)] for tool in listed]

    async def refresh(self) -> None:
        """Read the stale lists again, side by side; what fails stays as it was."""
        stale = [server for server in self.ready if server.listing_due]
        if not stale:
            return
        async with anyio.create_task_group() as group:
            for server in stale:
                group.start_soon(server.fresh_listing)

    async def now(self, first: Generation, complete: Callable[[Catalog], None]) -> Generation:
        """Return what holds for a session that starts now.

        `first` is what the application was built with, returned while nothing differs from it; `complete` adds to a
        new catalog what was registered since.
        """
        await self.refresh()
        families = self._families(first.families)
        key = _key_of(families)
        if key == _key_of(first.families):
            return first
        if self._generation is None or key != self._key:
            catalog = assemble(families, SessionContext())
            catalog.report_skipped()
            complete(catalog)
            self._generation, self._key = Generation(families=families, catalog=catalog), key
        return self._generation

    def _families(self, families: Families) -> Families:
        ready = self.ready
        return replace(
            families,
            mcp=[tool for server in ready for tool in self.tools_of(server)],
            reading=replace(families.reading, offered=families.reading.offered or offers_resources(ready)),
            mounted=families.mounted or bool(ready),
        )

    def follow(self, catalog: Catalog) -> tuple[Catalog, Callable[[], Awaitable[None]] | None]:
        """Return the catalog of a session, a copy where it may grow, and what is to be awaited before each turn."""
        pending = len(self.ready) < len(self.servers)
        if not self.live and not (self.late and pending):
            return catalog, None
        own = catalog.copy()
        return own, Growth(self, own).grow


class Growth:
    """What joins one session's catalog between its turns."""

    def __init__(self, tools: LiveTools, catalog: Catalog) -> None:
        self._tools = tools
        self._catalog = catalog
        self._seen = {server.spec.name: server.listing for server in tools.ready}

    async def grow(self) -> None:
        """Take what the servers have by now, at the end of the list in name order."""
        if self._tools.live:
            await self._tools.refresh()
        fresh: list[RemoteTool] = []
        for server in self._tools.ready:
            before = self._seen.get(server.spec.name)
            if before is server.listing or (before is not None and not self._tools.live):
                continue
            self._seen[server.spec.name] = server.listing
            tools = self._tools.tools_of(server)
            fresh += tools
            if before is not None:
                self._withdraw(server, {tool.spec.name for tool in tools})
        if fresh:
            self._join(fresh)

    def _join(self, fresh: Sequence[RemoteTool]) -> None:
        added = set(self._catalog.join(fresh, family="mcp"))
        new = [tool for tool in fresh if tool.spec.name in added]
        query = self._catalog.lookup(CallMcpWithQuery.spec.name)
        if isinstance(query, CallMcpWithQuery):
            query.include(new)
        more = mcp_query_tools(new) if query is None else []
        self._catalog.join([*more, FetchMcpResource()], family="mcp", source=BUILTIN)

    def _withdraw(self, server: McpServer, listed: set[str]) -> None:
        for name in self._catalog.names:
            entry = self._catalog.entry(name)
            tool = None if entry is None else entry.tool
            if not isinstance(tool, RemoteTool) or tool.server != server.spec.name:
                continue
            if name in listed:
                self._catalog.restore(name)
            elif self._catalog.withdrawn(name) is None:
                self._catalog.withdraw(name, GONE, listed=True)


def _key_of(families: Families) -> tuple[object, ...]:
    """Return what two families share if a catalog of them has the same tools."""
    listed = tuple(id(tool.listed) if isinstance(tool, RemoteTool) else id(tool) for tool in families.mcp)
    return listed, families.mounted, families.reading.offered
