"""Makes what one session consists of: its catalog, environment, rules, hooks and model."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import anyio

from hilt.app.catalog import META_NAMES, NEEDS_FILES, NO_FILES_PROFILE, Families, SessionContext, assemble, check_parity
from hilt.app.categories import CATEGORY_TOOLS
from hilt.app.config import Config
from hilt.app.mcp_extras import Brought
from hilt.app.mcp_servers import client_names, sparing
from hilt.app.mcp_tools import Generation, LiveTools
from hilt.app.tasks_jobs import OwnServices, SessionServices
from hilt.core.defaults import builtin_defaults
from hilt.core.dialect import tools_max
from hilt.core.disclosure import DisclosureSetup
from hilt.core.errors import RequestError
from hilt.core.mcp import McpServerSpec
from hilt.core.permission import PermissionRule
from hilt.core.rulebook import RuleBook
from hilt.core.session import Mode, SessionRecord, ToolFilter
from hilt.core.shaping import Keep
from hilt.engine.assembly import Assembly, SessionPart
from hilt.engine.catalog import Catalog
from hilt.engine.catalog_index import CatalogIndexes
from hilt.engine.child_run import OwnParts
from hilt.engine.child_start import ChildrenHost, ChildrenSetup
from hilt.engine.children import SessionChildren
from hilt.engine.conversation import Conversation
from hilt.engine.defaults import host_defaults
from hilt.engine.earlier import NoTurns
from hilt.engine.funnel import Parts
from hilt.engine.retained import Retained
from hilt.engine.teams import SessionTeams
from hilt.engine.tool_index import SessionToolIndex
from hilt.engine.visibility import Visibility
from hilt.ports.child import ChildAgents
from hilt.ports.hook import HookRunner
from hilt.ports.memory import EarlierTurns
from hilt.ports.model import Model
from hilt.ports.permission import RuleSource
from hilt.ports.query import JsonQuery
from hilt.ports.results import RetainedResults
from hilt.ports.runner import CommandRunner
from hilt.ports.search import Embedder, ToolIndex
from hilt.ports.skill import SkillAuthor
from hilt.ports.team import Teams
from hilt.ports.tool import Environment, Tool
from hilt.ports.workspace import ReadLedger, Workspace

logger = logging.getLogger(__name__)

SessionCatalog = Callable[[SessionContext], Catalog]
ClientTools = Callable[[Sequence[McpServerSpec]], Awaitable[Brought]]


class ConversationHook(HookRunner, Protocol):
    """A hook that reads the conversation."""

    def bind(self, conversation: Conversation) -> None:
        """Take the conversation."""
        ...


class SessionMemories(Protocol):
    """What an application remembers (`app/memory.py`)."""

    @property
    def tools(self) -> tuple[Sequence[Tool], Sequence[Tool]]:
        """The tools of the families `memory` and `user-model`."""
        ...

    def own(self, record: SessionRecord) -> Mapping[type, object]:
        """Return the services of a session."""
        ...

    def review(
        self, record: SessionRecord, model: Model, rules: RuleBook, services: Mapping[type, object]
    ) -> Sequence[ConversationHook]:
        """Return the hooks that only sessions of the main engine have."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What every session of the application takes over; `parts` holds what is the same for all."""

    parts: Parts
    families: Families
    rules: Sequence[PermissionRule] = ()
    rule_source: RuleSource | None = None
    workspace: Workspace | None = None
    runner: CommandRunner | None = None
    root: str = ""
    home: str = ""
    services: Mapping[type, object] = field(default_factory=dict)
    own: SessionServices | None = None
    memories: SessionMemories | None = None
    mail: Callable[[SessionRecord, Keep], SessionPart | None] | None = None
    layers: Sequence[ToolFilter] = ()
    load_model: Callable[[str], Model]
    session_catalog: SessionCatalog | None = None
    client_tools: ClientTools | None = None
    live: LiveTools | None = None
    via_session: bool = False
    refuses_auto: str = ""
    disclosure: DisclosureSetup = field(default_factory=DisclosureSetup)
    children: ChildrenHost | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lent:
    """What a session has that its child agents use too, or start from."""

    ledger: ReadLedger
    retained: Retained
    services: Mapping[type, object]


class SessionAssembler:
    """Assembles sessions over one shared catalog."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._defaults = builtin_defaults()
        self._known = frozenset(rule.tool for rule in self._defaults)
        self._built = frozenset(shared.parts.catalog.names)
        self._indexes = CatalogIndexes(_embedder(shared.services))

    async def __call__(self, record: SessionRecord, client: Sequence[McpServerSpec]) -> Assembly:
        """Make the parts of a session; rules are read as they stand now.

        Raises:
            ConfigError: A settings file with rules has an error.
            RequestError: The mode is refused here, a category is not enabled, or the catalog is not the shared one.
        """
        shared = self._shared
        if record.mode is Mode.AUTO and shared.refuses_auto:
            raise RequestError(shared.refuses_auto, code="forbidden")
        layers = [*shared.layers, *_narrowing(record, shared.families)]
        loaded = () if shared.rule_source is None else await shared.rule_source.load()
        model = shared.load_model(record.model)
        brought = Brought()
        if client:
            if shared.client_tools is None:
                raise RequestError("this application takes no MCP servers of a session", code="unsupported")
            brought = await shared.client_tools(client)
        try:
            catalog = await self._catalog(record, brought)
        except BaseException:
            if brought.close is not None:
                await brought.close()
            raise
        waiting = {} if shared.live is None else shared.live.waiting()
        Visibility((record.tools,)).report_unknown(catalog, complete=not waiting)
        rules = [*shared.rules, *sparing(loaded, client_names(catalog, shared.families.reading.servers))]
        refresh: Callable[[], Awaitable[None]] | None = None
        if shared.live is not None and shared.session_catalog is None:
            catalog, refresh = shared.live.follow(catalog)
        made = self._assembly(record, catalog, rules, model, layers=layers, close=brought.close)
        return replace(made, refresh=refresh)

    def _assembly(
        self,
        record: SessionRecord,
        catalog: Catalog,
        rules: Sequence[PermissionRule],
        model: Model,
        *,
        layers: Sequence[ToolFilter],
        close: Callable[[], Awaitable[None]] | None,
    ) -> Assembly:
        shared = self._shared
        ledger = ReadLedger(record.ledger)
        retained = Retained()
        rulebook = RuleBook(
            [*rules, *self._defaults, *host_defaults(catalog, self._known)],
            root=shared.root,
            home=shared.home,
            guarded=shared.families.skills.folders,
        )
        profile = model.capabilities.profile
        made = OwnServices() if shared.own is None else shared.own.own(record)
        mail = None if shared.mail is None else shared.mail(record, retained.keep)
        memories = {} if shared.memories is None else shared.memories.own(record)
        services, index = self._services(
            catalog, rulebook, model, ledger=ledger, retained=retained, made={**made.services, **memories}
        )
        review = () if shared.memories is None else shared.memories.review(record, model, rulebook, services)
        base = replace(shared.parts, catalog=catalog, model=model, rules=rulebook)
        children: SessionChildren | None = None
        if shared.children is not None:
            own = partial(self._of_child, record, base, _Lent(ledger=ledger, retained=retained, services=memories))
            children = SessionChildren(ChildrenSetup(own=own, load_model=shared.load_model, host=shared.children))
            services[ChildAgents] = children
            services[Teams] = SessionTeams(shared.children.clock.new_id)
        env = self._environment(record, services)
        parts = replace(
            base,
            env=env,
            hooks=[*shared.parts.hooks, *review],
            disclosure=replace(
                shared.disclosure,
                window_tokens=model.capabilities.window_tokens,
                tools_max=tools_max(profile),
            ),
            keep=retained.keep,
            filters=JsonQuery in services,
            lost_servers=record.client_servers if close is None else (),
            asking=anyio.Lock(),
        )

        def bind(conversation: Conversation) -> None:
            index.bind(conversation)
            made.bind(conversation)
            for hook in review:
                hook.bind(conversation)
            if mail is not None:
                mail.bind(conversation)

        def busy() -> bool:
            return made.busy or (children is not None and children.busy)

        async def end() -> None:
            if mail is not None:
                mail.close()
            if children is not None:
                await children.close()
            retained.clear()
            await made.close()
            if close is not None:
                await close()

        return Assembly(
            parts=parts,
            ledger=ledger,
            layers=layers,
            persist=None if shared.rule_source is None else shared.rule_source.remember,
            begin=None if mail is None else mail.begin,
            close=end,
            bind=bind,
            busy=busy,
            children=children,
            via_session=shared.via_session,
            refuses_auto=shared.refuses_auto,
        )

    def _services(
        self,
        catalog: Catalog,
        rules: RuleBook,
        model: Model,
        *,
        ledger: ReadLedger,
        retained: Retained,
        made: Mapping[type, object],
    ) -> tuple[dict[type, object], SessionToolIndex]:
        """Return what tools of one agent ask the environment for; what the host provides wins."""
        shared = self._shared
        profile = model.capabilities.profile
        waiting = {} if shared.live is None else {"waiting": shared.live.waiting}
        index = SessionToolIndex(catalog, self._indexes.of(catalog), rules=rules, profile=profile, **waiting)
        author = SkillAuthor(model=model.name)
        own = {ReadLedger: ledger, RetainedResults: retained, ToolIndex: index, SkillAuthor: author}
        return {**own, **made, **shared.services}, index

    def _environment(self, record: SessionRecord, services: Mapping[type, object]) -> Environment:
        no_files = record.profile == NO_FILES_PROFILE
        return Environment(
            workspace=None if no_files else self._shared.workspace,
            runner=None if no_files else self._shared.runner,
            services=services,
            session_id=record.id,
        )

    def _of_child(
        self,
        record: SessionRecord,
        parts: Parts,
        lent: _Lent,
        model: Model,
        fork: bool,
    ) -> OwnParts:
        """Make what a child agent has for itself; a fork knows its parent's files, results and earlier turns."""
        made = OwnServices() if self._shared.own is None else self._shared.own.of_child(record)
        kept = lent.retained if fork else Retained()
        known = ReadLedger(lent.ledger.exported() if fork else None)
        turns: dict[type, object] = {} if fork else {EarlierTurns: NoTurns()}
        own = {**made.services, **lent.services, **turns}
        services, index = self._services(parts.catalog, parts.rules, model, ledger=known, retained=kept, made=own)

        def bind(conversation: Conversation) -> None:
            index.bind(conversation)
            made.attend(conversation)

        async def rest() -> None:
            if not fork:
                kept.clear()
            await made.rest()

        return OwnParts(env=self._environment(record, services), keep=kept.keep, bind=bind, rest=rest)

    async def _catalog(self, record: SessionRecord, brought: Brought) -> Catalog:
        shared = self._shared
        context = SessionContext(session_id=record.id, profile=record.profile)
        if shared.session_catalog is not None:
            return shared.session_catalog(context)
        now = Generation(families=shared.families, catalog=shared.parts.catalog)
        if shared.live is not None:
            now = await shared.live.now(now, self._take_later)
        client = brought.tools
        if not brought.servers and not shared.families.has_factories and not record.profile:
            return now.catalog
        own = assemble(now.families, context, client=client, client_servers=brought.servers)
        own.report_skipped()
        self._take_later(own, no_files=record.profile == NO_FILES_PROFILE)
        check_parity(now.catalog, own, client=client, profile=record.profile, brought=bool(brought.servers))
        return own

    def _take_later(self, own: Catalog, *, no_files: bool = False) -> None:
        """Take over what was registered in the shared catalog, or withdrawn from it, since it was built."""
        shared = self._shared.parts.catalog
        for name in sorted(shared.names):
            entry, reason = shared.entry(name), shared.withdrawn(name)
            later = name not in self._built and name not in own.names
            if entry is not None and later and not (no_files and name in NEEDS_FILES):
                own.register(entry.tool, family=entry.family, source=entry.source)
            if reason is not None and name in own.names:
                own.withdraw(name, reason)


def _narrowing(record: SessionRecord, families: Families) -> list[ToolFilter]:
    """Return the filter of a session that asks for fewer categories than the application enables.

    Raises:
        RequestError: It asks for one that is not enabled.
    """
    if record.enable is None:
        return []
    more = sorted(set(record.enable) - families.enable - ({"files.read"} if "files" in families.enable else set()))
    if more:
        raise RequestError(f"category {more[0]!r} is not enabled here", code="bad_request")
    kept = {name for category in record.enable for name in CATEGORY_TOOLS[category]}
    mine = {name for category in families.enable for name in CATEGORY_TOOLS[category]}
    return [ToolFilter(deny=tuple(sorted(mine - kept - set(META_NAMES))))]


def settings_filter(config: Config) -> Sequence[ToolFilter]:
    """Return the layer of the settings, none where they filter nothing."""
    allow = None if config.tools.allow == ("*",) else config.tools.allow
    return [ToolFilter(allow=allow, deny=config.tools.deny)] if allow is not None or config.tools.deny else []


def _embedder(services: Mapping[type, object]) -> Embedder | None:
    """Return the embedder that the host provides as a service, None without one."""
    given = services.get(Embedder)
    return given if isinstance(given, Embedder) else None


def disclosure_setup(config: Config) -> DisclosureSetup:
    """Return when the settings want tools listed in short."""
    return DisclosureSetup(mode=config.disclosure.mode, window_share=config.disclosure.window_share)
