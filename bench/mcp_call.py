"""One call of an MCP tool, over HTTP and over stdio, against the SDK's own client and a bare POST, in the same run.

The server is the fault kit's honest one. Calls run one after another, then 32 at once, in alternating rounds of all
contestants; the best round counts.
"""

import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import httpx2
from mcp import Client, StdioServerParameters

from bench.figures import Figure, Options
from bench.timing import answer_of
from hilt.adapters.mcp_dialer import SdkDialer
from hilt.core.mcp import McpServerSpec
from hilt.core.tool import ToolCall
from hilt.faults.run import command, running
from hilt.mcp.background import background_tasks
from hilt.mcp.manager import McpManager
from hilt.ports.tool import Environment

REQ = ("MCP-65",)

AT_ONCE = 32
LIMITS = {"http": 1.10, "stdio": 1.25}
One = Callable[[], Awaitable[object]]


def measure(options: Options) -> list[Figure]:
    """Return the time of a call one after another, and the calls a second of 32 at once, per transport and era."""
    figures: list[Figure] = []
    for transport, era in (("http", "handshake"), ("http", "stateless"), ("stdio", "handshake")):
        found = answer_of("bench.mcp_call", transport, era, options.times(6, 1), options.times(150, 5))
        ratio = found["hilt"] / found["sdk"]
        bare = f"; bare POST {found['bare'] * 1000:.2f} ms" if "bare" in found else ""
        where = f"MCP call, {transport}, {era}"
        figures += [
            Figure(
                what=f"{where}: hilt / SDK",
                value=ratio,
                unit="x",
                limit=LIMITS[transport],
                beside=f"{found['hilt'] * 1000:.2f} ms to {found['sdk'] * 1000:.2f} ms{bare}",
            ),
            Figure(
                what=f"{where}, {AT_ONCE} at once: SDK's throughput / hilt's",
                value=found["sdk_rate"] / found["hilt_rate"],
                unit="x",
                limit=1.0,
                beside=f"{found['hilt_rate']:.0f} calls/s to {found['sdk_rate']:.0f}",
            ),
        ]
    return figures


@asynccontextmanager
async def hilt_calls(spec: McpServerSpec) -> AsyncIterator[One]:
    """Give one call through hilt's client."""
    async with background_tasks() as tasks:
        manager = McpManager([spec], SdkDialer(tasks))
        await manager.start(tasks)
        tool = next(tool for tool in manager.tools() if tool.name_on_server == "look")
        env = Environment()
        try:
            yield lambda: tool.execute(ToolCall("c", "look", "{}"), env)
        finally:
            await manager.close()


@asynccontextmanager
async def sdk_calls(server: str | StdioServerParameters, era: str) -> AsyncIterator[One]:
    """Give one call through the SDK's client."""
    async with Client(server, mode="legacy" if era == "handshake" else "auto") as client:
        await client.list_tools()
        yield lambda: client.call_tool("look", {})


@asynccontextmanager
async def bare_posts(url: str) -> AsyncIterator[One]:
    """Give one POST of the same bytes, without any client of MCP; the stateless era needs no session."""
    meta: Mapping[str, object] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bare", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "look", "arguments": {}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "look",
    }
    async with httpx2.AsyncClient(trust_env=False) as client:

        async def post() -> object:
            response = await client.post(url, content=body, headers=headers)
            response.raise_for_status()
            return response.json()["result"]

        yield post


async def one_by_one(one: One, size: int) -> float:
    """Return the seconds of a call, one after another."""
    begun = time.perf_counter()
    for _ in range(size):
        await one()
    return (time.perf_counter() - begun) / size


async def at_once(one: One, size: int) -> float:
    """Return the calls a second of 32 callers."""

    async def caller() -> None:
        for _ in range(max(size // 4, 1)):
            await one()

    begun = time.perf_counter()
    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE):
            group.start_soon(caller)
    return AT_ONCE * max(size // 4, 1) / (time.perf_counter() - begun)


async def contest(transport: str, era: str, rounds: int, size: int) -> dict[str, float]:
    """Return the best of each contestant."""
    async with AsyncExitStack() as stack:
        ways: dict[str, One] = {}
        if transport == "http":
            url = stack.enter_context(running("honest", era=era)).address
            ways["sdk"] = await stack.enter_async_context(sdk_calls(url, era))
            ways["hilt"] = await stack.enter_async_context(hilt_calls(McpServerSpec(name="far", url=url)))
            if era == "stateless":
                ways["bare"] = await stack.enter_async_context(bare_posts(url))
        else:
            argv = command("honest", era=era)
            parameters = StdioServerParameters(command=argv[0], args=argv[1:])
            spec = McpServerSpec(name="near", transport="stdio", command=argv[0], args=tuple(argv[1:]))
            ways["sdk"] = await stack.enter_async_context(sdk_calls(parameters, era))
            ways["hilt"] = await stack.enter_async_context(hilt_calls(spec))
        found: dict[str, float] = {}
        for one in ways.values():
            await one_by_one(one, 3)
        for round_ in range(rounds):
            names = list(ways)[:: 1 if round_ % 2 else -1]
            for name in names:
                found[name] = min(found.get(name, 1e9), await one_by_one(ways[name], size))
                rate = await at_once(ways[name], size)
                found[f"{name}_rate"] = max(found.get(f"{name}_rate", 0.0), rate)
    return found


if __name__ == "__main__":
    arguments = (sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    print(json.dumps(anyio.run(contest, *arguments)))
