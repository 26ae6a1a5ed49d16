"""What ToolSearch sees of one session: which tools it may be told of, and how each stands."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches

from hilt.core.dialect import GENERIC, wire_name
from hilt.core.dialect_tool import fit
from hilt.core.permission import Effect, Subjects
from hilt.core.rulebook import RuleBook
from hilt.core.search_query import SearchQuery
from hilt.core.session import Mode
from hilt.engine.catalog import MCP_PREFIX, Catalog, Entry
from hilt.engine.catalog_index import CatalogIndex
from hilt.engine.conversation import Conversation
from hilt.engine.disclosure import TOOL_SEARCH
from hilt.engine.origin import own_name, server_of
from hilt.ports.search import FoundState, FoundTool, MissingTool, ToolGroup

NEAREST = 3
NEAREST_FOR_MAX = 5
_NEIGHBOURS = 20
_LIKE = 30


def _nobody() -> Mapping[str, str]:
    return {}


class SessionToolIndex:
    """See `ToolIndex`. Until it is bound to a conversation nothing is visible."""

    def __init__(
        self,
        catalog: Catalog,
        index: CatalogIndex,
        *,
        rules: RuleBook | None = None,
        profile: str = GENERIC,
        waiting: Callable[[], Mapping[str, str]] = _nobody,
    ) -> None:
        """`waiting` tells the servers whose tools are not there, each with its state: connecting, or a reason."""
        self._catalog = catalog
        self._index = index
        self._rules = rules or RuleBook(())
        self._profile = profile
        self._waiting = waiting
        self._conversation: Conversation | None = None

    def bind(self, conversation: Conversation) -> None:
        """Show the tools of this conversation's session."""
        self._conversation = conversation

    async def ranked(self, query: SearchQuery, limit: int) -> Sequence[FoundTool]:
        """See `ToolIndex.ranked`."""
        keys = await self._index.find(query, limit=limit, admits=self._admits)
        return [self._found(entry) for key in keys if (entry := self._catalog.entry(key)) is not None]

    async def named(self, names: Sequence[str]) -> Sequence[FoundTool | MissingTool]:
        """See `ToolIndex.named`."""
        out: list[FoundTool | MissingTool] = []
        missing = 0
        for name in names:
            entry = await self._entry(name)
            if entry is not None:
                out.append(self._found(entry))
                continue
            waiting = self._of_waiting_server(name)
            if waiting is not None:
                out.append(waiting)
                continue
            missing += 1
            out.append(MissingTool(name=name, nearest=await self._nearest(name) if missing <= NEAREST_FOR_MAX else ()))
        return out

    def groups(self) -> Sequence[ToolGroup]:
        """See `ToolIndex.groups`."""
        state = self._conversation
        servers: Counter[str] = Counter()
        families: Counter[str] = Counter()
        for entry in () if state is None else self._catalog.available_entries(state.mode):
            if not self._sees(entry.spec.name):
                continue
            server = server_of(entry)
            if server:
                servers[server] += 1
            else:
                families[entry.family] += 1
        waiting = self._waiting()
        known = {name: waiting.get(name, "") for name in {*servers, *waiting}}
        found = [ToolGroup(name=name, tools=servers[name], server=True, state=known[name]) for name in sorted(known)]
        return [*found, *(ToolGroup(name=name, tools=families[name], server=False) for name in sorted(families))]

    def hydrate(self, keys: Sequence[str]) -> None:
        """See `ToolIndex.hydrate`."""
        if self._conversation is not None:
            self._conversation.hydrate(keys)

    # ------------------------------------------------------------ one tool

    def _sees(self, key: str) -> bool:
        state = self._conversation
        return state is not None and key != TOOL_SEARCH and state.visibility.sees(key)

    def _admits(self, key: str) -> bool:
        entry = self._catalog.entry(key)
        return entry is not None and self._sees(key) and not self._unfit(entry)[1]

    def _found(self, entry: Entry) -> FoundTool:
        spec = entry.spec
        name = wire_name(spec.name, self._profile)
        state, reason = self._unfit(entry)
        if reason:
            return FoundTool(key=spec.name, name=name, state=state, reason=reason)
        conversation = self._conversation
        if conversation is None or entry.advertised is None or conversation.knows(spec.name):
            return FoundTool(key=spec.name, name=name, state=FoundState.AVAILABLE)
        return FoundTool(
            key=spec.name, name=name, state=FoundState.LOADED, description=spec.description, schema=spec.schema
        )

    def _unfit(self, entry: Entry) -> tuple[FoundState, str]:
        """Return why a visible tool may not be called, "" where it may."""
        name = entry.spec.name
        gone = self._catalog.withdrawn(name)
        if gone is not None:
            return FoundState.UNAVAILABLE, gone or "it was withdrawn"
        withheld = fit(entry.spec, self._profile).withheld
        if withheld is not None:
            return FoundState.WITHHELD, withheld.text
        return FoundState.BLOCKED, self._denied(entry)

    def _denied(self, entry: Entry) -> str:
        """Return why mode or rules refuse every call of the tool, "" where they do not."""
        state = self._conversation
        mode = Mode.DEFAULT if state is None else state.mode
        if mode is Mode.PLAN and not entry.read_only:
            return "plan mode admits only tools that read"
        decision = self._rules.decide(entry.spec.name, Subjects(), mode=mode, read_only=entry.read_only)
        return decision.reason if decision.effect is Effect.DENY else ""

    # ------------------------------------------------------------ names

    async def _entry(self, name: str) -> Entry | None:
        """Return the visible tool meant: by wire or catalog name, or by its own name if only one has it.

        Case counts only where it decides between two.
        """
        called = await self._index.called(name)
        entries = [entry for key in called if self._sees(key) and (entry := self._catalog.entry(key)) is not None]
        folded = name.casefold()
        for fits in (
            [e for e in entries if name in self._full_names(e)],
            [e for e in entries if folded in {full.casefold() for full in self._full_names(e)}],
            [e for e in entries if server_of(e) and own_name(e) == name],
            [e for e in entries if server_of(e) and own_name(e).casefold() == folded],
        ):
            if len(fits) == 1:
                return fits[0]
        return None

    def _full_names(self, entry: Entry) -> tuple[str, str]:
        return entry.spec.name, wire_name(entry.spec.name, self._profile)

    def _of_waiting_server(self, name: str) -> FoundTool | None:
        for server, how in self._waiting().items():
            if name.startswith(f"{MCP_PREFIX}{server}__"):
                connecting = how == FoundState.CONNECTING
                state = FoundState.CONNECTING if connecting else FoundState.UNAVAILABLE
                reason = f"its server {server!r} is connecting; ask again later" if connecting else how
                return FoundTool(key=name, name=name, state=state, reason=reason)
        return None

    async def _nearest(self, name: str) -> tuple[str, ...]:
        """Return the nearest names that are visible: of those that hold its words or stand near it by alphabet."""
        like = await self._index.find(SearchQuery(text=name), limit=_LIKE, admits=self._sees)
        every = sorted(key for key in self._catalog.names if self._sees(key))
        at = bisect_left(every, name)
        near = every if len(every) <= _NEIGHBOURS * 10 else every[max(at - _NEIGHBOURS, 0) : at + _NEIGHBOURS]
        names = {wire_name(key, self._profile): None for key in (*like, *near)}
        return tuple(get_close_matches(name, names, n=NEAREST, cutoff=0.0))
