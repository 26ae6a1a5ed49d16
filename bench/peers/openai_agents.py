"""openai-agents: `Runner` with the library's own scripted model."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module

from bench.peers import Call, Function, Run


@asynccontextmanager
async def turner(function: Function) -> AsyncIterator[Run]:
    """Yield a run of an agent of its own."""
    agents = import_module("agents")
    testing = import_module("agents.testing")
    tools = [agents.function_tool(function)]
    config = agents.RunConfig(tracing_disabled=True)

    async def run(calls: Sequence[Call]) -> str:
        asked = [testing.function_call(call.name, call.text, call_id=call.id) for call in calls]
        model = testing.ScriptedModel([asked, [testing.assistant_message("done")]])
        agent = agents.Agent(name="bench", model=model, tools=tools)
        return str((await agents.Runner.run(agent, "go", run_config=config)).final_output)

    yield run
