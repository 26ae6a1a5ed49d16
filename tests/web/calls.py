"""Calls of one tool that reaches the web of a test."""

import json

import pytest

from hilt.core.errors import ToolError
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.fetch import Fetcher
from hilt.ports.tool import Environment, Tool
from tests.web.world import World


async def call_tool(tool: Tool, web: World, **arguments: object) -> ToolResult:
    """Return what a call gives over a fetcher for this web."""
    env = Environment(services={Fetcher: web.fetcher()})
    return await tool.execute(ToolCall("c1", tool.spec.name, json.dumps(arguments)), env)


async def refused(tool: Tool, web: World, **arguments: object) -> str:
    """Return the reason with which a call is refused."""
    with pytest.raises(ToolError) as caught:
        await call_tool(tool, web, **arguments)
    return caught.value.reason
