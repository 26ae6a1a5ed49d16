"""Real servers over stdio: listed, called, read, prompted, killed in mid-session, and called again."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest

from hilt.core.mcp import McpServerSpec
from hilt.core.tool import ToolCall, ToolResult
from hilt.mcp.manager import McpManager
from hilt.mcp.prompts import PromptCommands
from hilt.mcp.resources import ReadMcpResource
from hilt.mcp.server_lists import ALL_LISTS
from hilt.ports.tool import Environment
from tests.adapters.marked import NAME, Mark
from tests.mcp_servers.kit import call, mounted, stdio_spec
from tests.real_servers.install import npm_server, python_server
from tests.real_servers.served import page

pytestmark = pytest.mark.timeout(300)  # the first run installs the servers


@dataclass(frozen=True, kw_only=True)
class Real:
    """One server, one call of it, and one resource and prompt where it has them, each with a part of its answer."""

    spec: McpServerSpec
    tools: int
    tool: str
    args: Mapping[str, object]
    says: str
    resource: tuple[str, str] | None = None
    prompt: tuple[str, str] | None = None


def _time(folder: Path, stack: ExitStack) -> Real:
    spec = stdio_spec(str(python_server("time")), "--local-timezone", "UTC", name="time")
    return Real(spec=spec, tools=2, tool="get_current_time", args={"timezone": "Europe/Oslo"}, says="Europe/Oslo")


def _git(folder: Path, stack: ExitStack) -> Real:
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(folder)], check=True)
    spec = stdio_spec(str(python_server("git")), "--repository", str(folder), name="git")
    return Real(spec=spec, tools=12, tool="git_status", args={"repo_path": str(folder)}, says="On branch main")


def _fetch(folder: Path, stack: ExitStack) -> Real:
    url = stack.enter_context(page("a page for tests"))
    spec = stdio_spec(str(python_server("fetch")), "--ignore-robots-txt", "--allow-private-ips", name="fetch")
    prompt = (f"/mcp__fetch__fetch url='{url}'", "a page for tests")
    return Real(spec=spec, tools=1, tool="fetch", args={"url": url}, says="a page for tests", prompt=prompt)


def _sqlite(folder: Path, stack: ExitStack) -> Real:
    spec = stdio_spec(str(python_server("sqlite")), "--db-path", str(folder / "x.db"), name="sqlite")
    return Real(
        spec=spec,
        tools=6,
        tool="read_query",
        args={"query": "select 6 * 7 as answer"},
        says="42",
        resource=("memo://insights", "No business insights"),
        prompt=("/mcp__sqlite__mcp-demo topic='two words'", "two words"),
    )


def _everything(folder: Path, stack: ExitStack) -> Real:
    return Real(
        spec=stdio_spec("node", str(npm_server("everything")), "stdio", name="everything"),
        tools=14,
        tool="get-sum",
        args={"a": 40, "b": 2},
        says="42",
        resource=("demo://resource/static/document/features.md", "# "),
        prompt=("/mcp__everything__args-prompt city='New York' state=NY", "New York, NY"),
    )


def _filesystem(folder: Path, stack: ExitStack) -> Real:
    (folder / "a.txt").write_text("hello from a file")
    spec = stdio_spec("node", str(npm_server("filesystem")), str(folder), name="filesystem")
    args = {"path": str(folder / "a.txt")}
    return Real(spec=spec, tools=14, tool="read_text_file", args=args, says="hello from a file")


def _memory(folder: Path, stack: ExitStack) -> Real:
    path = folder / "memory.jsonl"
    path.write_text('{"type":"entity","name":"Ada","entityType":"person","observations":["counts"]}\n')
    spec = stdio_spec("node", str(npm_server("memory")), name="memory", env={"MEMORY_FILE_PATH": str(path)})
    return Real(
        spec=spec,
        tools=9,
        tool="search_nodes",
        args={"query": "Ada"},
        says="counts",
        resource=("memory://knowledge-graph", "Ada"),
    )


def _thinking(folder: Path, stack: ExitStack) -> Real:
    spec = stdio_spec("node", str(npm_server("sequential-thinking")), name="thinking")
    args = {"thought": "t", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    return Real(spec=spec, tools=1, tool="sequentialthinking", args=args, says="thoughtNumber")


SERVERS = {
    "time": _time,
    "git": _git,
    "fetch": _fetch,
    "sqlite": _sqlite,
    "everything": _everything,
    "filesystem": _filesystem,
    "memory": _memory,
    "sequential-thinking": _thinking,
}


@pytest.fixture(params=SERVERS)
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Real]:
    with ExitStack() as stack:
        yield SERVERS[request.param](tmp_path, stack)


@pytest.mark.req("MCP-05", "MCP-57", "MCP-84", "MCP-86", "MCP-87", "MCP-105", "MCP-107")
async def test_a_real_server_is_used_and_used_again_after_it_was_killed(real: Real, tmp_path: Path) -> None:
    mark = Mark()
    spec = replace(real.spec, env={**real.spec.env, NAME: mark.value}, connect_timeout_s=60.0)
    async with mounted(spec, root=tmp_path, lists=ALL_LISTS) as manager:
        (report,) = manager.reports()
        assert (report.state, report.withheld, report.cause) == ("ready", (), "")
        assert report.tools >= real.tools
        await _used(manager, real)
        with anyio.fail_after(10):
            mark.kill()
            await mark.end()
        await anyio.wait_all_tasks_blocked()
        result = await _called(manager, real)
        if "its outcome is unknown" in result.content:
            # The call went out before the end of the process was seen; the next one starts it again.
            result = await _called(manager, real)
        assert (result.is_error, real.says in result.content) == (False, True)
        await _used(manager, real)


async def _called(manager: McpManager, real: Real) -> ToolResult:
    return await call(manager, real.tool, json.dumps(real.args), within_s=30)


async def _used(manager: McpManager, real: Real) -> None:
    """Call the tool, read the resource, expand the prompt."""
    result = await _called(manager, real)
    assert (result.is_error, real.says in result.content) == (False, True)
    (server,) = manager.servers
    assert bool(server.lists.resources.known) == (real.resource is not None)
    assert bool(server.lists.prompts.known) == (real.prompt is not None)
    if real.resource is not None:
        uri, says = real.resource
        assert uri in [resource.uri for resource in server.lists.resources.known]
        asked = ToolCall("c1", "ReadMcpResource", json.dumps({"server": real.spec.name, "uri": uri}))
        read = await ReadMcpResource(manager.servers).execute(asked, Environment())
        assert (read.is_error, says in read.content) == (False, True)
    if real.prompt is not None:
        line, says = real.prompt
        expanded = await PromptCommands(lambda: manager.servers).expand(line)
        assert says in (expanded or "")
