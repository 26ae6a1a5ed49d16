"""Public reports on sessions over HTTP: restarts, declared errors, cut streams, closing."""

import time
from pathlib import Path

import anyio
import pytest

from hilt.mcp.manager import McpManager
from tests.mcp_servers.kit import call, http_spec, mounted, replay_http, tool_of


def _session(request: dict[str, object]) -> object:
    headers = request["headers"]
    return headers.get("mcp-session-id") if isinstance(headers, dict) else None


@pytest.mark.req("MCP-80", "MCP-94")
async def test_c1_a_restarted_server_gets_one_new_session_and_one_retry(tmp_path: Path) -> None:
    with replay_http("c1_restart_404", tmp_path) as served:
        async with mounted(http_spec(served.url)) as manager:
            results = [(await call(manager, "add_note")).is_error for _ in range(3)]
        sent = served.requests("tools/call")
        hellos = [_session(request) for request in served.requests("initialize")]
        lists = served.requests("tools/list")
    assert results == [False, False, False]
    assert hellos == [None, None]
    assert [_session(request) for request in sent] == ["s1", "s1", "s2", "s2"]
    assert len(lists) == 1


@pytest.mark.req("MCP-81", "MCP-83", "MCP-93")
async def test_c2_what_the_server_declares_is_no_lost_connection(tmp_path: Path) -> None:
    with replay_http("c2_declared_errors", tmp_path) as served:
        async with mounted(http_spec(served.url)) as manager:
            names = [tool.name_on_server for tool in manager.tools()]
            results = [await call(manager, name) for name in names]
        sent = [request["rpc"] for request in served.requests("tools/call")]
        hellos = served.requests("initialize")
    assert len(names) == 7
    assert all(result.is_error for result in results)
    assert [rpc["params"]["name"] for rpc in sent if isinstance(rpc, dict)] == names
    assert len(hellos) == 1


@pytest.mark.req("MCP-84", "MCP-92")
async def test_c3_a_stream_that_ends_without_answer_ends_the_call_at_once(tmp_path: Path) -> None:
    with replay_http("c3_stream_ends", tmp_path) as served:
        async with mounted(http_spec(served.url)) as manager:
            first = await call(manager, "render", within_s=2)
            assert len(served.requests("tools/call")) == 1
            second = await call(manager, "render", within_s=2)
    assert first.is_error
    assert "outcome is unknown" in first.content
    assert second.is_error


@pytest.mark.req("MCP-84")
async def test_c3_a_server_killed_in_a_call_ends_it_at_once(tmp_path: Path) -> None:
    (tmp_path / "slow.json").write_text('{"rules": [{"when": {"rpc": "tools/call"}, "do": {"hang": 60}}]}')
    with replay_http("slow.json", tmp_path) as served:
        async with mounted(http_spec(served.url)) as manager, anyio.create_task_group() as group:

            async def one() -> None:
                assert "outcome is unknown" in (await call(manager, "echo", within_s=4)).content

            group.start_soon(one)
            with anyio.fail_after(5):
                while not served.requests("tools/call"):
                    await anyio.sleep(0.01)
            served.process.kill()


@pytest.mark.req("MCP-25")
async def test_c4_an_event_with_empty_data_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with replay_http("c4_priming_event", tmp_path) as served:
        async with mounted(http_spec(served.url)) as manager:
            assert (await call(manager, "render")).content == "primed"
    assert caplog.records == []


@pytest.mark.req("MCP-29")
@pytest.mark.parametrize("name", ["c5_delete_404", "c5_delete_405", "c5_delete_500", "c5_delete_slow"])
async def test_c5_a_close_sends_one_delete_and_takes_any_answer(tmp_path: Path, name: str) -> None:
    with replay_http(name, tmp_path) as served:
        async with mounted(http_spec(served.url)) as manager:
            await call(manager, manager.tools()[0].name_on_server)
            with anyio.fail_after(6):
                await manager.close()
                await manager.close()
        deletes = [request for request in served.requests() if request["http"] == "DELETE"]
    assert [_session(request) for request in deletes] == ["s1"]


@pytest.mark.req("MCP-88")
async def test_c6_ten_callers_of_one_dead_session_share_one_dial(tmp_path: Path) -> None:
    results: list[str] = []

    async def one(manager: McpManager) -> None:
        results.append((await call(manager, "look")).content)

    with replay_http("c6_many_callers", tmp_path) as served:
        async with mounted(http_spec(served.url)) as manager, anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(one, manager)
        hellos = served.requests("initialize")
        sessions = {_session(request) for request in served.requests("tools/call")}
    assert results == ["ok"] * 10
    assert len(hellos) == 2
    assert sessions == {"s1", "s2"}


@pytest.mark.req("MCP-25", "MCP-26")
async def test_c8_a_cut_stream_is_resumed_after_the_time_that_the_server_gave(tmp_path: Path) -> None:
    with replay_http("c8_retry_field", tmp_path) as served:
        async with mounted(http_spec(served.url)) as manager:
            assert tool_of(manager, "render").server
            began = time.monotonic()
            assert (await call(manager, "render")).content == "resumed"
            took = time.monotonic() - began
        gets = [request["headers"] for request in served.requests() if request["http"] == "GET"]
        posts = served.requests("tools/call")
    assert 0.65 <= took < 5
    resumed = [h["last-event-id"] for h in gets if isinstance(h, dict) and "last-event-id" in h]
    assert resumed == ["r-1"]
    assert len(posts) == 1
