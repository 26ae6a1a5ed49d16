"""server-everything over each transport: every content type arrives, and a restart in mid-session is lived through."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from hilt.core.content import part_to_json
from hilt.core.mcp import Transport
from hilt.core.tool import ToolCall
from hilt.mcp.manager import McpManager
from hilt.mcp.prompts import PromptCommands
from hilt.mcp.resources import ReadMcpResource
from hilt.mcp.server_lists import ALL_LISTS
from hilt.ports.tool import Environment
from tests.mcp_servers.kit import call, http_spec, mounted, stdio_spec, tool_of
from tests.real_servers.install import npm_server
from tests.real_servers.served import Everything

pytestmark = pytest.mark.timeout(300)  # the first run installs the server

TRANSPORTS = {"stdio": "stdio", "sse": "sse", "http": "streamableHttp"}
OVER_HTTP: Mapping[str, Transport] = {"sse": "sse", "streamableHttp": "http"}

# Each tool with its arguments, the kinds of the parts that arrive, and a part of the text that the model reads.
CONTENT: list[tuple[str, Mapping[str, object], list[str], str]] = [
    ("echo", {"message": "hé"}, ["text"], "Echo: hé"),
    ("get-tiny-image", {}, ["text", "image", "text"], "The image above is the MCP logo."),
    (
        "get-annotated-message",
        {"messageType": "success", "includeImage": True},
        ["text", "image"],
        "Operation completed",
    ),
    (
        "get-resource-links",
        {"count": 2},
        ["text", "resource_link", "resource_link"],
        "read it with ReadMcpResource, server 'everything'",
    ),
    (
        "get-resource-reference",
        {"resourceType": "Text", "resourceId": 1},
        ["text", "embedded_resource", "text"],
        "This is a plaintext resource",
    ),
    (
        "get-resource-reference",
        {"resourceType": "Blob", "resourceId": 1},
        ["text", "embedded_resource", "text"],
        "[resource demo://resource/dynamic/blob/1: ",
    ),
    ("get-structured-content", {"location": "New York"}, ["text", "structured"], '"temperature"'),
]


@asynccontextmanager
async def everything(transport: str) -> AsyncIterator[tuple[McpManager, Everything | None]]:
    """Mount the server over a transport, and give what can restart it where that is HTTP."""
    if transport == "stdio":
        spec = stdio_spec("node", str(npm_server("everything")), "stdio", name="everything", connect_timeout_s=60.0)
        async with mounted(spec, lists=ALL_LISTS) as manager:
            yield manager, None
        return
    served = Everything(transport)
    try:
        await served.start()
        kind = OVER_HTTP[transport]
        spec = http_spec(served.url, name="everything", transport=kind, connect_timeout_s=30.0)
        async with mounted(spec, lists=ALL_LISTS) as manager:
            yield manager, served
    finally:
        served.kill()


@pytest.mark.req("RES-01", "RES-03", "RES-04", "RES-08", "RES-09", "RES-12", "RES-13", "RES-14", "RES-15", "RES-20")
@pytest.mark.parametrize("transport", TRANSPORTS.values(), ids=TRANSPORTS)
async def test_every_content_type_arrives(transport: str) -> None:
    async with everything(transport) as (manager, _):
        assert [report.state for report in manager.reports()] == ["ready"]
        for tool, args, kinds, says in CONTENT:
            result = await call(manager, tool, json.dumps(args), within_s=20)
            assert (result.is_error, [part.kind for part in result.parts]) == (False, kinds)
            assert says in result.content
        annotated = await call(manager, "get-annotated-message", json.dumps(CONTENT[2][1]))
        assert [part_to_json(part)["audience"] for part in annotated.parts] == [["user"], ["user"]]
        wrong = await call(manager, "get-sum", '{"a": "x", "b": 2}')
        assert wrong.is_error
        assert "expected number" in wrong.content


@pytest.mark.req("MCP-65", "MCP-66")
@pytest.mark.parametrize("transport", TRANSPORTS.values(), ids=TRANSPORTS)
async def test_progress_resources_and_prompts_arrive(transport: str) -> None:
    seen: list[tuple[float, float | None]] = []
    env = Environment(progress=lambda done, total, text: seen.append((done, total)))
    async with everything(transport) as (manager, _):
        slow = tool_of(manager, "trigger-long-running-operation")
        with anyio.fail_after(20):
            result = await slow.execute(ToolCall("c1", "x", '{"duration": 0.4, "steps": 2}'), env)
        assert (result.is_error, "completed" in result.content) == (False, True)
        assert seen[-1][1] == 2
        uri = "demo://resource/dynamic/text/7"
        asked = ToolCall("c1", "x", json.dumps({"server": "everything", "uri": uri}))
        read = await ReadMcpResource(manager.servers).execute(asked, Environment())
        assert "Resource 7" in read.content
        line = "/mcp__everything__resource-prompt resourceType=Text resourceId=1"
        expanded = await PromptCommands(lambda: manager.servers).expand(line)
        assert "[resource demo://resource/dynamic/text/1]" in (expanded or "")


@pytest.mark.req("MCP-79", "MCP-82", "MCP-84", "MCP-86", "MCP-94")
@pytest.mark.parametrize("transport", ["sse", "streamableHttp"])
async def test_a_restart_in_mid_session_costs_at_most_one_call(transport: str, tmp_path: Path) -> None:
    async with everything(transport) as (manager, served):
        assert served is not None
        before = await call(manager, "echo", '{"message": "one"}')
        served.kill()
        await served.start()
        results = [await call(manager, "echo", '{"message": "two"}', within_s=30) for _ in range(2)]
        again = await call(manager, "get-sum", '{"a": 1, "b": 2}')
    assert "Echo: one" in before.content
    assert "Echo: two" in results[-1].content
    assert "3" in again.content
    if results[0].is_error:
        # It answers the old session with an error of its own, which is shown once.
        assert "the session has ended, the next call opens a new one" in results[0].content
