"""Starts real servers for tests and mounts them the way the application does."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from hilt.adapters.mcp_dialer import SdkDialer
from hilt.core.mcp import McpLimits, McpServerSpec, Transport
from hilt.core.tool import ToolCall, ToolResult
from hilt.mcp.background import background_tasks
from hilt.mcp.manager import McpManager
from hilt.mcp.tools import RemoteTool
from hilt.ports.mcp import McpConnection
from hilt.ports.tool import Environment

INPUTS = Path(__file__).parents[1] / "bugs" / "inputs"
SDK_SERVER = Path(__file__).with_name("sdk_server.py")
SCRIPTS = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Served:
    """A running HTTP server and what it wrote down of what it received."""

    url: str
    log: Path
    process: "subprocess.Popen[str]"

    def requests(self, method: str | None = None) -> list[dict[str, object]]:
        """Return the received requests, of one JSON-RPC method where it is given."""
        found = read_log(self.log)
        return [r for r in found if method is None or (isinstance(r.get("rpc"), dict) and _method(r) == method)]


def _method(request: Mapping[str, object]) -> object:
    rpc = request["rpc"]
    return rpc.get("method") if isinstance(rpc, dict) else None


def read_log(path: Path) -> list[dict[str, object]]:
    """Return the lines of a log, or none where nothing was written."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@contextmanager
def serving(argv: list[str], log: Path) -> Iterator[Served]:
    """Run a server that prints its address on its first line."""
    process = subprocess.Popen(
        [sys.executable, *argv],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "REPLAY_LOG": str(log)},
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        yield Served(url=url, log=log, process=process)
    finally:
        process.kill()
        process.communicate()


@contextmanager
def replay_http(name: str, folder: Path) -> Iterator[Served]:
    """Run a scenario of `inputs/wire`, or one written by a test, over HTTP."""
    scenario = folder / name if (folder / name).exists() else INPUTS / "wire" / f"{name}.http.json"
    with serving([str(INPUTS / "replay" / "http_replay.py"), str(scenario)], folder / "http.log") as served:
        yield Served(url=f"{served.url}/mcp", log=served.log, process=served.process)


def http_spec(url: str, *, name: str = "far", **more: object) -> McpServerSpec:
    """Return an entry for an HTTP server, impatient."""
    settings: dict[str, object] = {"connect_timeout_s": 5.0, **more}
    return McpServerSpec(name=name, url=url, **settings)  # type: ignore[arg-type]  # keys as the entry has them


def replay_stdio(name: str, folder: Path, *, server: str = "near", **more: object) -> McpServerSpec:
    """Return an entry that runs a scenario over stdio; its log is `folder / <server>.log`."""
    scenario = folder / name if (folder / name).exists() else INPUTS / "wire" / f"{name}.stdio.json"
    return stdio_spec(
        sys.executable,
        str(INPUTS / "replay" / "stdio_replay.py"),
        str(scenario),
        name=server,
        env={"REPLAY_LOG": str(folder / f"{server}.log"), **_given(more.pop("env", {}))},
        **more,
    )


def _given(value: object) -> dict[str, str]:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, Mapping) else {}


def stdio_spec(command: str, *args: str, name: str = "near", **more: object) -> McpServerSpec:
    """Return an entry for a server process, impatient."""
    stdio: Transport = "stdio"
    settings: dict[str, object] = {"connect_timeout_s": 10.0, **more}
    return McpServerSpec(name=name, transport=stdio, command=command, args=args, **settings)  # type: ignore[arg-type]  # keys as the entry has them


@asynccontextmanager
async def mounted(
    *specs: McpServerSpec, root: Path | None = None, limits: McpLimits | None = None, lists: Sequence[str] = ()
) -> AsyncIterator[McpManager]:
    """Mount servers and close them at the end."""
    async with background_tasks() as tasks:
        dialer = SdkDialer(tasks, root=root, environment=dict(os.environ), limits=limits)
        manager = McpManager(specs, dialer, limits=limits, lists=lists)
        with anyio.fail_after(30):
            await manager.start(tasks)
        try:
            yield manager
        finally:
            await manager.close()


@asynccontextmanager
async def dialled(
    spec: McpServerSpec, *, root: Path | None = None, limits: McpLimits | None = None
) -> AsyncIterator[McpConnection]:
    """Dial one server and close the connection at the end."""
    async with background_tasks() as tasks:
        dialer = SdkDialer(tasks, root=root, environment=dict(os.environ), limits=limits)
        connection = await dialer.dial(spec, on_notification=lambda method, params: None)
        try:
            yield connection
        finally:
            await connection.close()


def tool_of(manager: McpManager, name: str) -> RemoteTool:
    """Return the tool of a server's own name."""
    return next(tool for tool in manager.tools() if tool.name_on_server == name)


async def call(manager: McpManager, name: str, arguments: str = "{}", *, within_s: float = 10.0) -> ToolResult:
    """Call a tool by its server's own name."""
    with anyio.fail_after(within_s):
        return await tool_of(manager, name).execute(ToolCall("c1", "x", arguments), Environment())
