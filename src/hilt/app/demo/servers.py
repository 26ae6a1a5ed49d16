"""The demo's MCP servers: one as a process, one over streamable HTTP, each only where it is installed."""

import os
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import anyio

from hilt.adapters._process import start_process
from hilt.core.errors import UnreachableError
from hilt.core.mcp import McpServerSpec

READY_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoServers:
    """The entries to mount, and a line for each server that is not there."""

    specs: Sequence[McpServerSpec]
    missing: Sequence[str]


@asynccontextmanager
async def demo_servers(repository: Path, everything: Path | None) -> AsyncIterator[DemoServers]:
    """Start the HTTP server and return the entries of both; leaving ends the process.

    `everything` is the entry file of the npm package @modelcontextprotocol/server-everything.
    """
    own = ("-m", "hilt.app.demo.orders")
    specs = [McpServerSpec(name="orders", transport="stdio", command=sys.executable, args=own)]
    missing: list[str] = []
    if find_spec("mcp_server_git") is not None:
        arguments = ("-m", "mcp_server_git", "--repository", str(repository))
        specs.append(McpServerSpec(name="git", transport="stdio", command=sys.executable, args=arguments))
    else:
        missing.append("git: pip install 'hilt[demo]'")
    async with AsyncExitStack() as stack:
        node = which("node")
        if everything is not None and node is not None:
            port = await stack.enter_async_context(_http_server(node, everything))
            specs.append(McpServerSpec(name="everything", url=f"http://127.0.0.1:{port}/mcp"))
        else:
            missing.append("everything: needs node and --everything FILE (see `hilt demo --help`)")
        yield DemoServers(specs=specs, missing=missing)


@asynccontextmanager
async def _http_server(node: str, entry: Path) -> AsyncIterator[int]:
    port = _free_port()
    environment = {"PATH": os.environ.get("PATH", ""), "PORT": str(port)}
    process = await start_process(
        [node, str(entry), "streamableHttp"], env=environment, streams=("null", "null", "null")
    )
    try:
        with anyio.fail_after(READY_S):
            # Another process's port sends no event when it opens.
            while not await _answers(port):
                if not process.running:
                    raise UnreachableError("the demo's HTTP server ended before it answered")
                await anyio.sleep(0.05)
        yield port
    finally:
        with anyio.CancelScope(shield=True):
            await process.aclose()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def _answers(port: int) -> bool:
    try:
        async with await anyio.connect_tcp("127.0.0.1", port):
            return True
    except OSError:
        return False
