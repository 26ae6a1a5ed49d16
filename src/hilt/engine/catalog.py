"""The registry that every tool call passes through: append-only, first holder of a name wins, losers are told."""

import inspect
import logging
from collections.abc import Callable, Iterable, Sequence, Set
from types import MappingProxyType

from hilt.core.errors import CatalogFault, DuplicateToolError, InvalidSpecError
from hilt.core.frozen import frozen
from hilt.core.session import Mode
from hilt.core.tool import ToolSpec
from hilt.ports.tool import Tool

logger = logging.getLogger(__name__)

MCP_PREFIX = "mcp__"
CLIENT_FAMILY = "client-mcp"
MCP_FAMILIES = frozenset({"mcp", CLIENT_FAMILY})
DEFAULT_FAMILY = "core"


@frozen
class Entry:
    """A tool in the catalog, with what calls need of it looked up once."""

    tool: Tool
    spec: ToolSpec
    family: str
    source: str
    read_only: bool
    advertised: Callable[[], ToolSpec] | None = None


@frozen
class Description:
    """What `describe` tells; `withdrawn` is the reason, None while the tool is listed."""

    name: str
    family: str
    source: str
    read_only: bool
    hidden: bool
    withdrawn: str | None


class Catalog:
    """Maps a name to a tool. It only grows; a listing is a copy that later registrations do not change."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._withdrawn: dict[str, str] = {}
        self._kept: frozenset[str] = frozenset()
        self._joined: tuple[str, ...] = ()
        self._sorted: tuple[Entry, ...] | None = None
        self._skipped: list[tuple[str, str, str]] = []

    def register(self, tool: Tool, *, family: str = DEFAULT_FAMILY, source: str = "") -> None:
        """Add a tool.

        Raises:
            DuplicateToolError: The name is taken; the catalog is unchanged.
            InvalidSpecError: The object is no tool, or its name belongs to MCP servers.
        """
        entry = _entry(tool, family, source)
        holder = self._entries.get(entry.spec.name)
        if holder is not None:
            raise DuplicateToolError(entry.spec.name, holder.source or holder.family)
        self._add(entry)

    def must_register(self, tool: Tool, *, family: str = DEFAULT_FAMILY, source: str = "") -> None:
        """Add a tool in start-up code.

        Raises:
            CatalogFault: The name is taken.
            InvalidSpecError: The object is no tool, or its name belongs to MCP servers.
        """
        try:
            self.register(tool, family=family, source=source)
        except DuplicateToolError as exc:
            raise CatalogFault(str(exc)) from exc

    def register_family(self, family: str, tools: Iterable[Tool], *, source: str = "") -> list[str]:
        """Add what has a free name and return the skipped names in the order met.

        Raises:
            InvalidSpecError: An object is no tool, or its name belongs to MCP servers.
        """
        skipped: list[str] = []
        for tool in tools:
            entry = _entry(tool, family, source)
            holder = self._entries.get(entry.spec.name)
            if holder is None:
                self._add(entry)
                continue
            skipped.append(entry.spec.name)
            self._skipped.append((entry.spec.name, source or family, holder.source or holder.family))
        return skipped

    def join(self, tools: Iterable[Tool], *, family: str = DEFAULT_FAMILY, source: str = "") -> list[str]:
        """Add what has a free name behind all that is listed, in name order, and return the names added.

        Raises:
            InvalidSpecError: An object is no tool, or its name belongs to MCP servers.
        """
        entries = {entry.spec.name: entry for entry in (_entry(tool, family, source) for tool in tools)}
        added = sorted(name for name in entries if name not in self._entries)
        for name in added:
            self._add(entries[name])
        self._joined = (*self._joined, *added)
        return added

    def report_skipped(self) -> None:
        """Tell all names that were skipped so far in one WARN line, each with loser and winner; then forget them."""
        if self._skipped:
            told = "; ".join(f"{name}: {loser} loses to {winner}" for name, loser, winner in self._skipped)
            logger.warning("tool_names_skipped count=%d %s", len(self._skipped), told)
            self._skipped = []

    def lookup(self, name: str) -> Tool | None:
        """Return the tool of exactly this name, None when there is none; a withdrawn tool is still found."""
        entry = self._entries.get(name)
        return None if entry is None else entry.tool

    def entry(self, name: str) -> Entry | None:
        """Return the entry of exactly this name."""
        return self._entries.get(name)

    def entries(self) -> tuple[Entry, ...]:
        """Return every entry that is listed, by name in code-point order; those that joined later follow."""
        if self._sorted is None:
            late = {name: place for place, name in enumerate(self._joined, start=1)}
            live = (e for name, e in self._entries.items() if name not in self._withdrawn or name in self._kept)
            self._sorted = tuple(sorted(live, key=lambda e: (late.get(e.spec.name, 0), e.spec.name)))
        return self._sorted

    def tools(self) -> Sequence[Tool]:
        """Return every tool by name in code-point order, whatever the order of registration."""
        return [entry.tool for entry in self.entries()]

    def available(self, mode: Mode | str = Mode.DEFAULT) -> Sequence[Tool]:
        """Return the tools that a mode admits: in plan mode those that only read."""
        return [entry.tool for entry in self.available_entries(mode)]

    def available_entries(self, mode: Mode | str = Mode.DEFAULT) -> Sequence[Entry]:
        """Return the entries behind `available`."""
        if mode == Mode.PLAN:
            return [entry for entry in self.entries() if entry.read_only]
        return self.entries()

    def specs(self, mode: Mode | str = Mode.DEFAULT) -> Sequence[ToolSpec]:
        """Return the full specs of `available(mode)` in the same order."""
        return [entry.spec for entry in self.available_entries(mode)]

    def advertised_specs(self, mode: Mode | str = Mode.DEFAULT, hydrated: Set[str] = frozenset()) -> Sequence[ToolSpec]:
        """Return for each tool of `available(mode)` its short spec if it has one and is not hydrated, else the full."""
        return [
            entry.advertised() if entry.advertised is not None and entry.spec.name not in hydrated else entry.spec
            for entry in self.available_entries(mode)
        ]

    def withdraw(self, name: str, reason: str, *, listed: bool = False) -> None:
        """Take a tool out of every later listing; a call to it answers `tool_unavailable` with the reason.

        With `listed` it keeps its place in the listings.

        Raises:
            LookupError: No tool has this name.
        """
        if name not in self._entries:
            raise LookupError(f"no tool is named {name!r}")
        self._withdrawn = {**self._withdrawn, name: reason}
        self._kept = self._kept | {name} if listed else self._kept - {name}
        self._sorted = None

    def restore(self, name: str) -> None:
        """Make a withdrawn tool callable again; for any other name nothing happens."""
        if name in self._withdrawn:
            self._withdrawn = {key: reason for key, reason in self._withdrawn.items() if key != name}
            self._sorted = None

    def withdrawn(self, name: str) -> str | None:
        """Return the reason why a tool was withdrawn, None while it is listed."""
        return self._withdrawn.get(name)

    def describe(self, name: str, *, hidden: bool = False) -> Description | None:
        """Tell where a tool comes from and how it stands; None for an unknown name."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        return Description(
            name=name,
            family=entry.family,
            source=entry.source,
            read_only=entry.read_only,
            hidden=hidden,
            withdrawn=self._withdrawn.get(name),
        )

    def copy(self) -> "Catalog":
        """Return a catalog with the same entries that grows on its own."""
        other = Catalog()
        other._entries = dict(self._entries)
        other._withdrawn = dict(self._withdrawn)
        other._kept = self._kept
        other._joined = self._joined
        return other

    @property
    def names(self) -> Set[str]:
        """All names, withdrawn ones included."""
        return MappingProxyType(self._entries).keys()

    def _add(self, entry: Entry) -> None:
        self._entries[entry.spec.name] = entry
        self._sorted = None


def _entry(tool: Tool, family: str, source: str) -> Entry:
    if isinstance(tool, type):
        raise InvalidSpecError("a tool is an object and this is its class; pass an instance", key=tool.__name__)
    spec = getattr(tool, "spec", None)
    if not isinstance(spec, ToolSpec):
        raise InvalidSpecError("a tool has an attribute spec that is a ToolSpec", key=type(tool).__name__)
    if spec.name.startswith(MCP_PREFIX) and family not in MCP_FAMILIES:
        raise InvalidSpecError(f"names that start with {MCP_PREFIX} belong to MCP servers", key=spec.name)
    read_only = getattr(tool, "read_only", None)
    if not isinstance(read_only, bool):
        raise InvalidSpecError("a tool states read_only, True or False", key=spec.name)
    if not inspect.iscoroutinefunction(getattr(tool, "execute", None)):
        raise InvalidSpecError("a tool has a method async execute(call, env)", key=spec.name)
    advertised = getattr(tool, "advertised", None)
    return Entry(
        tool=tool,
        spec=spec,
        family=family,
        source=source,
        read_only=read_only,
        advertised=advertised if callable(advertised) else None,
    )
