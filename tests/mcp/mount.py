"""Mounts servers over scripted connections."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio

from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.core.tool import ToolCall
from hilt.mcp.background import background_tasks
from hilt.mcp.manager import McpManager
from hilt.mcp.server import McpServer
from hilt.mcp.tools import RemoteTool
from hilt.ports.mcp import Fault, McpDialer, McpFault
from hilt.ports.tool import Environment
from hilt.testing.mcp import FakeConnection, Handler

NOTE = {"name": "note", "inputSchema": {"type": "object"}}
LOOK = {**NOTE, "name": "look", "annotations": {"readOnlyHint": True}}
KEYED = {**NOTE, "name": "keyed", "annotations": {"idempotentHint": True}}
TOOLS = (NOTE, LOOK, KEYED)
TEXT = {"content": [{"type": "text", "text": "ok"}]}
SPEC = McpServerSpec(name="far", url="http://127.0.0.1:9/mcp", connect_timeout_s=2.0)
LIMITS = McpLimits(first_pause_s=60.0)


@asynccontextmanager
async def one_server(
    dialer: McpDialer,
    *,
    spec: McpServerSpec = SPEC,
    limits: McpLimits = LIMITS,
    monotonic: Callable[[], float] | None = None,
) -> AsyncIterator[McpServer]:
    """Start one server and close it at the end."""
    async with background_tasks() as tasks:
        clock = monotonic or anyio.current_time
        server = McpServer(spec, dialer, tasks=tasks, limits=limits, chance=lambda: 0.5, monotonic=clock)
        await server.start()
        try:
            yield server
        finally:
            await server.close()


@asynccontextmanager
async def managed(
    dialer: McpDialer, *specs: McpServerSpec, limits: McpLimits = LIMITS, lists: Sequence[str] = ()
) -> AsyncIterator[McpManager]:
    """Start a manager and close it at the end."""
    async with background_tasks() as tasks:
        manager = McpManager(specs or (SPEC,), dialer, limits=limits, lists=lists)
        await manager.start(tasks)
        try:
            yield manager
        finally:
            await manager.close()


async def call(server: McpServer, name: str, arguments: str = "{}", env: Environment | None = None) -> str:
    """Call a tool by its own name and return the text of the result, after `error: ` where it is one."""
    listed = next(tool for tool in server.listing.tools if tool.name == name)
    result = await RemoteTool(server, listed).execute(ToolCall("c1", "x", arguments), env or Environment())
    assert result.call_id == "c1"
    return f"error: {result.content}" if result.is_error else result.content


UNAVAILABLE = 'error: mcp call failed: MCP server "far" unavailable after reconnect'


def fails(fault: Fault, text: str = "raw transport text", **more: object) -> Handler:
    def handler(params: Mapping[str, object]) -> Mapping[str, object]:
        raise McpFault(fault, text, **more)  # type: ignore[arg-type]  # keywords of the fault

    return handler


def serves(handler: Handler | None = None) -> FakeConnection:
    return FakeConnection({"tools/call": handler or (lambda params: TEXT)}, tools=TOOLS)
