"""Builds the running application: everything chosen here, nothing chosen elsewhere.

The heavy libraries (the MCP SDK, the providers' clients) are loaded here when something needs them.
"""

import logging
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Literal

import anyio

from hilt.adapters.clock_system import SystemClock
from hilt.adapters.execution_asyncio import AsyncioExecution
from hilt.adapters.permission_file import PermissionFiles
from hilt.adapters.workspace_local.files import LocalWorkspace
from hilt.app.application import App, ViaSession
from hilt.app.assembly import (
    SessionAssembler,
    SessionCatalog,
    SessionMemories,
    Shared,
    disclosure_setup,
    settings_filter,
)
from hilt.app.catalog import Families, SessionContext, ToolFactory, assemble
from hilt.app.categories import checked_categories
from hilt.app.config import Config
from hilt.app.enabled import Enabled
from hilt.app.hooks import guardrails_of, hook_runners
from hilt.app.load_model import load_model
from hilt.app.mcp_extras import Brought, brought, reading, slash_commands, toolhive_servers, wanted_lists
from hilt.app.mcp_servers import client_servers, mounted_servers
from hilt.app.mcp_tools import dialing, live_tools, manager_of
from hilt.app.models import Models
from hilt.app.no_model import NO_MODEL
from hilt.app.query import with_queries
from hilt.app.root_user import auto_refusal
from hilt.app.secrets import configured_secrets, redactor
from hilt.app.shell import shell_of
from hilt.app.skills import LoadedSkills, SkillSources, load_skills
from hilt.app.stores import Store, StoreSetup, open_store
from hilt.app.tasks_jobs import SessionServices
from hilt.core.errors import ConfigError, HarnessFault
from hilt.core.event import Event
from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.core.permission import PermissionRule
from hilt.core.rulebook import RuleBook
from hilt.core.session import SessionId, SessionRecord
from hilt.core.version import VERSION
from hilt.engine.assembly import Host
from hilt.engine.dispatch import DispatchOptions
from hilt.engine.funnel import Parts
from hilt.engine.guardrail import Guardrail
from hilt.engine.retention import Retention
from hilt.engine.session_places import SessionPlaces
from hilt.engine.sessions import Sessions
from hilt.engine.visibility import Visibility
from hilt.mcp.manager import McpManager
from hilt.ports.clock import Clock
from hilt.ports.hook import HookRunner
from hilt.ports.model import Model
from hilt.ports.permission import Approver
from hilt.ports.store import ToolCallRecorder
from hilt.ports.tool import Environment, Tool, ToolSource

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What the host passed to `build`."""

    config: Config
    root: str
    enable: frozenset[str]
    model: str | Model | None
    tools: Sequence[Tool | ToolFactory]
    sources: Sequence[ToolSource]
    own_names: frozenset[str]
    hooks: Sequence[HookRunner]
    guardrails: Sequence[Guardrail]
    rules: Sequence[PermissionRule]
    approver: Approver | ViaSession | None
    services: Mapping[type, object]
    mcp_servers: Sequence[McpServerSpec]
    skill_sources: SkillSources
    session_catalog: SessionCatalog | None
    clock: Clock
    has_config: bool = False


@asynccontextmanager
async def build(  # noqa: PLR0913 - the library's front door, keyword-only, as catalog.md section 9 lists it
    *,
    config: Config | None = None,
    workspace: str | os.PathLike[str] | None = None,
    store: str | Store = "memory:",
    model: str | Model | None = None,
    tools: Sequence[Tool | ToolFactory] = (),
    sources: Sequence[ToolSource] = (),
    enable: Iterable[str] = (),
    own_names: Iterable[str] = (),
    hooks: Sequence[HookRunner] = (),
    guardrails: Sequence[Guardrail] = (),
    rules: Sequence[PermissionRule] = (),
    approver: Approver | ViaSession | None = None,
    recorder: ToolCallRecorder | None = None,
    clock: Clock | None = None,
    services: Mapping[type, object] | None = None,
    mcp_servers: Sequence[McpServerSpec] = (),
    skill_sources: SkillSources = (),
    session_catalog: SessionCatalog | None = None,
    on_event: Callable[[Event], None] | None = None,
    enable_builtins: bool = False,
    enable_shell: bool = False,
    enable_subagents: bool = False,
    enable_memory: bool = False,
    enable_comms: bool = False,
) -> AsyncIterator[App]:
    """Build the application; leaving the context ends every connection, process and task that it started.

    Nothing is on by default. `workspace` defaults to the settings' or the current directory. Without `approver`
    every ask is denied at once; `VIA_SESSION` lets asks wait for `session.approve`. `config` brings settings as
    `hilt` reads them; without it no file and no variable is read.

    Raises:
        ConfigError: A value does not fit; names it. Nothing is left running.
        UnreachableError: A required MCP server does not answer.
    """
    switches = {
        "tasks": enable_builtins,
        "shell": enable_shell,
        "agents": enable_subagents,
        "memory": enable_memory,
        "comms": enable_comms,
    }
    wanted = {*enable, *(name for name, on in switches.items() if on)}
    settings = config or Config()
    given = _Given(
        config=settings,
        root=os.path.realpath(settings.workspace_root or "." if workspace is None else workspace),  # noqa: ASYNC240 - once, before anything runs beside it
        enable=checked_categories(wanted or (settings.tools.enable if config is not None else ())),
        model=model,
        tools=tools,
        sources=sources,
        own_names=frozenset(own_names),
        hooks=hooks,
        guardrails=guardrails,
        rules=rules,
        approver=approver,
        services=services or {},
        mcp_servers=mcp_servers,
        skill_sources=skill_sources,
        session_catalog=session_catalog,
        clock=clock or SystemClock(),
        has_config=config is not None,
    )
    inside: BaseException | None = None
    try:
        async with AsyncExitStack() as stack:
            app = await _Builder(given, stack).app(store, recorder, on_event)
            try:
                yield app
            except BaseException as exc:
                inside = exc
                raise
    except BaseExceptionGroup as group:
        # What the caller's own code raised reaches the caller as it is, not inside a task group's group.
        if len(group.exceptions) == 1 and (inside is None or group.exceptions[0] is inside):
            raise group.exceptions[0] from None
        raise


class _Builder:
    """Puts the application together and remembers what must end with it."""

    def __init__(self, given: _Given, stack: AsyncExitStack) -> None:
        self._given = given
        self._stack = stack
        self._execution = AsyncioExecution()
        self._servers = mounted_servers(given.config, given.mcp_servers)
        self._redactor = redactor(given.config.environment, configured_secrets(given.config, self._servers))
        self._services = dict(with_queries(given.services, stack))
        self._enabled: Enabled | None = None
        config = given.config
        self._models = Models(given.model, default=config.model or "", environment=config.environment, load=load_model)
        stack.push_async_callback(self._models.aclose)
        self.managers: list[McpManager] = []

    async def app(
        self, store: str | Store, recorder: ToolCallRecorder | None, on_event: Callable[[Event], None] | None
    ) -> App:
        """Return the application, running."""
        given = self._given
        setup = StoreSetup(clock=given.clock, redactor=self._redactor, state_dir=given.config.state_dir)
        opened = open_store(store, setup)
        self._stack.callback(opened.close)
        tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._stack.callback(tasks.cancel_scope.cancel)
        skills = await load_skills(given.config, given.skill_sources, given.enable, root=given.root, clock=given.clock)
        enabled = self._enabled = Enabled(
            categories=given.enable,
            config=given.config,
            root=given.root,
            clock=given.clock,
            tasks=tasks,
            services=self._services,
            stack=self._stack,
        )
        memories = enabled.memories(store, opened, redact=self._redactor.redact, main_model=self._models.name)
        shared = await self._shared(recorder or opened.calls, skills, enabled, memories)
        receivers = () if on_event is None else (on_event,)
        host = Host(store=opened.sessions, log=opened.events, clock=given.clock, tasks=tasks, receivers=receivers)
        assembler = SessionAssembler(shared)
        sessions = Sessions(
            host,
            assembler,
            defaults=SessionRecord(
                id=SessionId(""), mode=given.config.mode, model=self._models.name, workspace=given.root
            ),
            idle_close_s=given.config.sessions.idle_close_seconds,
            places=SessionPlaces(
                max_open=given.config.sessions.max_open, max_own_engines=given.config.sessions.max_own_engines
            ),
        )
        self._stack.push_async_callback(sessions.close_all)
        if shared.families.comms.close is not None:
            self._stack.push_async_callback(shared.families.comms.close)
        tasks.start_soon(sessions.sweep, name="idle sessions")
        if given.config.sessions.retention_days is not None:
            retention = Retention(sessions, clock=given.clock, days=given.config.sessions.retention_days)
            tasks.start_soon(retention.run, name="unused sessions")
        return App(
            config=given.config,
            catalog=shared.parts.catalog,
            sessions=sessions,
            store=opened,
            assembler=assembler,
            rules=shared.rules,
            hooks=shared.parts.hooks,
            workspace=given.root,
            mcp=self.managers,
            slash=slash_commands(given.config, self.managers, before=skills.expanders),
            skills=skills.book,
            redactor=self._redactor,
            calls=recorder or opened.calls,
            clock=given.clock,
        )

    async def _shared(
        self,
        recorder: ToolCallRecorder,
        skills: LoadedSkills,
        enabled: Enabled,
        memories: SessionMemories | None,
    ) -> Shared:
        given, config = self._given, self._given.config
        runner, shell = shell_of(config, given.root, enabled="shell" in given.enable, given=given.has_config)
        comms = enabled.comms()
        definitions = await enabled.definitions()
        families = Families(
            enable=given.enable,
            shell=shell,
            web=enabled.web(),
            remembering=((), ()) if memories is None else memories.tools,
            comms=comms,
            tools=given.tools,
            sources=given.sources,
            own_names=given.own_names,
            mcp=await self._mcp_tools(),
            reading=reading(config, self.managers),
            skills=skills,
            agents=tuple(definitions.values()),
            mounted=any(server.state == "ready" for manager in self.managers for server in manager.servers),
        )
        catalog = assemble(families, SessionContext())
        catalog.report_skipped()
        live = live_tools(config, self.managers)
        Visibility(settings_filter(config)).report_unknown(catalog, complete=live is None or not live.waiting())
        if given.session_catalog is not None:
            logger.info("session_catalog_by_host: names are not compared with the shared catalog")
        hooks = [*given.hooks, *hook_runners(config)]
        parts = Parts(
            catalog=catalog,
            model=NO_MODEL,
            env=Environment(),
            execution=self._execution,
            rules=RuleBook([]),
            hooks=hooks,
            guardrails=[*given.guardrails, *guardrails_of(config, lambda: self._models.get(self._models.name))],
            approver=None if isinstance(given.approver, ViaSession) else given.approver,
            recorder=recorder,
            clock=given.clock,
            limits=config.limits,
            options=DispatchOptions(
                max_concurrent=config.tools.max_concurrent,
                timeout_s=config.tools.timeout_seconds,
                timeouts=config.tools.timeouts,
            ),
            redact=self._redactor.redact,
            cwd=given.root,
        )
        return Shared(
            parts=parts,
            families=families,
            rules=given.rules,
            rule_source=self._rule_source(),
            workspace=self._workspace(),
            runner=runner,
            root=given.root,
            home=config.home,
            services=self._services,
            own=SessionServices(given.root, clock=given.clock, starter=runner, tasks=enabled.tasks),
            memories=memories,
            mail=comms.mail,
            layers=settings_filter(config),
            load_model=self._models.get,
            session_catalog=given.session_catalog,
            client_tools=self._client_tools,
            live=live,
            via_session=isinstance(given.approver, ViaSession),
            refuses_auto=auto_refusal(contained=config.sandboxed),
            disclosure=disclosure_setup(config),
            children=enabled.children(definitions),
        )

    def _workspace(self) -> LocalWorkspace | None:
        given = self._given
        try:
            workspace = LocalWorkspace(given.root, given.config.extra_roots)
        except OSError as exc:
            raise ConfigError(f"the workspace cannot be opened: {exc.strerror}", key="workspace") from exc
        self._stack.callback(workspace.close)
        return workspace

    async def _mcp_tools(self) -> Sequence[Tool]:
        """Mount the servers of the process and return their tools."""
        found = await toolhive_servers(self._given.config, self._servers)
        if not self._servers and not found:
            return ()
        manager = await self._mount([*self._servers, *found], wait=self._given.config.mcp.wait)
        self._stack.push_async_callback(manager.close)
        self.managers.append(manager)
        return manager.tools()

    async def _mount(
        self, servers: Sequence[McpServerSpec], *, wait: Literal["all", "fast"], public: bool = False
    ) -> McpManager:
        from hilt.adapters.fetch_http import public_network
        from hilt.adapters.mcp_dialer import SdkDialer

        enabled = self._enabled
        if enabled is None:
            raise HarnessFault("MCP servers are mounted inside the application's task group")
        given = self._given
        environment = given.config.environment if given.has_config else dict(os.environ)
        options = dialing(given.root, self._services)
        network = public_network() if public else None
        dialer = SdkDialer(enabled.tasks, environment=environment, version=VERSION, network=network, **options)
        manager = manager_of(servers, dialer, given.config, limits=McpLimits(), lists=wanted_lists(given.config))
        enabled.fetcher()
        await manager.start(enabled.tasks, wait=wait)
        return manager

    async def _client_tools(self, servers: Sequence[McpServerSpec]) -> Brought:
        """Mount the servers that the creator of a session brings: all of them, or none.

        Raises:
            RequestError: An entry is not allowed, or one does not answer.
        """
        config = self._given.config
        manager = await self._mount(client_servers(config, servers), wait="all", public=config.client_mcp_guarded)
        return await brought(manager)

    def _rule_source(self) -> PermissionFiles | None:
        config = self._given.config
        if not self._given.has_config:
            return None
        return PermissionFiles(config.rule_files, config.rule_flags, trusted=config.trusted)
