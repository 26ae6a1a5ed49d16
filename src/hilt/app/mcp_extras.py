"""What MCP servers give beside their tools: resources, prompts as commands, and servers that ToolHive runs."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from hilt.adapters.mcp_toolhive import ToolHive
from hilt.app.config import Config
from hilt.core.errors import RequestError
from hilt.core.mcp import McpServerSpec, same_name_key
from hilt.engine.slash import SlashCommands
from hilt.mcp.manager import McpManager
from hilt.mcp.prompts import PromptCommands
from hilt.mcp.resources import offers_resources, resource_tools
from hilt.mcp.server import McpServer
from hilt.mcp.server_lists import PROMPTS, RESOURCES
from hilt.ports.command import Expander
from hilt.ports.tool import Tool

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What the creator of a session brings: servers that are ready, their tools, and what ends them."""

    tools: Sequence[Tool] = ()
    servers: Sequence[McpServer] = ()
    close: Callable[[], Awaitable[None]] | None = None


async def brought(manager: McpManager) -> Brought:
    """Return what a manager of a session's own servers has.

    Raises:
        RequestError: One does not answer; all of them are closed.
    """
    failed = [report.name for report in manager.reports() if report.state != "ready"]
    if failed:
        await manager.close()
        raise RequestError(f"MCP server {failed[0]!r} cannot be reached", code="client_mcp_unreachable")
    return Brought(tools=manager.tools(), servers=manager.servers, close=manager.close)


def wanted_lists(config: Config) -> list[str]:
    """Return which lists are read beside the tools when a server is connected."""
    return [*([RESOURCES] if config.mcp.resource_tools else []), *([PROMPTS] if config.mcp.prompts else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Whether and where resources are read: of the `servers` of the process, which `offered` some at the start."""

    wanted: bool = True
    offered: bool = False
    servers: Sequence[McpServer] = ()

    def tools(self, client: Sequence[McpServer] = ()) -> list[Tool]:
        """Return the tools over these servers and a session's own, none where nothing is offered to be read."""
        if self.wanted and (self.offered or offers_resources(client)):
            return resource_tools([*self.servers, *client])
        return []


def reading(config: Config, managers: Sequence[McpManager]) -> Reading:
    """Return where resources are read, as the servers stand now."""
    servers = [server for manager in managers for server in manager.servers]
    return Reading(wanted=config.mcp.resource_tools, offered=offers_resources(servers), servers=servers)


def slash_commands(config: Config, managers: Sequence[McpManager], *, before: Sequence[Expander] = ()) -> SlashCommands:
    """Return the commands of the application: those of the sources `before`, then the prompts of its servers.

    The sources are command files, skills, the host's own, in this order; prompts only where they are wanted.
    """
    if not config.mcp.prompts:
        return SlashCommands(before)
    prompts = PromptCommands(lambda: [server for manager in managers for server in manager.servers])
    return SlashCommands([*before, prompts])


async def toolhive_servers(config: Config, known: Sequence[McpServerSpec]) -> list[McpServerSpec]:
    """Return the servers that ToolHive runs and whose names are not `known`; a hidden one is told at WARN."""
    if not config.mcp.toolhive or not config.environment:
        return []
    hive = ToolHive(config.mcp.toolhive_group, environment=config.environment, home=config.home)
    winners = {same_name_key(spec.name): spec for spec in known}
    found: list[McpServerSpec] = []
    for spec in await hive.servers():
        winner = winners.get(same_name_key(spec.name))
        if winner is None:
            found.append(spec)
        else:
            logger.warning("mcp_server_hidden server=%s winner=%s loser=%s", spec.name, winner.origin, spec.origin)
    return found
