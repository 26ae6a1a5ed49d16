"""One way to run one entry against hilt's client, and what has to hold whatever the entry does."""

import json
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import anyio
import anyio.abc

from hilt.adapters.clock_system import SystemClock
from hilt.adapters.execution_asyncio import AsyncioExecution
from hilt.adapters.mcp_dialer import SdkDialer
from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.core.permission import Effect
from hilt.core.rule_text import parse_rule
from hilt.core.rulebook import RuleBook
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.catalog import Catalog
from hilt.engine.dispatch import Dispatcher
from hilt.engine.emitter import Emitter
from hilt.engine.funnel import Parts, build_funnel
from hilt.engine.gate import TurnView
from hilt.engine.retained import Retained
from hilt.faults.entry import Case
from hilt.faults.run import command, read_log
from hilt.mcp.background import background_tasks
from hilt.mcp.manager import McpManager, ServerReport
from hilt.mcp.server import McpServer
from hilt.mcp.tools import RemoteTool
from hilt.ports.tool import Environment
from hilt.testing import ScriptedModel
from tests.faults.matrix.dials import CountingDialer
from tests.faults.matrix.farm import Farm
from tests.faults.matrix.watch import MARK

CI_FACTOR: Final = 2.0 if os.environ.get("CI") else 1.0
"""Upper bounds of time are multiplied by it: a machine that runs checks for many is slow now and then."""

OTHER: Final = "other"
CONNECT_S: Final = 2.0
IDLE_S: Final = 2.0
TOTAL_S: Final = 6.0
LIMITS: Final = McpLimits(first_pause_s=0.2, pages_max=100)
SETTLED_S: Final = 15.0
OTHER_READY_S: Final = 5.0 * CI_FACTOR
REPEATABLE: Final = ("look", "idem", "slow")


class Broken(AssertionError):
    """A promise that did not hold; the text says which and how."""


def check(holds: object, text: str) -> None:
    """Fail with the text unless it holds."""
    if not holds:
        raise Broken(text)


def check_time(seconds: float, least: float, most: float, what: str) -> None:
    """Fail unless the time is between the bounds; the upper one is that of a machine at rest."""
    check(least - 0.05 <= seconds <= most * CI_FACTOR, f"{what} took {seconds:.2f} s, not {least:g} to {most:g} s")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A call that is over: its result and how long it took, in seconds."""

    result: ToolResult
    seconds: float

    @property
    def text(self) -> str:
        """What the model reads."""
        return self.result.content

    @property
    def failed(self) -> bool:
        """Whether it is an error result."""
        return self.result.is_error


@dataclass(slots=True)
class Trial:
    """One case under way. `warns` is how many warnings are due at most, `problems` what did not hold."""

    case: Case
    name: str
    folder: Path
    farm: Farm
    other_url: str
    warns: int | None = None
    ports: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    mounts: int = 0
    calls: int = 0

    @property
    def secret(self) -> str:
        """What must not be seen anywhere."""
        return f"s3cret-{self.name}-kq7wz"

    @property
    def stdio(self) -> bool:
        """Whether the entry is a process of its own."""
        return self.case.transport == "stdio"

    @property
    def stateless_http(self) -> bool:
        """Whether closing the stream is how a server is told of a cancel."""
        return self.case.transport == "http" and self.case.era == "stateless"

    @asynccontextmanager
    async def entry(self, *, settings: Mapping[str, object], **more: object) -> AsyncIterator[McpServerSpec]:
        """Run the entry while the block does; give the spec of its server, and in `log` where it writes."""
        self.mounts += 1
        key = f"{self.name}-{self.mounts}"
        log_path = self.folder / f"{key}.jsonl"
        given = {**({"kind": self.case.kind} if self.case.kind else {}), **settings}
        fields: dict[str, object] = {
            "name": key,
            "transport": str(self.case.transport),
            "connect_timeout_s": CONNECT_S,
            "idle_timeout_s": IDLE_S,
            "call_timeout_s": TOTAL_S,
            **more,
        }
        eras = ("handshake", "stateless") if self.case.entry == "era-change" else (str(self.case.era),)
        if self.case.entry == "era-change" and self.case.era == "stateless":
            eras = ("stateless",)
        if self.stdio:
            program, *arguments = command(self.case.entry, era=str(self.case.era), settings=given, log_path=log_path)
            variables = {MARK: self.name, "MATRIX_TOKEN": self.secret}
            yield McpServerSpec(command=program, args=tuple(arguments), env=variables, **fields)  # type: ignore[arg-type]  # fields of the spec
            return
        address = await self.farm.start(
            self.case.entry,
            key,
            transport=str(self.case.transport),
            eras=eras,
            settings=given,
            log_path=log_path,
        )
        self.ports.append(urlsplit(address).port or 0)
        try:
            headers = {"Authorization": f"Bearer {self.secret}"}
            yield McpServerSpec(url=address, headers=headers, **fields)  # type: ignore[arg-type]  # fields of the spec
        finally:
            await self.farm.stop(key)

    @asynccontextmanager
    async def mounted(
        self,
        *,
        limits: McpLimits = LIMITS,
        lists: Sequence[str] = (),
        settings: Mapping[str, object] | None = None,
        wait: bool = True,
        **more: object,
    ) -> AsyncIterator["Mounted"]:
        """Run the entry, mount it beside an honest server, and close both at the end; `wait` for it to settle."""
        async with self.entry(settings=settings or {}, **more) as spec, background_tasks() as tasks:
            other = McpServerSpec(name=OTHER, url=self.other_url, connect_timeout_s=10.0)
            variables = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
            dialer = CountingDialer(SdkDialer(tasks, root=self.folder, environment=variables, limits=limits))
            manager = McpManager([spec, other], dialer, limits=limits, lists=lists)
            mounted = Mounted(self, manager, dialer, self.folder / f"{self.name}-{self.mounts}.jsonl")
            try:
                await mounted.start(tasks, wait=wait)
                yield mounted
                await mounted.last_calls()
            finally:
                await mounted.close()
        mounted.check_once()


class Mounted:
    """The entry's server and the honest one, in use."""

    def __init__(self, trial: Trial, manager: McpManager, dialer: CountingDialer, log_path: Path) -> None:
        self.trial = trial
        self.manager = manager
        self.log_path = log_path
        self.settled_s = 0.0
        self.other_s = 0.0
        self._dialer = dialer
        self._sent: dict[str, str] = {}
        self._dispatcher: Dispatcher | None = None
        self.is_over = False
        self.close_most_s = 6.0

    # ------------------------------------------------ life

    async def start(self, tasks: anyio.abc.TaskGroup, *, wait: bool) -> None:
        """Start both; the honest one is in use long before the entry has settled."""
        began = anyio.current_time()
        await self.manager.start(tasks, wait="fast")
        while self.manager.servers[1].state == "connecting" and anyio.current_time() - began < OTHER_READY_S:
            await anyio.sleep(0.01)
        await self._other()
        self.other_s = anyio.current_time() - began
        if wait:
            with anyio.fail_after(SETTLED_S):
                while self.server.state == "connecting":
                    await anyio.sleep(0.01)
            self.settled_s = anyio.current_time() - began

    async def close(self) -> None:
        """Close, twice, in bounded time; from any task."""
        self.is_over = True
        began = anyio.current_time()
        with anyio.CancelScope(shield=True):
            await self.manager.close()
            took = anyio.current_time() - began
            await self.manager.close()
        if took > self.close_most_s * CI_FACTOR:
            self.trial.problems.append(f"close took {took:.1f} s")

    async def last_calls(self) -> None:
        """Call both servers once more: each call works, or fails at once or at its deadline."""
        if self.is_over:
            return
        await self._other()
        if self.server.state != "ready" or "look" not in {tool.name_on_server for tool in self.manager.tools()}:
            return
        last = await self.call("look")
        if not last.failed:
            return
        if "timeout" in last.text:
            check_time(last.seconds, IDLE_S, TOTAL_S + 1, "usable: the next call, until its deadline,")
        else:
            # Over stdio the start of a process may be in it.
            most = 2 if self.trial.stdio else 1
            check_time(last.seconds, 0, most, f"usable: the next call, failing with {last.text[:80]!r},")

    # ------------------------------------------------ looking

    @property
    def server(self) -> McpServer:
        """The entry's server."""
        return self.manager.servers[0]

    @property
    def report(self) -> ServerReport:
        """How it stands."""
        return self.manager.reports()[0]

    @property
    def dials(self) -> int:
        """How often it was dialled."""
        return self._dialer.dials.get(self.server.spec.name, 0)

    def tools(self) -> list[RemoteTool]:
        """Return the entry's tools."""
        return [tool for tool in self.manager.tools() if tool.server != OTHER]

    def tool(self, name: str) -> RemoteTool:
        """Return the entry's tool of this name."""
        found = [tool for tool in self.tools() if tool.name_on_server == name]
        check(found, f"there is no tool {name!r}; the server is {self.server.state}: {self.server.cause}")
        return found[0]

    def log(self, *events: str) -> list[dict[str, object]]:
        """Return what the entry wrote down."""
        return read_log(self.log_path, *events)

    def received(self, method: str) -> list[dict[str, object]]:
        """Return the messages of a method that it received."""
        return [record for record in self.log("received") if _method(record) == method]

    def gets(self) -> list[dict[str, object]]:
        """Return the GET requests that it received."""
        return [record for record in self.log("received") if record.get("verb") == "GET"]

    async def until(self, holds: Callable[[], object], what: str, *, within_s: float = 5.0) -> None:
        """Wait until something holds.

        Raises:
            Broken: It did not, in time.
        """
        with anyio.move_on_after(within_s * CI_FACTOR):
            while not holds():
                await anyio.sleep(0.02)
            return
        raise Broken(f"{what} did not come within {within_s:g} s")

    # ------------------------------------------------ calling

    async def call(
        self, tool: str = "echo", arguments: Mapping[str, object] | None = None, *, own_error: bool = False
    ) -> Outcome:
        """Call a tool of the entry through the funnel; meanwhile, at times, the honest server is called too.

        With `own_error` an error is the tool's own, in its own words.
        """
        self.trial.calls += 1
        text = f"{self.trial.name}-call-{self.trial.calls}-"
        given = {"text": text, **(arguments or {})} if tool not in ("look", "slow") else dict(arguments or {})
        if "text" in given:
            self._sent[str(given["text"])] = tool
        name = self.tool(tool).spec.name
        began = anyio.current_time()
        async with anyio.create_task_group() as group:
            if self.trial.calls <= 2:
                group.start_soon(self._other)
            result = await self._dispatched(name, given)
            seconds = anyio.current_time() - began
        if result.is_error and not own_error:
            self._told(result)
        check(self.trial.secret not in result.content, "quiet: the secret is in a result")
        return Outcome(result, seconds)

    async def works(self, what: str) -> None:
        """Make a call and check that it works; `what` names it in the failure."""
        outcome = await self.call()
        check(not outcome.failed, f"{what} failed after {outcome.seconds:.1f} s: {outcome.text[:300]}")

    async def call_until_closed(self, tool: str = "echo") -> Outcome:
        """Call a tool while nobody else is called, because all is about to be closed."""
        self.trial.calls = max(self.trial.calls, 2)
        return await self.call(tool)

    async def calls(self, count: int, tool: str = "echo") -> list[Outcome]:
        """Call a tool many times at once, each from a session of its own."""
        found: list[Outcome] = []

        async def one() -> None:
            found.append(await self.call(tool))

        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(one)
        return found

    async def _dispatched(self, name: str, arguments: dict[str, object]) -> ToolResult:
        call = ToolCall(f"call-{self.trial.calls}", name, json.dumps(arguments))
        results = await self._funnel().turn([call], TurnView()).run()
        check(len(results) == 1 and results[0].call_id == call.id, f"told: {len(results)} results of one call")
        return results[0]

    def _funnel(self) -> Dispatcher:
        if self._dispatcher is None:
            catalog = Catalog()
            catalog.register_family("mcp", self.manager.tools())
            parts = Parts(
                catalog=catalog,
                model=ScriptedModel([]),
                env=Environment(),
                execution=AsyncioExecution(),
                rules=RuleBook([parse_rule("mcp__*", effect=Effect.ALLOW)]),
                clock=SystemClock(),
                keep=Retained().keep,
            )
            self._dispatcher = build_funnel(parts, emitter=Emitter(clock=SystemClock())).dispatcher
        return self._dispatcher

    def renew(self) -> None:
        """Take the tools as they are now, as a new session does."""
        self._dispatcher = None

    def _told(self, result: ToolResult) -> None:
        server = self.trial.name
        check(server in result.content, f"told: an error does not name the server: {result.content[:200]!r}")
        check(len(result.content) > len(server) + 10, f"told: an error says no cause: {result.content!r}")
        check("Traceback" not in result.content, "quiet: a traceback in a result")

    async def _other(self) -> float:
        began = anyio.current_time()
        tools = [tool for tool in self.manager.tools() if tool.server == OTHER]
        check(tools, f"usable: the other server's start did not come within {OTHER_READY_S:g} s")
        echo = next(tool for tool in tools if tool.name_on_server == "echo")
        result = await echo.execute(ToolCall("o", "o", arguments={"text": "other"}), Environment())
        check(result.content == "other", f"usable: the other server's call gave {result.content[:200]!r}")
        return anyio.current_time() - began

    async def longest_wait_of_others(self, until: anyio.Event) -> float:
        """Call the honest server again and again; return how long the longest of the calls took, in seconds."""
        longest = 0.0
        while not until.is_set():
            longest = max(longest, await self._other())
            await anyio.sleep(0.01)
        return longest

    def check_once(self) -> None:
        """Check that no call of a tool that changes something was executed twice."""
        executed = [record.get("arguments") for record in self.log("executed")]
        texts = [str(given.get("text")) for given in executed if isinstance(given, dict)]
        for text, tool in self._sent.items():
            most = 2 if tool in REPEATABLE else 1
            check(texts.count(text) <= most, f"once: {tool} was executed {texts.count(text)} times for one call")


def _method(record: Mapping[str, object]) -> object:
    message = record.get("message")
    return message.get("method") if isinstance(message, dict) else None
