"""Public reports on closing connections: in another order, from another task, during a call."""

import asyncio
import os
from pathlib import Path

import anyio
import pytest

from hilt.adapters.mcp_dialer import SdkDialer
from hilt.mcp.background import background_tasks
from hilt.mcp.manager import McpManager
from hilt.ports.mcp import McpConnection, McpFault
from tests.mcp_servers.kit import call, http_spec, read_log, replay_http, replay_stdio

ENV = dict(os.environ)


def _nothing(method: str, params: object) -> None:
    """Take a notification."""


@pytest.mark.req("MCP-71")
async def test_l1_connections_close_in_any_order(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with background_tasks() as tasks:
        dialer = SdkDialer(tasks, environment=ENV)
        a, b, c = [
            await dialer.dial(replay_stdio("n2_no_prompts", tmp_path, server=name), on_notification=_nothing)
            for name in ("a", "b", "c")
        ]
        await a.close()
        assert "content" in await b.request("tools/call", {"name": "echo"}, timeout_s=5)
        await c.close()
        await b.close()
    for name in ("a", "b", "c"):
        pid = read_log(tmp_path / f"{name}.log")[0]["pid"]
        assert not Path(f"/proc/{pid}").exists()
    assert "different task" not in caplog.text


@pytest.mark.req("MCP-71")
@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_l2_a_connection_is_opened_in_one_task_and_closed_by_another_during_a_call(
    tmp_path: Path, kind: str
) -> None:
    (tmp_path / "slow.json").write_text(
        '{"on": {"tools/call": [{"sleep": 30}]}, "rules": [{"when": {"rpc": "tools/call"}, "do": {"hang": 30}}]}'
    )
    before = asyncio.all_tasks()
    with replay_http("slow.json", tmp_path) as served:
        spec = http_spec(served.url) if kind == "http" else replay_stdio("slow.json", tmp_path)
        async with background_tasks() as tasks:
            dialer = SdkDialer(tasks, environment=ENV)
            opened: list[McpConnection] = []

            async def open_it() -> None:
                opened.append(await dialer.dial(spec, on_notification=_nothing))

            opener = asyncio.create_task(open_it())
            await opener

            async def call_it() -> None:
                with pytest.raises(McpFault, match="closed"):
                    await opened[0].request("tools/call", {"name": "echo"}, timeout_s=60)

            async with anyio.create_task_group() as group:
                group.start_soon(call_it)
                await anyio.wait_all_tasks_blocked()
                with anyio.fail_after(8):
                    await asyncio.create_task(opened[0].close())
    assert asyncio.all_tasks() == before


@pytest.mark.req("MCP-71")
async def test_l2_cancelling_the_task_that_opens_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "mute.json").write_text('{"on": {"server/discover": [{"sleep": 60}], "initialize": [{"sleep": 60}]}}')
    before = asyncio.all_tasks()
    async with background_tasks() as tasks:
        dialer = SdkDialer(tasks, environment=ENV)
        with anyio.move_on_after(0.5) as scope:
            await dialer.dial(replay_stdio("mute.json", tmp_path), on_notification=_nothing)
        assert scope.cancelled_caught
    assert asyncio.all_tasks() == before
    pid = read_log(tmp_path / "near.log")[0]["pid"]
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.req("MCP-71")
async def test_l2_a_manager_is_closed_by_another_task_than_started_it(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with background_tasks() as tasks:
        manager = McpManager([replay_stdio("n2_no_prompts", tmp_path)], SdkDialer(tasks, environment=ENV))
        await asyncio.create_task(manager.start(tasks))
        assert not (await call(manager, "echo")).is_error
        tool = manager.tools()[0]
        await asyncio.create_task(manager.close())
        assert manager.tools() == []
        assert tool.read_only is False
    assert asyncio.all_tasks() == before
