import json

import pytest

from hilt.core.mcp import McpServerSpec
from hilt.core.tool import ToolSpec
from hilt.mcp.tools import RemoteTool, first_sentence
from hilt.ports.tool import Disclosable, Tool
from hilt.testing.mcp import FakeConnection, FakeDialer
from tests.mcp.mount import TEXT, call, one_server

ODD = "do/it.now -- mcp__x__y"


@pytest.mark.req("MCP-05", "MCP-06")
async def test_a_call_carries_the_server_s_own_name_and_the_arguments_as_they_are() -> None:
    connection = FakeConnection({"tools/call": lambda params: TEXT}, tools=[{"name": ODD, "description": "d"}])
    spec = McpServerSpec(name="my-box", url="http://127.0.0.1:9/")
    async with one_server(FakeDialer(connection), spec=spec) as server:
        assert server.listing.tools[0].spec.name == f"mcp__my_box__{ODD}"
        await call(server, ODD, '{"n": 12345678901234567890, "t": "é"}')
    assert connection.calls() == [{"name": ODD, "arguments": {"n": 12345678901234567890, "t": "é"}}]


@pytest.mark.req("SRC-04", "MCP-60", "MCP-66")
async def test_a_remote_tool_has_what_the_catalog_and_the_dispatcher_ask_for() -> None:
    listed = {
        "name": "find",
        "description": "Finds a thing. Use it often.\nMore.",
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
        "annotations": {"readOnlyHint": True, "idempotentHint": True},
        "outputSchema": {"type": "object"},
    }
    spec = McpServerSpec(name="far", url="http://127.0.0.1:9/", idle_timeout_s=3.0, call_timeout_s=7.0)
    async with one_server(FakeDialer(FakeConnection(tools=[listed])), spec=spec) as server:
        tool = RemoteTool(server, server.listing.tools[0])
    assert isinstance(tool, Tool)
    assert isinstance(tool, Disclosable)
    assert (tool.read_only, tool.idempotent) == (True, True)
    assert (tool.timeout_s, tool.idle_timeout_s) == (7.0, 3.0)
    assert (tool.server, tool.name_on_server, tool.output_schema) == ("far", "find", {"type": "object"})
    assert json.loads(tool.advertised().to_json()) == {
        "name": "mcp__far__find",
        "description": "Finds a thing.",
        "schema": {"type": "object"},
    }


@pytest.mark.req("SRC-04")
@pytest.mark.parametrize(
    ("text", "short"),
    [("", ""), ("\n One line\nTwo. Three", "One line"), ("A. B. C", "A."), ("x" * 200, "x" * 120)],
)
def test_the_short_description_is_the_first_sentence_of_the_first_line(text: str, short: str) -> None:
    assert first_sentence(text) == short
    assert ToolSpec("n", first_sentence(text)).description == short
