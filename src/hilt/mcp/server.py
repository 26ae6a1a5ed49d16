"""One MCP server: its connection, how it is lost and found again, and its tools as they were at start.

All callers share one dial. What a failed exchange means is decided by `core.replay`; here it is done.
"""

import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import anyio
import anyio.abc

from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.core.mcp_entry import secret_values
from hilt.core.redaction import Redactor
from hilt.core.replay import judge, pause_s
from hilt.mcp.failure import CallFailedError, log_text, outcome_unknown, shown_once, unavailable
from hilt.mcp.listing import METHOD_NOT_FOUND, Ask, ToolListing, list_all, read_tools, renewed
from hilt.mcp.server_list import ServerList
from hilt.mcp.server_lists import ServerLists
from hilt.mcp.staleness import KINDS, Staleness
from hilt.ports.mcp import CHANNEL_GAP, Asker, Fault, McpConnection, McpDialer, McpFault, ProgressHandler, ServerFacts

logger = logging.getLogger(__name__)

ServerState = Literal["connecting", "ready", "failed", "closed"]
DIAL_SPARE_S: Final = 1.0
SENDS_MAX: Final = 2
LIST_AGAIN_S: Final = 10.0
LOGS_A_MINUTE: Final = 100
LOG_BYTES: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class McpRequest:
    """One request to a server.

    `subject` names it in messages; `repeatable`: it is annotated read-only or idempotent, so that it may be
    sent twice; `headers` go beside it in the stateless era over HTTP; `asker` answers for its session.
    """

    method: str
    params: Mapping[str, object]
    subject: str
    repeatable: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    asker: Asker | None = None


class _Dial:
    """One dial that any number of callers wait for."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.connection: McpConnection | None = None
        self.fault: McpFault | None = None


class McpServer:
    """One server entry in use; made and started by `McpManager`, whose `tasks` run its dials.

    `listing` is what `tools/list` gave when it was read last, which a reconnect is no reason for. `stale` names the
    lists (tools, prompts, resources) that are to be read again; `lists` has the last two. `live` makes a reconnect,
    and a gap in the standing channel, a reason too.
    """

    def __init__(  # noqa: PLR0913 - keyword-only parts of one server
        self,
        spec: McpServerSpec,
        dialer: McpDialer,
        *,
        tasks: anyio.abc.TaskGroup,
        limits: McpLimits | None = None,
        monotonic: Callable[[], float] = anyio.current_time,
        chance: Callable[[], float] = random.random,
        live: bool = False,
    ) -> None:
        self.spec = spec
        self.state: ServerState = "connecting"
        self.facts = ServerFacts()
        self.cause = ""
        self.connect_s = 0.0
        self.stale = Staleness(monotonic)
        self._secrets = secret_values(spec)
        self._redactor = Redactor(self._secrets)
        self._dialer = dialer
        self._tasks = tasks
        self._limits = limits or McpLimits()
        self._monotonic = monotonic
        self._chance = chance
        self._connection: McpConnection | None = None
        self._users: dict[McpConnection, int] = {}
        self._dial: _Dial | None = None
        self._failures = 0
        self._closed_until = 0.0
        self._log_window = (0.0, 0)
        self._live = live
        self._tool_list: ServerList[ToolListing] = ServerList(
            spec.name, "tools", self._read_tools, empty=ToolListing(), stale=self.stale
        )
        self.lists = ServerLists(spec, self._ask_list, facts=lambda: self.facts, stale=self.stale, limits=self._limits)

    @property
    def listing(self) -> ToolListing:
        """The tools as they were read last."""
        return self._tool_list.known

    @property
    def listing_due(self) -> bool:
        """Whether `fresh_listing` would wait for the server."""
        return self._tool_list.due

    async def fresh_listing(self) -> ToolListing:
        """Return the tools, read again where the list is stale; where that fails, as they were."""
        return await self._tool_list.value()

    @property
    def retry_in_s(self) -> float:
        """Seconds until a call may dial again after failed dials."""
        return max(0.0, self._closed_until - self._monotonic())

    async def start(self) -> None:
        """Connect and list the tools, all within `connect_timeout_s`.

        Raises:
            McpFault: It failed; `cause` says why, redacted.
        """
        began = self._monotonic()
        try:
            with anyio.move_on_after(self.spec.connect_timeout_s) as scope:
                connection = await self._shared_dial()
                self._tool_list.put(await self._first_tools(connection))
            if scope.cancelled_caught:
                raise McpFault(Fault.TIMEOUT, f"not ready within {self.spec.connect_timeout_s:g} s")
        except McpFault as fault:
            self.cause = self._redactor.redact(fault.text)
            if self.state != "closed":
                self.state = "failed"
                await self._give_up()
            raise
        self.connect_s = self._monotonic() - began
        if self.state != "closed":
            self.state, self.cause = "ready", ""

    async def _ask_list(self, method: str, params: Mapping[str, object]) -> Mapping[str, object]:
        request = McpRequest(method=method, params=params, subject=method, repeatable=True)
        try:
            answer = await self.request(request, timeout_s=self.spec.connect_timeout_s)
        except CallFailedError as exc:
            if exc.code == METHOD_NOT_FOUND:
                raise McpFault(Fault.DECLARED, exc.text, code=exc.code) from None
            raise
        self.stale.note(method, answer)
        return answer

    async def _give_up(self) -> None:
        """Close a connection whose lists could not be read; that counts as a failed dial."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._paused()
            self._tasks.start_soon(connection.close)

    async def _first_tools(self, connection: McpConnection) -> ToolListing:
        self.facts = connection.facts

        async def ask(method: str, params: Mapping[str, object]) -> Mapping[str, object]:
            answer = await connection.request(method, params, timeout_s=self.spec.connect_timeout_s)
            self.stale.note(method, answer)
            return answer

        self.stale.discard("tools")
        return await self._listed(ask)

    async def _read_tools(self) -> ToolListing:
        with anyio.move_on_after(min(self.spec.connect_timeout_s, LIST_AGAIN_S)):
            return await self._listed(self._ask_list)
        raise McpFault(Fault.TIMEOUT, "the list did not come in time")

    async def _listed(self, ask: Ask) -> ToolListing:
        if "tools" not in self.facts.capabilities:
            return ToolListing()
        entries = await list_all(ask, "tools/list", "tools", server=self.spec.name, limits=self._limits)
        by_header = self.facts.era == "stateless" and self.spec.transport == "http"
        listing = renewed(self.listing, read_tools(entries, self.spec, with_headers=by_header))
        for tool in listing.withheld:
            if tool in self.listing.withheld:
                continue
            logger.warning(
                "mcp_tool_withheld server=%s tool=%s reason=%s",
                self.spec.name,
                repr(tool.name[:80]),
                log_text(tool.reason),
            )
        return listing

    # ------------------------------------------------------------ calls

    async def request(
        self, request: McpRequest, *, timeout_s: float, on_progress: ProgressHandler | None = None
    ) -> Mapping[str, object]:
        """Send one request, reconnecting once where that is safe.

        Raises:
            CallFailedError: It failed; the text is for the model.
            McpFault: Of kind TIMEOUT alone: `timeout_s` passed.
        """

        async def exchange(connection: McpConnection) -> Mapping[str, object]:
            return await connection.request(
                request.method,
                request.params,
                timeout_s=timeout_s,
                on_progress=on_progress,
                headers=request.headers,
                asker=request.asker,
            )

        dialled = False
        for send in range(SENDS_MAX):
            connection = self._connection
            if connection is None:
                connection, dialled = await self._reconnected(), True
            try:
                return await self._used(connection, exchange)
            except McpFault as fault:
                if fault.fault is Fault.TIMEOUT:
                    raise
                self._settle(fault, connection, request, spent=dialled or send + 1 == SENDS_MAX)
        raise unavailable(self.spec.name)  # pragma: no cover - the last send always returns or raises

    def _settle(self, fault: McpFault, connection: McpConnection, request: McpRequest, *, spent: bool) -> None:
        """Do what the fault means; return only if the request is to be sent again."""
        verdict = judge(fault.fault, repeatable=request.repeatable, dialled=spent)
        if verdict.drop:
            self._drop(connection)
        if verdict.again:
            return
        if verdict.outcome_unknown:
            # Of a process the exit code and its last words; of a connection there is nothing to say but its end.
            cause = self._redactor.redact(fault.text) if self.spec.transport == "stdio" else ""
            raise outcome_unknown(self.spec.name, request.subject, cause) from None
        if verdict.drop and fault.fault is not Fault.SESSION_ENDED:
            raise unavailable(self.spec.name) from None
        raise shown_once(self.spec.name, request.subject, fault, redact=self._redactor.redact) from None

    async def _used(
        self, connection: McpConnection, exchange: Callable[[McpConnection], Awaitable[Mapping[str, object]]]
    ) -> Mapping[str, object]:
        self._users[connection] = self._users.get(connection, 0) + 1
        try:
            return self._masked(await exchange(connection))
        finally:
            self._users[connection] -= 1
            if not self._users[connection]:
                del self._users[connection]
                self._retire(connection)

    def _masked(self, answer: Mapping[str, object]) -> Mapping[str, object]:
        """Return an answer without the secrets that a session's creator gave for the server: no store knows them."""
        masked = self._redactor.redact_value(answer) if self.spec.origin == "client" else answer
        return masked if isinstance(masked, Mapping) else answer

    def _drop(self, connection: McpConnection) -> None:
        """Give the connection up for new calls; those that are open on it go on."""
        if self._connection is connection:
            self._connection = None
        self._retire(connection)

    def _retire(self, connection: McpConnection) -> None:
        if connection is not self._connection and connection not in self._users and self.state != "closed":
            self._tasks.start_soon(connection.close)

    # ------------------------------------------------------------ dialling

    async def _reconnected(self) -> McpConnection:
        if self.state == "closed":
            raise CallFailedError(f'mcp call failed: MCP server "{self.spec.name}" is closed')
        if self._dial is None and self.retry_in_s > 0:
            raise unavailable(self.spec.name, next_try_s=self.retry_in_s)
        name = self.spec.name
        first = self._dial is None
        if first:
            logger.info("mcp server reconnecting server=%s", name)
        try:
            connection = await self._shared_dial()
        except McpFault as fault:
            if first:
                cause = log_text(self._redactor.redact(fault.text))
                logger.warning("mcp server reconnect failed server=%s cause=%s", name, cause)
            raise unavailable(self.spec.name) from None
        if first:
            logger.info("mcp server reconnected server=%s", name)
        return connection

    async def _shared_dial(self) -> McpConnection:
        """Wait for the dial under way, or start one; a cancelled waiter leaves it to the others."""
        if self._dial is None:
            self._dial = _Dial()
            self._tasks.start_soon(self._run_dial, self._dial)
        dial = self._dial
        await dial.done.wait()
        if dial.connection is None:
            raise dial.fault or McpFault(Fault.CLOSED, "the server was closed while it was dialled")
        return dial.connection

    async def _run_dial(self, dial: _Dial) -> None:
        connection = None
        try:
            with anyio.move_on_after(self.spec.connect_timeout_s + DIAL_SPARE_S):
                connection = await self._dialer.dial(self.spec, on_notification=self._notified, secrets=self._secrets)
            if connection is None:
                dial.fault = McpFault(Fault.TIMEOUT, f"no connection within {self.spec.connect_timeout_s:g} s")
        except McpFault as fault:
            dial.fault = fault
        except Exception:
            # A broken dialer may cost this server only.
            logger.exception("mcp_dial_failed server=%s", self.spec.name)
            dial.fault = McpFault(Fault.NOT_SENT, "the connection could not be made")
        finally:
            self._dial = None
            if connection is not None and self.state == "closed":
                self._tasks.start_soon(connection.close)
            elif connection is not None:
                dial.connection = self._connection = connection
                if self._live and self.state == "ready":
                    self.stale |= set(KINDS)
                self._failures, self._closed_until = 0, 0.0
            else:
                self._paused()
            dial.done.set()

    def _paused(self) -> None:
        self._failures += 1
        pause = pause_s(self._failures, chance=self._chance(), first_s=self._limits.first_pause_s)
        self._closed_until = self._monotonic() + pause

    # ------------------------------------------------------------ the rest

    def _notified(self, method: str, params: Mapping[str, object]) -> None:
        if method.startswith("notifications/") and method.endswith("/list_changed"):
            self.stale.add(method.split("/")[1])
        elif method == CHANNEL_GAP and self._live:
            self.stale |= set(KINDS)
        elif method == "notifications/message":
            self._log(params)

    def _log(self, params: Mapping[str, object]) -> None:
        since, count = self._log_window
        now = self._monotonic()
        if now - since >= 60:
            since, count = now, 0
        self._log_window = (since, count + 1)
        if count < LOGS_A_MINUTE:
            text = log_text(self._redactor.redact(str(params.get("data"))), LOG_BYTES)
            logger.debug("mcp_server_log server=%s text=%s", self.spec.name, text)

    async def close(self) -> None:
        """End the connection; open calls fail, later ones are refused. Never raises, may be repeated."""
        self.state = "closed"
        if self._dial is not None:
            self._dial.done.set()
        open_now = {*self._users} | ({self._connection} if self._connection is not None else set())
        self._connection = None
        async with anyio.create_task_group() as group:
            for connection in open_now:
                group.start_soon(connection.close)
