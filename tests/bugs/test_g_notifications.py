"""Public reports on pagination, notification storms, late answers and pings."""

from pathlib import Path

import anyio
import pytest

from tests.mcp_servers.kit import call, http_spec, mounted, read_log, replay_http, replay_stdio, tool_of


def _received(log: Path) -> list[dict[str, object]]:
    found = [line["recv"] for line in read_log(log) if "recv" in line]
    return [message for message in found if isinstance(message, dict)]


@pytest.mark.req("MCP-55")
async def test_g1_an_empty_cursor_is_sent_back(tmp_path: Path) -> None:
    with replay_http("g1_empty_cursor", tmp_path) as served:
        async with mounted(http_spec(served.url)) as manager:
            names = [tool.name_on_server for tool in manager.tools()]
        asked = [request["rpc"] for request in served.requests("tools/list")]
    assert len(names) == len(set(names)) == 2
    cursors = [rpc.get("params", {}).get("cursor") for rpc in asked if isinstance(rpc, dict)]
    assert cursors == [None, ""]


@pytest.mark.req("MCP-56")
async def test_g2_a_stuck_cursor_ends_the_list_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with replay_http("g2_stuck_cursor", tmp_path) as served:
        async with mounted(http_spec(served.url)) as manager:
            names = [tool.name_on_server for tool in manager.tools()]
        asked = len(served.requests("tools/list"))
    assert len(names) == len(set(names)) >= 1
    assert asked <= 3
    assert [record.getMessage().split(" ")[:2] for record in caplog.records] == [["mcp_list_cut", "server=far"]]


async def test_g3_a_storm_of_change_notices_causes_no_request(tmp_path: Path) -> None:
    async with mounted(replay_stdio("g3_storm", tmp_path)) as manager:
        assert (await call(manager, "echo", within_s=5)).content == "done"
    lists = [message for message in _received(tmp_path / "near.log") if message.get("method") == "tools/list"]
    assert len(lists) == 1


@pytest.mark.req("MCP-68", "MCP-70")
async def test_g4_a_late_answer_reaches_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with mounted(replay_stdio("g4_late_answer", tmp_path)) as manager:
        with anyio.move_on_after(0.5) as scope:
            await call(manager, "echo")
        assert scope.cancelled_caught
        assert (await call(manager, "echo")).content == "prompt"
        with anyio.fail_after(1):
            while "notifications/cancelled" not in [m.get("method") for m in _received(tmp_path / "near.log")]:
                await anyio.sleep(0.01)
        assert tool_of(manager, "echo").server
    assert caplog.records == []


@pytest.mark.req("MCP-72")
async def test_g5_a_ping_is_answered_and_what_is_unknown_refused(tmp_path: Path) -> None:
    async with mounted(replay_stdio("g5_ping", tmp_path)) as manager:
        assert (await call(manager, "echo")).content == "pinged"
    answers = [message for message in _received(tmp_path / "near.log") if "method" not in message]
    said = {repr(message["id"]): message.get("result", message.get("error")) for message in answers}
    assert said == {
        "1": {},
        "'p-2'": {},
        "0": {},
        "9": {"code": -32601, "message": "Method not found"},
    }
