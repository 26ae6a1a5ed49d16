"""Tools of MCP servers in the same funnel as any other: rules, audit, deadlines, cancellation."""

import json
import time
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from hilt.app.build import build
from hilt.core.mcp import McpServerSpec
from hilt.core.permission import Effect, PermissionRule
from tests.flows.kit import Recorder
from tests.mcp_servers.kit import read_log, replay_stdio

ALLOW = PermissionRule(effect=Effect.ALLOW, tool="mcp__near__*")
ECHO = "mcp__near__echo"


def _progress(value: int) -> dict[str, str]:
    params = f'{{"progressToken":@@ID@@,"progress":{value}}}'
    return {"raw": f'{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}\n'}


def _server(
    folder: Path, steps: list[dict[str, object]], *, idle_timeout_s: float = 120.0, call_timeout_s: float = 600.0
) -> McpServerSpec:
    (folder / "s.json").write_text(json.dumps({"on": {"tools/call": steps}}))
    return replace(replay_stdio("s.json", folder), idle_timeout_s=idle_timeout_s, call_timeout_s=call_timeout_s)


def _sent(folder: Path) -> list[str]:
    received = [line["recv"] for line in read_log(folder / "near.log") if "recv" in line]
    return [str(message.get("method")) for message in received if isinstance(message, dict)]


async def _told(folder: Path) -> bool:
    with anyio.move_on_after(1):
        while "notifications/cancelled" not in _sent(folder):
            await anyio.sleep(0.01)
        return True
    return False


@pytest.mark.req("MCP-65", "MCP-39")
async def test_an_mcp_call_is_decided_run_and_recorded_like_any_other(tmp_path: Path) -> None:
    spec = _server(tmp_path, [{"result": {"content": [{"type": "text", "text": "hi"}]}}])
    recorder = Recorder()
    deny = PermissionRule(effect=Effect.DENY, tool=ECHO)
    async with build(workspace=tmp_path, mcp_servers=[spec], rules=[ALLOW], recorder=recorder) as app:
        session = await app.sessions.create()
        assert (await session.call_tool(ECHO, '{"a": 1}')).content == "hi"
        second = await app.sessions.create()
        assert (await second.call_tool(ECHO, "{}")).content == "hi"
    assert [record.call.name for record in recorder.records] == [ECHO, ECHO]
    assert _sent(tmp_path).count("tools/call") == 2
    assert _sent(tmp_path).count("initialize") == 1
    (tmp_path / "near.log").unlink()
    async with build(workspace=tmp_path, mcp_servers=[spec], rules=[ALLOW, deny]) as app:
        refused = await (await app.sessions.create()).call_tool(ECHO, "{}")
    assert refused.is_error
    assert "tools/call" not in _sent(tmp_path)


@pytest.mark.req("MCP-66", "MCP-68", "DSP-63", "DSP-64")
async def test_a_call_without_answer_or_progress_ends_as_timeout_and_the_server_is_told(tmp_path: Path) -> None:
    spec = _server(tmp_path, [{"sleep": 60}], idle_timeout_s=0.4)
    async with build(workspace=tmp_path, mcp_servers=[spec], rules=[ALLOW]) as app:
        session = await app.sessions.create()
        with anyio.fail_after(3):
            result = await session.call_tool(ECHO, "{}")
        assert json.loads(result.content)["error"] == "timeout"
        assert await _told(tmp_path)


@pytest.mark.req("MCP-66", "DSP-64")
async def test_the_total_deadline_of_a_server_ends_a_call_that_reports_progress(tmp_path: Path) -> None:
    steps: list[dict[str, object]] = []
    for value in range(40):
        steps += [{**_progress(value)}, {"sleep": 0.1}]
    spec = _server(tmp_path, steps, idle_timeout_s=0.5, call_timeout_s=1.0)
    async with build(workspace=tmp_path, mcp_servers=[spec], rules=[ALLOW]) as app:
        session = await app.sessions.create()
        began = time.monotonic()
        with anyio.fail_after(3):
            result = await session.call_tool(ECHO, "{}")
        assert json.loads(result.content)["error"] == "timeout"
        assert time.monotonic() - began > 0.9
        assert await _told(tmp_path)


@pytest.mark.req("MCP-67", "DSP-63")
@pytest.mark.parametrize(("rising", "error"), [(True, False), (False, True)])
async def test_only_rising_progress_extends_the_idle_deadline(tmp_path: Path, rising: bool, error: bool) -> None:
    steps: list[dict[str, object]] = []
    for value in range(6):
        steps += [{**_progress(value if rising else 1)}, {"sleep": 0.2}]
    steps.append({"result": {"content": [{"type": "text", "text": "done"}]}})
    spec = _server(tmp_path, steps, idle_timeout_s=0.6)
    async with build(workspace=tmp_path, mcp_servers=[spec], rules=[ALLOW]) as app:
        session = await app.sessions.create()
        with anyio.fail_after(5):
            result = await session.call_tool(ECHO, "{}")
    assert result.is_error is error


@pytest.mark.req("MCP-68", "DSP-64")
async def test_a_cancelled_call_ends_at_once_and_the_server_is_told(tmp_path: Path) -> None:
    spec = _server(tmp_path, [{"sleep": 60}])
    async with build(workspace=tmp_path, mcp_servers=[spec], rules=[ALLOW]) as app:
        session = await app.sessions.create()
        ended = anyio.Event()

        async def one() -> None:
            with anyio.CancelScope() as scope:
                scopes.append(scope)
                await session.call_tool(ECHO, "{}")
            ended.set()

        scopes: list[anyio.CancelScope] = []
        async with anyio.create_task_group() as group:
            group.start_soon(one)
            with anyio.fail_after(5):
                while "tools/call" not in _sent(tmp_path):
                    await anyio.sleep(0.01)
            scopes[0].cancel()
            with anyio.fail_after(1):
                await ended.wait()
        assert await _told(tmp_path)
