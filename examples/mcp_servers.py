"""MCP servers: one that every session has, one that a session brings along and that ends with it.

Needs `pip install mcp-server-time`, a real server that is started over stdio.
"""

import asyncio
import json
import sys

import hilt
from hilt.core.event import ToolSettled


def time_server(name: str, zone: str) -> hilt.McpServerSpec:
    """Return the entry of a time server for a zone."""
    return hilt.McpServerSpec(
        name=name,
        transport="stdio",
        command=sys.executable,
        args=("-m", "mcp_server_time", "--local-timezone", zone),
    )


async def main() -> None:
    """Convert a time with each of them."""
    args = {"source_timezone": "Asia/Kolkata", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    calls = [{"name": f"mcp__{name}__convert_time", "args": args} for name in ("clock", "guest")]
    async with hilt.build(
        mcp_servers=[time_server("clock", "Asia/Kolkata")],
        model=hilt.ScriptedModel([{"calls": calls}, {"text": "done"}]),
        rules=[hilt.allow("mcp__*__convert_time")],
    ) as app:
        session = await app.sessions.create(mcp_servers=[time_server("guest", "Asia/Tokyo")])
        for name in ("clock", "guest"):
            here = [spec.name for spec in session.specs() if spec.name.startswith(f"mcp__{name}__")]
            print(", ".join(here), "- for everyone" if app.catalog.lookup(here[0]) else "- for this session")
        async for event in session.prompt("What time is it in Tokyo at noon in Kolkata?"):
            if isinstance(event.body, ToolSettled):
                answer = json.loads(event.body.result.content)
                print(event.body.tool, answer["target"]["datetime"][11:16])


if __name__ == "__main__":
    asyncio.run(main())
