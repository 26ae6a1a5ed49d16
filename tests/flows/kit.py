"""Small tools, recorders and approvers for whole turns over an agent, with everything that happened kept."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hilt.app.agent import Agent
from hilt.core.event import Event, EventBody, RunResult
from hilt.core.permission import Effect, PermissionRule, Scope
from hilt.core.rule_text import parse_rule
from hilt.core.session import ToolMessage
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.catalog import Catalog
from hilt.ports.model import Capabilities
from hilt.ports.permission import Ask, Verdict
from hilt.ports.tool import Environment, Tool
from hilt.testing import ScriptedModel

Body = Callable[[ToolCall, Environment], Awaitable[ToolResult | str]]
Answer = Mapping[str, object]

ANY_OBJECT: Mapping[str, object] = {"type": "object"}


class FunctionTool:
    """A tool whose body is given; counts its executions."""

    def __init__(
        self,
        name: str,
        body: Body,
        *,
        read_only: bool = True,
        schema: Mapping[str, object] = ANY_OBJECT,
    ) -> None:
        self.spec = ToolSpec(name, f"{name} for tests.", schema)
        self.read_only = read_only
        self.calls: list[ToolCall] = []
        self._body = body

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Run the body; a text becomes a result."""
        self.calls.append(call)
        out = await self._body(call, env)
        return ToolResult.text(call.id, out) if isinstance(out, str) else out


def says(
    name: str, text: str = "ok", *, read_only: bool = True, schema: Mapping[str, object] = ANY_OBJECT
) -> FunctionTool:
    """Return a tool that answers with a fixed text."""

    async def body(call: ToolCall, env: Environment) -> str:
        return text

    return FunctionTool(name, body, read_only=read_only, schema=schema)


@dataclass
class Recorded:
    """One record of the audit."""

    call: ToolCall
    result: ToolResult
    queued: float
    took: float
    detail: Mapping[str, object]


@dataclass
class Recorder:
    """Keeps every record."""

    records: list[Recorded] = field(default_factory=list)

    async def tool_call(
        self,
        session_id: str,
        call: ToolCall,
        result: ToolResult,
        queued: float,
        took: float,
        *,
        detail: Mapping[str, object],
    ) -> None:
        """See `ToolCallRecorder`."""
        self.records.append(Recorded(call, result, queued, took, detail))


@dataclass
class Answering:
    """An approver that gives prepared verdicts in order and keeps what it was asked."""

    verdicts: list[Verdict]
    asked: list[Ask] = field(default_factory=list)

    async def decide(self, ask: Ask) -> Verdict:
        """See `Approver`."""
        self.asked.append(ask)
        return self.verdicts[min(len(self.asked), len(self.verdicts)) - 1]


def allow(*rules: str) -> list[PermissionRule]:
    """Return allow rules."""
    return [parse_rule(rule, effect=Effect.ALLOW) for rule in rules]


def deny(*rules: str, scope: Scope = Scope.CLI) -> list[PermissionRule]:
    """Return deny rules."""
    return [parse_rule(rule, effect=Effect.DENY, scope=scope) for rule in rules]


def ask(*rules: str) -> list[PermissionRule]:
    """Return ask rules."""
    return [parse_rule(rule, effect=Effect.ASK) for rule in rules]


def call(name: str, args: object = None, id_: str | None = None) -> dict[str, object]:
    """Return a call for a scripted answer."""
    out: dict[str, object] = {"name": name, "args": {} if args is None else args}
    return out if id_ is None else {**out, "id": id_}


class Flow:
    """An agent over some tools with a script, and everything that its runs did."""

    def __init__(
        self,
        tools: Sequence[Tool],
        answers: Sequence[Answer],
        **options: object,
    ) -> None:
        self.catalog = Catalog()
        for tool in tools:
            family = "mcp" if tool.spec.name.startswith("mcp__") else "core"
            self.catalog.register(tool, family=family)
        self.events: list[Event] = []
        self.recorder = Recorder()
        self.model = ScriptedModel(list(answers), capabilities=Capabilities(profile="anthropic"))
        options.setdefault("recorder", self.recorder)
        options.setdefault("model", self.model)
        self.agent = Agent(catalog=self.catalog, on_event=self.events.append, **options)  # type: ignore[arg-type]  # the agent's own keywords, checked there

    async def run(self, prompt: str = "go") -> RunResult:
        """Run one prompt."""
        return await self.agent.run(prompt)

    @property
    def bodies(self) -> list[EventBody]:
        """The events without their envelopes."""
        return [event.body for event in self.events]

    @property
    def kinds(self) -> list[str]:
        """The kinds of all events, in order."""
        return [event.body.kind for event in self.events]

    @property
    def results(self) -> list[ToolResult]:
        """The results of all turns, in order."""
        return [
            result
            for message in self.agent.conversation.messages
            if isinstance(message, ToolMessage)
            for result in message.results
        ]


async def run_turn(tools: Sequence[Tool], calls: Sequence[Mapping[str, object]], **options: object) -> Flow:
    """Run one turn with these calls, then an answer that ends the run."""
    flow = Flow(tools, [{"calls": list(calls)}, {"text": "done"}], **options)
    await flow.run()
    return flow
