"""Many tools as MCP servers bring them, and an application over them with everything that its model was asked."""

import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import hilt
from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.inmemory.store import MemoryStore
from hilt.app.application import App
from hilt.app.config import Config
from hilt.app.settings import DisclosureSettings
from hilt.builtins.meta.tool_search import ToolSearch
from hilt.core.event import Event, Notice, ToolSettled
from hilt.core.permission import PermissionRule
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.catalog import Catalog
from hilt.engine.session import Session
from hilt.mcp.tools import first_sentence
from hilt.ports.model import Capabilities
from hilt.ports.tool import Environment, Tool
from hilt.testing import ScriptedModel

SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "Where it is, and what else one has to know. " * 4}},
    "required": ["path"],
}


class Remote:
    """A tool as an MCP server brings it."""

    read_only = True

    def __init__(self, name: str, text: str, *, schema: Mapping[str, object] = SCHEMA, read_only: bool = True) -> None:
        self.spec = ToolSpec(name, text, schema)
        self.read_only = read_only
        self.calls = 0

    def advertised(self) -> ToolSpec:
        return ToolSpec(self.spec.name, first_sentence(self.spec.description), {"type": "object"})

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        self.calls += 1
        return ToolResult.text(call.id, "done")


class Plain:
    """A tool that is always listed in full."""

    def __init__(self, name: str) -> None:
        self.spec = ToolSpec(name, "Counts.", SCHEMA)
        self.read_only = True

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        return ToolResult.text(call.id, "done")


def remotes(count: int) -> list[Remote]:
    """Return tools of ten servers; the last one counts zebras."""
    tools = [
        Remote(f"mcp__srv{n % 10}__tool_{n:03}", f"Does thing number {n}. It has more to say on that.")
        for n in range(count - 1)
    ]
    return [*tools, Remote("mcp__zoo__count_zebras", "Counts striped animals. Use it in the zoo.")]


def catalog_of(tools: Sequence[Tool], *more: Tool) -> Catalog:
    catalog = Catalog()
    catalog.register(ToolSearch())
    catalog.register_family("core", more)
    catalog.register_family("mcp", tools)
    return catalog


@dataclass(kw_only=True)
class Home:
    """A running application; `events` are those of all its sessions."""

    app: App
    model: ScriptedModel
    catalog: Catalog
    events: list[Event] = field(default_factory=list)

    async def turns(self, session: Session, *calls: Mapping[str, object]) -> list[ToolResult]:
        """Let the model make one call a turn and then end; return the results."""
        self.model.add(*({"calls": [call]} for call in calls), {"text": "done"})
        events = [event async for event in session.prompt("go")]
        return [event.body.result for event in events if isinstance(event.body, ToolSettled)]

    @property
    def lists(self) -> list[list[str]]:
        """The tool lists of all requests, each tool as its bytes."""
        return [[spec.to_json() for spec in request.tools] for request in self.model.requests]

    def listed(self, request: int = -1) -> list[str]:
        """Return the names that a request listed."""
        return [spec.name for spec in self.model.requests[request].tools]

    def notices(self) -> list[str]:
        """Return the texts of the notices on the tool list."""
        bodies = (event.body for event in self.events)
        return [body.text for body in bodies if isinstance(body, Notice) and body.topic == "tool_list_changed"]


@asynccontextmanager
async def home(
    root: Path,
    catalog: Catalog,
    *,
    mode: str = "auto",
    window: int = 128_000,
    profile: str = "anthropic",
    store: MemoryStore | None = None,
    rules: Sequence[PermissionRule] = (),
) -> AsyncIterator[Home]:
    model = ScriptedModel(capabilities=Capabilities(window_tokens=window, profile=profile))
    events: list[Event] = []
    config = replace(Config(), disclosure=DisclosureSettings(mode=mode))  # type: ignore[arg-type]  # one of its words
    async with hilt.build(
        workspace=root,
        model=model,
        config=config,
        store=store or MemoryStore(clock=FixedClock()),
        session_catalog=lambda context: catalog,
        on_event=events.append,
        rules=[hilt.allow("mcp__*"), *rules],
    ) as app:
        yield Home(app=app, model=model, catalog=catalog, events=events)


def select(*names: str) -> Mapping[str, object]:
    return {"name": "ToolSearch", "args": {"query": f"select:{','.join(names)}"}}


def use(name: str, **arguments: object) -> Mapping[str, object]:
    return {"name": name, "args": arguments or {"path": "x"}}


def prefixes(lists: Sequence[Sequence[str]]) -> bool:
    return all(after[: len(before)] == before for before, after in itertools.pairwise(lists))
