"""Which tools a model request lists, in which form: chosen once, then only added to, so that prompt caches hold."""

import logging
from collections import Counter
from collections.abc import Sequence, Set

from hilt.core.disclosure import DisclosureSetup, Tier, choose_tier, size_of
from hilt.core.session import Mode
from hilt.core.tool import ToolSpec
from hilt.engine.catalog import MCP_FAMILIES, Catalog, Entry
from hilt.engine.conversation import Conversation
from hilt.engine.origin import server_of
from hilt.engine.visibility import Visibility

logger = logging.getLogger(__name__)

TOOL_SEARCH = "ToolSearch"
SERVERS_NAMED_MAX = 100


def listed_specs(
    catalog: Catalog,
    *,
    mode: Mode,
    visibility: Visibility,
    hydrated: Set[str] = frozenset(),
    disclosure: bool = False,
) -> Sequence[ToolSpec]:
    """Return the specs of a request made now, by name; ToolSearch is listed only while disclosure is on."""
    specs = catalog.advertised_specs(mode, hydrated) if disclosure else catalog.specs(mode)
    if visibility.open and disclosure:
        return specs
    return [spec for spec in specs if visibility.sees(spec.name) and (disclosure or spec.name != TOOL_SEARCH)]


def tier_of(
    catalog: Catalog, setup: DisclosureSetup, *, mode: Mode = Mode.DEFAULT, visibility: Visibility | None = None
) -> Tier:
    """Return the tier of a session that is created now.

    Raises:
        ConfigError: The tools do not fit into what the provider takes in any tier that the mode allows.
    """
    if setup.mode == "off" and setup.tools_max is None:
        return Tier.FULL
    sight = visibility or Visibility()
    full = listed_specs(catalog, mode=mode, visibility=sight)
    sizes = [size_of(full)]
    for tier in (Tier.LIGHT, Tier.SEARCH):
        entries = [entry for entry in catalog.available_entries(mode) if sight.sees(entry.spec.name)]
        sizes.append(size_of([spec for entry in entries if (spec := _form(entry, tier, known=False)) is not None]))
    return choose_tier(setup, full=sizes[0], light=sizes[1], searched=sizes[2])


def _form(entry: Entry, tier: Tier, *, known: bool) -> ToolSpec | None:
    """Return how a tool stands in a list, None where it does not; `known`: the model has its full spec."""
    if tier is Tier.FULL:
        return None if entry.spec.name == TOOL_SEARCH else entry.spec
    if known or entry.advertised is None:
        return entry.spec
    if tier is Tier.SEARCH and entry.family in MCP_FAMILIES:
        return None
    return entry.advertised()


def _search_spec(entries: Sequence[Entry]) -> ToolSpec | None:
    """Return ToolSearch with the servers of the tools that are not listed, each with its number of tools."""
    own = next((entry.spec for entry in entries if entry.spec.name == TOOL_SEARCH), None)
    servers = Counter(server_of(entry) for entry in entries if entry.advertised is not None)
    servers.pop("", None)
    if own is None or not servers:
        return own
    named = [f"{name} ({servers[name]})" for name in sorted(servers)]
    more = f" and {len(named) - SERVERS_NAMED_MAX} more" if len(named) > SERVERS_NAMED_MAX else ""
    told = f"{own.description} MCP servers and their tools: {', '.join(named[:SERVERS_NAMED_MAX])}{more}."
    return ToolSpec(own.name, told, own.schema)


class ToolList:
    """The tool list of one conversation.

    It begins with every tool by name, and only grows at its end until it is made anew: by `renew`, by a change of mode
    or filter, or when a tool leaves the catalog's listing. `changed` then says why, until the caller has told it.
    """

    def __init__(self, catalog: Catalog, setup: DisclosureSetup) -> None:
        self._catalog = catalog
        self._setup = setup
        self._specs: tuple[ToolSpec, ...] = ()
        self._names: dict[str, ToolSpec] = {}
        self._seen: tuple[Entry, ...] | None = None
        self._mode: Mode | None = None
        self._visibility: Visibility | None = None
        self._hydrated: frozenset[str] = frozenset()
        self._search: ToolSpec | None = None
        self._why = ""
        self._told = False
        self.changed = ""

    def renew(self, why: str) -> None:
        """Make the list anew at the next request, hydrated tools in full."""
        self._why = why

    def specs(self, state: Conversation) -> Sequence[ToolSpec]:
        """Return the list of the next request, the same object while nothing changed."""
        entries = self._catalog.entries()
        tier = self.tier(state)
        why = self._why or self._reset_by(state, entries)
        if self._mode is None or why:
            self._begin(state, entries, tier, why)
        elif entries is not self._seen or len(state.hydrated) != len(self._hydrated):
            self._grow(state, entries, tier)
        return self._specs

    def tier(self, state: Conversation) -> Tier:
        """Return the conversation's tier, chosen at the first request where its creation did not."""
        if not state.disclosure:
            state.disclosure = tier_of(self._catalog, self._setup, mode=state.mode, visibility=state.visibility)
        return state.disclosure

    def full_schema(self, state: Conversation, name: str) -> dict[str, object] | None:
        """Return the full schema of a tool that the model knows in short or not at all; it is hydrated by that."""
        entry = self._catalog.entry(name)
        unknown = entry is not None and entry.advertised is not None and not state.knows(name)
        if entry is None or not unknown or self.tier(state) is Tier.FULL:
            return None
        state.hydrate([name])
        return entry.spec.schema

    def _reset_by(self, state: Conversation, entries: tuple[Entry, ...]) -> str:
        if self._mode is None:
            return ""
        if state.mode is not self._mode:
            return "the mode changed"
        if state.visibility is not self._visibility:
            return "the tool filter changed"
        if entries is not self._seen and self._names.keys() - {entry.spec.name for entry in entries}:
            return "a tool was withdrawn"
        return ""

    def _begin(self, state: Conversation, entries: tuple[Entry, ...], tier: Tier, why: str) -> None:
        before = self._specs
        resumed = self._mode is None and state.turns > 1 and bool(state.hydrated) and tier is not Tier.FULL
        self._mode, self._visibility = state.mode, state.visibility
        self._why = ""
        self._specs, self._names = (), {}
        admitted = self._admitted(state, entries)
        self._search = _search_spec(admitted) if tier is Tier.SEARCH else None
        self._append(state, admitted, tier)
        self._noted(state, entries)
        if before and self._specs[: len(before)] != before:
            self.changed = why
        elif resumed:
            self.changed = "the session was resumed"

    def _grow(self, state: Conversation, entries: tuple[Entry, ...], tier: Tier) -> None:
        fresh = [entry for entry in self._admitted(state, entries) if entry.spec.name not in self._names]
        if tier is not Tier.SEARCH:
            self._append(state, fresh, tier)
        else:
            learnt = state.hydrated - self._hydrated
            self._append(state, [entry for entry in fresh if entry.spec.name not in learnt], tier)
            self._append(state, [entry for entry in fresh if entry.spec.name in learnt], tier)
        self._noted(state, entries)

    def _admitted(self, state: Conversation, entries: Sequence[Entry]) -> list[Entry]:
        plan = state.mode is Mode.PLAN
        return [entry for entry in entries if state.visibility.sees(entry.spec.name) and (entry.read_only or not plan)]

    def _append(self, state: Conversation, entries: Sequence[Entry], tier: Tier) -> None:
        """Add what the tier lists of an arrival, sorted, as far as the provider takes it."""
        added = []
        for entry in sorted(entries, key=lambda entry: entry.spec.name):
            spec = _form(entry, tier, known=state.knows(entry.spec.name))
            if spec is None:
                continue
            if entry.spec.name == TOOL_SEARCH and self._search is not None:
                spec = self._search
            if self._setup.tools_max is not None and len(self._names) >= self._setup.tools_max:
                self._tell_left_out(entry.spec.name)
                continue
            self._names[entry.spec.name] = spec
            added.append(spec)
        if added:
            self._specs = (*self._specs, *added)

    def _tell_left_out(self, name: str) -> None:
        if not self._told:
            self._told = True
            logger.warning("tool_not_listed tool=%s: the provider takes %s", name, self._setup.tools_max)

    def _noted(self, state: Conversation, entries: tuple[Entry, ...]) -> None:
        self._seen, self._hydrated = entries, frozenset(state.hydrated)
