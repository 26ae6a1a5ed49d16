"""The MCP servers of one owner: started side by side, a dead one costs its own tools, all closed together."""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import anyio
import anyio.abc

from hilt.core.errors import UnreachableError
from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.mcp.failure import log_text
from hilt.mcp.listing import WithheldTool
from hilt.mcp.server import McpServer, ServerState
from hilt.mcp.tools import RemoteTool
from hilt.ports.mcp import McpDialer, McpFault, ServerFacts

logger = logging.getLogger(__name__)

Wait = Literal["all", "fast"]
FAST_MAX_S: Final = 2.0
FAST_QUIET_S: Final = 0.1
CLOSE_MAX_S: Final = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReport:
    """How one server stands.

    `cause` says why it failed, redacted; `connect_s` how long it took to be ready.
    """

    name: str
    state: ServerState
    facts: ServerFacts
    connect_s: float
    tools: int
    withheld: tuple[WithheldTool, ...]
    repaired: tuple[tuple[str, tuple[str, ...]], ...]
    cause: str


class McpManager:
    """Owns servers. All its work runs in one task of the group that it is started in.

    It may be closed from any task. `lists` names what is read beside the tools when a server is ready: resources,
    prompts.
    """

    def __init__(
        self,
        specs: Sequence[McpServerSpec],
        dialer: McpDialer,
        *,
        limits: McpLimits | None = None,
        make_server: Callable[..., McpServer] = McpServer,
        lists: Collection[str] = (),
    ) -> None:
        self._specs = [spec for spec in specs if spec.enabled]
        self._dialer = dialer
        self._limits = limits or McpLimits()
        self._make_server = make_server
        self._lists = lists
        self._servers: dict[str, McpServer] = {}
        self._settled = 0
        self._moved = anyio.Event()
        self._closing = anyio.Event()
        self._finished = anyio.Event()
        self._running = False

    async def start(self, tasks: anyio.abc.TaskGroup, *, wait: Wait = "all") -> None:
        """Connect every server and list its tools; `fast` returns when the quick ones are ready.

        Raises:
            UnreachableError: A required server failed; everything that was opened is closed.
        """
        await tasks.start(self._run)
        try:
            await self._wait(wait)
        except BaseException:
            await self.close()
            raise
        failed = [server for server in self._servers.values() if server.spec.required and server.state == "failed"]
        if failed:
            await self.close()
            causes = "; ".join(f"{server.spec.name!r}: {server.cause}" for server in failed)
            raise UnreachableError(f"a required MCP server cannot be reached: {causes}")

    async def _run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        limiter = anyio.CapacityLimiter(self._limits.dials_at_once)
        try:
            async with anyio.create_task_group() as tasks:
                for spec in self._specs:
                    server = self._make_server(spec, self._dialer, tasks=tasks, limits=self._limits)
                    self._servers[spec.name] = server
                    tasks.start_soon(self._bring_up, server, limiter)
                self._running = True
                task_status.started()
                await self._closing.wait()
                await self._close_all()
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._close_all()
            self._running = False
            self._finished.set()

    async def _bring_up(self, server: McpServer, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            started = await self._try(server, loud=True)
        self._settled += 1
        self._moved.set()
        self._moved = anyio.Event()
        while not started and not server.spec.required and server.state != "closed":
            await anyio.sleep(max(server.retry_in_s, FAST_QUIET_S))
            started = await self._try(server, loud=False)

    async def _try(self, server: McpServer, *, loud: bool) -> bool:
        try:
            await server.start()
        except McpFault:
            if loud and server.state != "closed":
                cause = log_text(server.cause)
                logger.warning("mcp_server_unavailable server=%s cause=%s", server.spec.name, cause)
            return False
        except Exception:
            # A broken server object may cost its own tools only.
            logger.exception("mcp_server_failed server=%s", server.spec.name)
            server.state, server.cause = "failed", "it could not be started"
            return False
        if self._lists:
            await server.lists.load(self._lists, within_s=server.spec.connect_timeout_s - server.connect_s)
        return True

    async def _wait(self, wait: Wait) -> None:
        with anyio.move_on_after(FAST_MAX_S if wait == "fast" else None):
            while self._settled < len(self._servers):
                moved = self._moved
                if wait == "fast" and any(server.state == "ready" for server in self._servers.values()):
                    with anyio.move_on_after(FAST_QUIET_S) as quiet:
                        await moved.wait()
                    if quiet.cancelled_caught:
                        break
                else:
                    await moved.wait()
        while self._required_pending():
            await self._moved.wait()

    def _required_pending(self) -> bool:
        return any(s.spec.required and s.state == "connecting" for s in self._servers.values())

    @property
    def servers(self) -> Sequence[McpServer]:
        """Every enabled server, in the order of the entries."""
        return tuple(self._servers.values())

    def tools(self) -> list[RemoteTool]:
        """Return the tools of the servers that are ready, by entry, each server's in its own order."""
        return [
            RemoteTool(server, listed)
            for server in self._servers.values()
            if server.state == "ready"
            for listed in server.listing.tools
        ]

    def reports(self) -> list[ServerReport]:
        """Return how each server stands, in the order of the entries."""
        return [
            ServerReport(
                name=server.spec.name,
                state=server.state,
                facts=server.facts,
                connect_s=server.connect_s,
                tools=len(server.listing.tools),
                withheld=server.listing.withheld,
                repaired=tuple((tool.name, tool.repaired) for tool in server.listing.tools if tool.repaired),
                cause=server.cause,
            )
            for server in self._servers.values()
        ]

    async def close(self) -> None:
        """End every connection, process and task; returns when all is gone. Never raises, may be repeated."""
        self._closing.set()
        if not self._running:
            return
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSE_MAX_S):
            await self._finished.wait()

    async def _close_all(self) -> None:
        async with anyio.create_task_group() as group:
            for server in self._servers.values():
                group.start_soon(server.close)
