"""What hilt's client does over the installed MCP SDK, the lowest and the highest that hilt admits.

The whole fault kit runs in `tests/faults`; here are the faults whose outcome rests on the SDK: its dispatcher, its ids,
its cancellations.
"""

import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

import anyio
import pytest

from hilt.core.mcp import McpServerSpec
from hilt.core.tool import ToolCall
from hilt.faults.entry import Case
from hilt.faults.protocol import Transport
from hilt.faults.run import command, read_log, running
from hilt.faults.table import cases
from hilt.mcp.manager import McpManager
from hilt.ports.tool import Environment
from tests.mcp_servers.kit import http_spec, mounted, stdio_spec, tool_of

ROOT = Path(__file__).parents[2]
UNKNOWN = "outcome is unknown, and nothing was sent again"
OUTCOMES = {
    "honest": "note 1 added",
    "reset-after-delivery": UNKNOWN,
    "cut-stream": UNKNOWN,
    "exit-mid-call": UNKNOWN,
    "restart-404": "note 1 added",
    "asking": "note 1 added",
    "noise": "note 1 added",
}
CASES = [case for case in cases() if case.entry in OUTCOMES]


@asynccontextmanager
async def played(case: Case, log: Path) -> AsyncIterator[McpManager]:
    """Run an entry and mount it."""
    settings = {"kind": case.kind} if case.kind else {}
    if case.transport is Transport.STDIO:
        argv = command(case.entry, era=case.era, settings=settings, log_path=log)
        async with mounted(stdio_spec(argv[0], *argv[1:])) as manager:
            yield manager
        return
    with running(case.entry, transport=case.transport, era=case.era, settings=settings, log_path=log) as server:
        async with mounted(_spec(server.address, case)) as manager:
            yield manager


def _spec(address: str, case: Case) -> McpServerSpec:
    return http_spec(address, transport="sse" if case.transport is Transport.SSE else "http")


@pytest.mark.req("MCP-47")
def test_the_installed_sdk_is_in_the_range_that_is_required() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = next(line for line in project["dependencies"] if line.startswith("mcp>"))
    least, _, below = required.removeprefix("mcp>=").partition(",<")
    assert _numbers(least) <= _numbers(version("mcp")) < _numbers(below)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


@pytest.mark.req("MCP-47")
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
async def test_a_call_that_changes_something_ends_as_it_must_and_runs_once(case: Case, tmp_path: Path) -> None:
    log = tmp_path / "kit.jsonl"
    with anyio.fail_after(30):
        async with played(case, log) as manager:
            tool = tool_of(manager, "add_note")
            done = await tool.execute(ToolCall("c", "x", '{"text": "x"}'), Environment())
            assert OUTCOMES[case.entry] in done.content
            assert not (await tool_of(manager, "look").execute(ToolCall("c", "x", "{}"), Environment())).is_error
    executed = [record for record in read_log(log, "executed") if record["tool"] == "add_note"]
    assert len(executed) == 1


@pytest.mark.req("MCP-47")
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_a_call_that_is_given_up_is_told_to_the_server(era: str, tmp_path: Path) -> None:
    log = tmp_path / "kit.jsonl"
    with running("hang-call", era=era, log_path=log) as server:
        async with mounted(http_spec(server.address)) as manager:
            connection = manager.servers[0]
            with anyio.move_on_after(0.3):
                await tool_of(manager, "look").execute(ToolCall("c", "x", "{}"), Environment())
            with anyio.fail_after(5):
                while not _told(log):
                    await anyio.sleep(0.01)
            assert connection.state == "ready"


def _told(log: Path) -> bool:
    messages = [record.get("message") for record in read_log(log, "received")]
    cancelled = [m for m in messages if isinstance(m, dict) and m.get("method") == "notifications/cancelled"]
    return bool(cancelled or read_log(log, "gone"))
