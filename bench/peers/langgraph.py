"""langgraph: a graph of a model node and a `ToolNode`."""

import inspect
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module

from bench.peers import Call, Function, Run


@asynccontextmanager
async def turner(function: Function) -> AsyncIterator[Run]:
    """Yield a run of one graph."""
    graphs = import_module("langgraph.graph")
    messages = import_module("langchain_core.messages")
    made_of = import_module("langchain_core.tools").StructuredTool.from_function
    tool = made_of(**{"coroutine" if inspect.iscoroutinefunction(function) else "func": function})
    waiting: list[Call] = []

    def model(state: object) -> dict[str, object]:
        calls = [{"name": c.name, "args": c.arguments, "id": c.id, "type": "tool_call"} for c in waiting]
        waiting.clear()
        return {"messages": [messages.AIMessage("" if calls else "done", tool_calls=calls)]}

    def after(state: Mapping[str, Sequence[object]]) -> object:
        return "tools" if getattr(state["messages"][-1], "tool_calls", None) else graphs.END

    graph = graphs.StateGraph(graphs.MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", import_module("langgraph.prebuilt").ToolNode([tool]))
    graph.add_edge(graphs.START, "model")
    graph.add_conditional_edges("model", after)
    graph.add_edge("tools", "model")
    app = graph.compile()

    async def run(calls: Sequence[Call]) -> str:
        waiting.extend(calls)
        return str((await app.ainvoke({"messages": [("user", "go")]}))["messages"][-1].content)

    yield run
