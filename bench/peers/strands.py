"""strands-agents: `Agent` with its default, concurrent executor."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module

from bench.peers import Call, Function, Run


@asynccontextmanager
async def turner(function: Function) -> AsyncIterator[Run]:
    """Yield a run of an agent of its own."""
    strands = import_module("strands")
    model_class = import_module("strands.models.model").Model
    tools = [strands.tool(function)]

    class OneTurn(model_class):  # type: ignore[misc, valid-type]  # the peer is not installed where types are checked
        """Makes the given calls, then is done."""

        def __init__(self, calls: Sequence[Call]) -> None:
            self.calls = list(calls)

        def update_config(self, **config: object) -> None:
            """Take no settings."""

        def get_config(self) -> dict[str, object]:
            """Have no settings."""
            return {}

        async def structured_output(self, *_: object, **__: object) -> AsyncIterator[object]:
            """Never called."""
            yield {}

        async def stream(self, *_: object, **__: object) -> AsyncIterator[object]:
            """Stream one answer in the library's own events."""
            yield {"messageStart": {"role": "assistant"}}
            calls, self.calls = self.calls, []
            for call in calls:
                yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": call.id, "name": call.name}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": call.text}}}}
                yield {"contentBlockStop": {}}
            if not calls:
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": "done"}}}
                yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}

    async def run(calls: Sequence[Call]) -> str:
        agent = strands.Agent(model=OneTurn(calls), tools=tools, callback_handler=None)
        return str(await agent.invoke_async("go"))

    yield run
