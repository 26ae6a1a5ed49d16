"""What 50 idle MCP servers weigh, in a process of its own: `python -m bench.mcp_idle COUNT`."""

import json
import sys
from contextlib import ExitStack

import anyio

from bench.figures import Figure, Options
from bench.idle import rss_kib
from bench.timing import answer_of
from hilt.adapters.mcp_dialer import SdkDialer
from hilt.core.mcp import McpServerSpec
from hilt.faults.run import running
from hilt.mcp.background import background_tasks
from hilt.mcp.manager import McpManager

REQ = ("MCP-114",)

SERVERS = 50


def measure(options: Options) -> list[Figure]:
    """Return the memory of the client for idle servers over HTTP beyond the first one."""
    found = answer_of("bench.mcp_idle", options.times(SERVERS, 4))
    return [
        Figure(
            what=f"{SERVERS} idle MCP servers over HTTP",
            value=found["kib"] * SERVERS / 1024,
            unit="MiB",
            beside=f"{found['kib']:.0f} KiB each; process {found['rss_mib']:.0f} MiB",
        )
    ]


async def weigh(count: int) -> dict[str, float]:
    """Return the KiB of one more idle server and the MiB of the process with all of them."""
    with ExitStack() as stack:
        urls = [stack.enter_context(running("honest", era="handshake")).address for _ in range(count + 1)]
        async with background_tasks() as tasks:
            managers: list[McpManager] = []
            dialer = SdkDialer(tasks)
            before = 0.0
            for some in (urls[:1], urls[1:]):
                before = rss_kib()
                specs = [McpServerSpec(name=f"s{len(managers)}-{n}", url=url) for n, url in enumerate(some)]
                manager = McpManager(specs, dialer)
                await manager.start(tasks)
                managers.append(manager)
            after = rss_kib()
            for manager in managers:
                await manager.close()
    return {"kib": (after - before) / count, "rss_mib": after / 1024}


if __name__ == "__main__":
    print(json.dumps(anyio.run(weigh, int(sys.argv[1]))))
