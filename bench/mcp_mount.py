"""Mounting 20 MCP servers of which one refuses and one hangs, 2,000 tools, and 50 callers on one dropped server.

Under `fast` it is the time until the first tool can be called, against the time until all have settled, and against
the SDK's client, which opens them side by side and is usable once the last one is.
"""

import json
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from mcp import Client

from bench.figures import Figure, Options
from bench.timing import answer_of
from hilt.adapters.mcp_dialer import SdkDialer
from hilt.core.mcp import McpServerSpec
from hilt.core.tool import ToolCall
from hilt.faults.run import running
from hilt.mcp.background import background_tasks
from hilt.mcp.manager import McpManager, Wait
from hilt.ports.tool import Environment

REQ = ("MCP-53", "MCP-88")

SERVERS = 20
CALLERS = 50
CONNECT_S = 5.0


def measure(options: Options) -> list[Figure]:
    """Return the times of mounting, of listing and of the shared reconnect, in milliseconds."""
    found = answer_of("bench.mcp_mount", options.times(3, 1), options.times(2000, 100))
    return [
        Figure(
            what=f"mount {SERVERS} MCP servers",
            value=found["mount"],
            unit="ms",
            limit=400,
            beside=f"{found['mount'] / found['sdk']:.2f} x SDK ({found['sdk']:.0f} ms)",
        ),
        Figure(
            what="the same, one refuses and one hangs, fast: first tool callable",
            value=found["fast"],
            unit="ms",
            limit=600,
            beside=f"all settled after {found['settled']:.0f} ms; the hanging one has {CONNECT_S:g} s",
        ),
        Figure(what="list the tools of a large server", value=found["list"], unit="ms", limit=300),
        Figure(
            what=f"{CALLERS} callers on one lost session, until all have their answer",
            value=found["drop"],
            unit="ms",
            beside=f"{found['dials']:.0f} dial",
        ),
    ]


async def _mounted(specs: list[McpServerSpec], wait: Wait, use: Callable[[McpManager, float], Awaitable[None]]) -> None:
    async with background_tasks() as tasks:
        manager = McpManager(specs, SdkDialer(tasks))
        begun = time.perf_counter()
        await manager.start(tasks, wait=wait)
        await use(manager, begun)
        await manager.close()


def _ms(begun: float) -> float:
    return (time.perf_counter() - begun) * 1000


async def _called(manager: McpManager, name: str) -> None:
    tool = next(tool for tool in manager.tools() if tool.name_on_server == name)
    result = await tool.execute(ToolCall("c", name, "{}"), Environment())
    if result.is_error:
        raise RuntimeError(result.content)


async def figures(rounds: int, tools: int) -> dict[str, float]:
    """Return the best of some rounds."""
    best: dict[str, float] = {}

    def note(name: str, value: float) -> None:
        best[name] = min(best.get(name, 1e9), value)

    async def all_ready(manager: McpManager, begun: float) -> None:
        note("mount", _ms(begun))
        if any(server.state != "ready" for server in manager.servers):
            raise RuntimeError("a server is not ready")

    async def first_call(manager: McpManager, begun: float) -> None:
        await _called(manager, "look")
        note("fast", _ms(begun))
        while any(server.state == "connecting" for server in manager.servers):
            await anyio.sleep(0.02)
        note("settled", _ms(begun))

    async def listed(manager: McpManager, begun: float) -> None:
        server = manager.servers[0]
        server.stale.add("tools")
        begun = time.perf_counter()
        await server.fresh_listing()
        note("list", _ms(begun))

    async def dropped(manager: McpManager, begun: float) -> None:
        await _called(manager, "look")
        begun = time.perf_counter()
        async with anyio.create_task_group() as group:
            for _ in range(CALLERS):
                group.start_soon(_called, manager, "look")
        note("drop", _ms(begun))

    async with AsyncExitStack() as stack:
        good = [stack.enter_context(running("honest", era="handshake")).address for _ in range(SERVERS)]
        hanging = stack.enter_context(running("hang-initialize")).address
        large = stack.enter_context(running("big-list", settings={"count": tools})).address
        specs = [McpServerSpec(name=f"s{n}", url=url, protocol="handshake") for n, url in enumerate(good)]
        bad = [
            McpServerSpec(name="refuses", url="http://127.0.0.1:9/mcp"),
            McpServerSpec(name="hangs", url=hanging, connect_timeout_s=CONNECT_S),
        ]
        folder = Path(stack.enter_context(TemporaryDirectory()))
        for round_ in range(rounds):
            await _mounted(specs, "all", all_ready)
            note("sdk", await _sdk(good))
            await _mounted([*bad, *specs[2:]], "fast", first_call)
            await _mounted([McpServerSpec(name="large", url=large)], "all", listed)
            log = folder / f"lost-{round_}.jsonl"
            with running("restart-404", era="handshake", settings={"after": 1}, log_path=log) as server:
                await _mounted([McpServerSpec(name="lost", url=server.address)], "all", dropped)
                best["dials"] = max(best.get("dials", 0.0), _handshakes(server.records("received")) - 1.0)
    return best


def _handshakes(received: list[dict[str, object]]) -> int:
    messages = [record.get("message") for record in received]
    return sum(1 for m in messages if isinstance(m, dict) and m.get("method") == "initialize")


async def _sdk(urls: list[str]) -> float:
    """Return the milliseconds in which the SDK's clients open and list the servers, side by side."""
    opened = anyio.Semaphore(0)
    done = anyio.Event()

    async def one(url: str) -> None:
        async with Client(url, mode="legacy") as client:
            await client.list_tools()
            opened.release()
            await done.wait()

    begun = time.perf_counter()
    async with anyio.create_task_group() as group:
        for url in urls:
            group.start_soon(one, url)
        for _ in urls:
            await opened.acquire()
        took = _ms(begun)
        done.set()
    return took


if __name__ == "__main__":
    print(json.dumps(anyio.run(partial(figures, int(sys.argv[1]), int(sys.argv[2])))))
