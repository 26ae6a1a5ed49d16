"""The one list of families, in the one order: for the shared catalog and for every session's."""

import inspect
from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import dataclass, field

from hilt.app.categories import CATEGORY_TOOLS
from hilt.app.mcp_extras import Reading
from hilt.app.query import mcp_query_tools
from hilt.app.skills import LoadedSkills
from hilt.builtins.agents import agents_tools
from hilt.builtins.delegation import delegation_tools, parallel_tools, team_tools
from hilt.builtins.files import files_tools, read_tools
from hilt.builtins.meta.read_result import ReadResult
from hilt.builtins.meta.tool_search import ToolSearch
from hilt.builtins.tasks import tasks_tools
from hilt.core.child_definition import ChildDefinition
from hilt.core.errors import ConfigError, DuplicateToolError, InvalidSpecError, RequestError
from hilt.core.session import SessionRecord
from hilt.core.shaping import Keep
from hilt.engine.assembly import SessionPart
from hilt.engine.catalog import CLIENT_FAMILY, Catalog
from hilt.engine.source_tool import source_tools
from hilt.mcp.fetch import FetchMcpResource
from hilt.mcp.server import McpServer
from hilt.ports.tool import Tool, ToolSource

BUILTIN = "builtin"

META_NAMES = ("ReadResult", "ToolSearch")
MCP_META_NAMES = ("CallMcpWithQuery", "FetchMcpResource", "ListMcpResources", "ReadMcpResource")
RESERVED = frozenset(name for names in CATEGORY_TOOLS.values() for name in names) | {
    *META_NAMES,
    *MCP_META_NAMES,
}
NO_FILES_PROFILE = "no-fs"
NEEDS_FILES = frozenset({*CATEGORY_TOOLS["files"], *CATEGORY_TOOLS["shell"], "Parallel", "SkillDraft"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """What a factory of tools is told of the session that it makes a tool for; `session_id` "" for the shared one."""

    session_id: str = ""
    profile: str = ""


ToolFactory = Callable[[SessionContext], Tool]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommsPart:
    """The category comms: its tools, why they are not listed ("" where they are), and what each session has of it."""

    tools: Sequence[Tool] = ()
    why_not: str = ""
    mail: Callable[[SessionRecord, Keep], SessionPart | None] | None = None
    close: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Families:
    """Where the tools of each family come from; `mounted` says that an MCP server of the process is ready.

    `remembering` are the tools of the families `memory` and `user-model`.
    """

    enable: frozenset[str] = frozenset()
    shell: Sequence[Tool] = ()
    web: Sequence[Tool] = ()
    remembering: tuple[Sequence[Tool], Sequence[Tool]] = ((), ())
    comms: CommsPart = CommsPart()
    tools: Sequence[Tool | ToolFactory] = ()
    sources: Sequence[ToolSource] = ()
    own_names: frozenset[str] = frozenset()
    mcp: Sequence[Tool] = ()
    reading: Reading = field(default_factory=Reading)
    skills: LoadedSkills = field(default_factory=LoadedSkills)
    agents: Sequence[ChildDefinition] = ()
    mounted: bool = False

    @property
    def has_factories(self) -> bool:
        """Whether a tool is made anew for each session."""
        return any(_factory(item) is not None for item in self.tools)


def assemble(
    families: Families,
    context: SessionContext,
    *,
    client: Sequence[Tool] = (),
    client_servers: Sequence[McpServer] = (),
) -> Catalog:
    """Build a catalog: every family in order, for the application (`context` empty) or for one session.

    Raises:
        ConfigError: Two tools of one name are in the core family, or a host tool takes a built-in's name.
    """
    no_files = context.profile == NO_FILES_PROFILE
    catalog = Catalog()
    for tool in [*_builtins(families, no_files), *families.web, *families.comms.tools]:
        catalog.register(tool, source=BUILTIN)
    for tool in families.comms.tools if families.comms.why_not else ():
        catalog.withdraw(tool.spec.name, families.comms.why_not)
    hosts = [
        (tool, source) for tool, source in _hosts(families, context) if not (no_files and _name(tool) in NEEDS_FILES)
    ]
    children = _child_families(families, no_files)
    memory, user_model = families.remembering
    last = [*memory, *user_model, *families.skills.skill, *(() if no_files else families.skills.draft)]
    last += [tool for _, tools in children for tool in tools]
    if catalog.names or hosts or families.mcp or families.mounted or client or client_servers or last:
        catalog.register(ReadResult(), source=BUILTIN)
        catalog.register(ToolSearch(), source=BUILTIN)
    for tool, source in hosts:
        _host(catalog, tool, source, own_names=families.own_names)
    catalog.register_family("mcp", families.mcp)
    catalog.register_family("mcp", mcp_query_tools([*families.mcp, *client]), source=BUILTIN)
    if families.mounted or client_servers:
        catalog.register_family("mcp", [FetchMcpResource()], source=BUILTIN)
    catalog.register_family("mcp", families.reading.tools(client_servers), source=BUILTIN)
    catalog.register_family(CLIENT_FAMILY, client)
    for family, tools in children:
        catalog.register_family(family, tools, source=BUILTIN)
    catalog.register_family("memory", memory, source=BUILTIN)
    catalog.register_family("user-model", user_model, source=BUILTIN)
    catalog.register_family("skill", families.skills.skill, source=BUILTIN)
    catalog.register_family("draft", () if no_files else families.skills.draft, source=BUILTIN)
    return catalog


def _hosts(families: Families, context: SessionContext) -> list[tuple[Tool, str]]:
    """Return the host's tools, then those of its sources, each with its origin."""
    found = [(_made(item, context), "the host's tools") for item in families.tools]
    for number, source in enumerate(families.sources, start=1):
        found += [(tool, f"source {number}") for tool in source_tools(source)]
    return found


def _name(tool: Tool) -> object:
    return getattr(getattr(tool, "spec", None), "name", None)


def _builtins(families: Families, no_files: bool) -> list[Tool]:
    tools = tasks_tools() if "tasks" in families.enable else []
    if no_files:
        return tools
    if "files" in families.enable:
        tools.extend(files_tools())
    elif "files.read" in families.enable:
        tools.extend(read_tools())
    if "shell" in families.enable:
        tools.extend(families.shell)
    return tools


def _child_families(families: Families, no_files: bool) -> list[tuple[str, Sequence[Tool]]]:
    """Return the tools for child agents, family by family in their order."""
    delegates = "delegation" in families.enable
    subagent = delegation_tools(families.agents) if delegates else []
    subagent += agents_tools() if "agents" in families.enable else []
    parallel = parallel_tools() if delegates and not no_files else []
    return [("subagent", subagent), ("parallel", parallel), ("team", team_tools() if delegates else [])]


def _host(catalog: Catalog, tool: Tool, source: str, *, own_names: Set[str]) -> None:
    name = _name(tool)
    if name in RESERVED and name not in own_names:
        raise ConfigError(
            f"the name {name!r} belongs to a built-in tool; choose another, or list it in own_names",
            key="tools",
        )
    try:
        catalog.register(tool, source=source)
    except DuplicateToolError as exc:
        raise ConfigError(f"two tools are named {exc.name!r}: one of {exc.holder}, one of {source}") from exc


def _factory(item: Tool | ToolFactory) -> ToolFactory | None:
    if isinstance(item, type) and hasattr(item, "execute") and not _takes_context(item):
        raise InvalidSpecError("a tool is an object and this is its class; pass an instance", key=item.__name__)
    if callable(item) and (isinstance(item, type) or not hasattr(item, "spec")):
        return item
    return None


def _takes_context(item: type) -> bool:
    """Tell whether a class can be called with one argument, as a factory is."""
    try:
        inspect.signature(item).bind(None)
    except TypeError:
        return False
    return True


def _made(item: Tool | ToolFactory, context: SessionContext) -> Tool:
    factory = _factory(item)
    return item if factory is None else factory(context)  # type: ignore[return-value]  # no factory, so a Tool


def check_parity(shared: Catalog, own: Catalog, *, client: Sequence[Tool], profile: str, brought: bool = False) -> None:
    """Hold a session's catalog against the shared one: the same names, and those of its client MCP servers.

    `brought` says that it has such servers, with tools or without.

    Raises:
        RequestError: A name is missing or too many; names the first.
    """
    expected = set(shared.names) | {tool.spec.name for tool in client}
    if profile == NO_FILES_PROFILE:
        expected -= NEEDS_FILES
    if expected <= set(META_NAMES):
        expected = set()
    elif not shared.names:
        expected |= set(META_NAMES)
    if client or brought:
        expected |= set(MCP_META_NAMES) & set(own.names)
    wrong = sorted(expected ^ set(own.names))
    if wrong:
        raise RequestError(f"the session's catalog differs from the shared one: {wrong[0]!r}", code="internal")
