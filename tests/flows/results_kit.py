"""A session with one MCP server whose answers a test writes, and queries over them."""

import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from hilt.core.mcp import McpServerSpec
from tests.app.house import STDIO_REPLAY, House, house
from tests.flows.kit import allow

ROWS = [{"id": number, "name": f"row {number}", "note": "x" * 40} for number in range(1000)]


def remote_tool(name: str, *, read_only: bool = True, **more: object) -> dict[str, object]:
    """Return a tool as `tools/list` gives it."""
    schema = {"type": "object", "properties": {"limit": {"type": "integer"}, "city": {"type": "string"}}}
    annotations = {"readOnlyHint": read_only}
    return {"name": name, "description": f"{name}.", "inputSchema": schema, "annotations": annotations, **more}


def text(value: object) -> dict[str, object]:
    """Return a text block; what is no text becomes JSON."""
    return {"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}


def content(*blocks: Mapping[str, object], **more: object) -> dict[str, object]:
    """Return a step that answers with these blocks."""
    return {"result": {"content": list(blocks), **more}}


def server(
    folder: Path,
    answers: Mapping[str, Mapping[str, object]],
    tools: Sequence[Mapping[str, object]] = (),
    *,
    name: str = "far",
) -> McpServerSpec:
    """Return an entry of a server that gives each tool's answer; tools that are not described only read."""
    described = {tool["name"]: tool for tool in tools}
    listed = [described.get(tool, remote_tool(tool)) for tool in answers]
    scenario = folder / f"{name}.json"
    on = {f"tools/call:{tool}": [step] for tool, step in answers.items()}
    scenario.write_text(json.dumps({"tools": listed, "on": on}))
    return McpServerSpec(
        name=name,
        transport="stdio",
        command=sys.executable,
        args=(str(STDIO_REPLAY), str(scenario)),
        env={"REPLAY_LOG": str(folder / f"{name}.log")},
        connect_timeout_s=20.0,
    )


@asynccontextmanager
async def far(
    folder: Path,
    answers: Mapping[str, Mapping[str, object]],
    tools: Sequence[Mapping[str, object]] = (),
    **options: object,
) -> AsyncIterator[House]:
    """Build an application over such a server; everything is allowed unless `rules` say otherwise."""
    options.setdefault("rules", allow("*"))
    async with house(folder, mcp_servers=[server(folder, answers, tools)], **options) as home:
        yield home


def calls_received(folder: Path, name: str = "far") -> list[Mapping[str, object]]:
    """Return the parameters of every `tools/call` that the server got."""
    found = []
    for line in (folder / f"{name}.log").read_text().splitlines():
        recv = json.loads(line).get("recv", "{}")
        message = json.loads(recv) if isinstance(recv, str) else recv
        if message.get("method") == "tools/call":
            found.append(message["params"])
    return found


def query(tool: str, filter_: str, server: str = "far", **more: object) -> dict[str, object]:
    """Return a call of CallMcpWithQuery for a scripted answer."""
    return {
        "name": "CallMcpWithQuery",
        "args": {"server": server, "tool": tool, "jq_filter": filter_, **more},
    }
