"""pydantic-ai: `Agent` with a `FunctionModel`."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from bench.peers import Call, Function, Run


@asynccontextmanager
async def turner(function: Function) -> AsyncIterator[Run]:
    """Yield a run of one agent."""
    tools: FunctionToolset[None] = FunctionToolset()
    tools.add_function(function)
    waiting: list[Call] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if not waiting:
            return ModelResponse(parts=[TextPart("done")])
        parts = [ToolCallPart(call.name, call.text, tool_call_id=call.id) for call in waiting]
        waiting.clear()
        return ModelResponse(parts=parts)

    agent = Agent(FunctionModel(model), toolsets=[tools])

    async def run(calls: Sequence[Call]) -> str:
        waiting.extend(calls)
        return (await agent.run("go")).output

    yield run
