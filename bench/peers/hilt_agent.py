"""hilt with everything on: 20 rules, an async hook, the audit in a JSON-lines store, a real clock."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import hilt
from bench.peers import Call, Function, Run
from hilt.adapters.store_jsonl.store import JsonlStore
from hilt.core.redaction import Redactor
from hilt.core.session import ToolMessage
from hilt.core.tool import ToolCall
from hilt.ports.model import Answered, CallRequested, Capabilities, ModelItem, ModelRequest, TextDelta

RULES = (
    *(hilt.deny(f"mcp__server{number}__*") for number in range(8)),
    *(hilt.ask(f"Write(secret{number}/**)") for number in range(4)),
    *(hilt.deny(f"shell(tool{number} *)") for number in range(4)),
    hilt.deny("echo*(b=*password*)"),
    hilt.ask("echo*(b=rm *)"),
    hilt.allow("echo*(b=hello)"),
    hilt.allow("Read(docs/**)"),
)


@hilt.hook("PreToolUse", match=["echo*"])
async def look(hook_input: hilt.HookInput) -> None:
    """See every call and say nothing."""


class OneTurn:
    """A model that makes the given calls and, when they are answered, is done."""

    name = "bench/one-turn"
    capabilities = Capabilities()

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """See `Model.stream`."""
        if isinstance(request.messages[-1], ToolMessage):
            yield TextDelta(text="done")
        else:
            for call in self._calls:
                yield CallRequested(call=ToolCall(call.id, call.name, call.text))
        yield Answered()


def runner(function: Function, agent: Callable[[hilt.Catalog, hilt.Model], hilt.Agent]) -> Run:
    """Return a run that gives each turn an agent of its own, as a run without history has."""
    catalog = hilt.Catalog()
    catalog.register(hilt.tool(read_only=True)(function))

    async def run(calls: Sequence[Call]) -> str:
        return (await agent(catalog, OneTurn(calls)).run("go")).final_text

    return run


@asynccontextmanager
async def turner(function: Function) -> AsyncIterator[Run]:
    """Yield a run through the whole funnel."""
    clock = hilt.SystemClock()
    with TemporaryDirectory() as folder:
        store = JsonlStore(Path(folder), clock=clock, redactor=Redactor(["no-real-secret-one", "no-real-secret-two"]))

        def agent(catalog: hilt.Catalog, model: hilt.Model) -> hilt.Agent:
            return hilt.Agent(
                catalog=catalog, model=model, rules=RULES, hooks=[look], recorder=store.calls, clock=clock
            )

        yield runner(function, agent)
        store.close()
