import logging
from collections.abc import Callable, Mapping

import anyio
import pytest

from hilt.core.errors import ToolError
from hilt.ports.mcp import Fault, McpFault
from hilt.ports.tool import Environment
from hilt.testing.mcp import FakeDialer, Handler
from tests.mcp.mount import TEXT, UNAVAILABLE, call, fails, one_server, serves


@pytest.mark.req("MCP-84")
@pytest.mark.parametrize("name", ["look", "keyed"])
async def test_a_cut_call_that_may_be_repeated_is_sent_again(name: str) -> None:
    async with one_server(FakeDialer(serves(fails(Fault.CUT)), serves())) as server:
        assert await call(server, name) == "ok"


@pytest.mark.req("MCP-86", "MCP-91")
async def test_a_call_is_sent_twice_at_most() -> None:
    connections = [serves(fails(Fault.CUT)) for _ in range(3)]
    dialer = FakeDialer(*connections)
    async with one_server(dialer) as server:
        assert await call(server, "look") == UNAVAILABLE
    assert [len(connection.calls()) for connection in connections] == [1, 1, 0]
    assert len(dialer.dialled) == 2


@pytest.mark.req("MCP-81", "MCP-83", "MCP-85", "MCP-93")
@pytest.mark.parametrize(
    ("handler", "text"),
    [
        (fails(Fault.DECLARED, "no row", code=-32602), "answered 'note' with error -32602: no row"),
        (fails(Fault.DECLARED, ""), "answered 'note' with an error"),
        (
            fails(Fault.HTTP_STATUS, "HTTP 429 Too Many", status=429, retry_after_s=7.0),
            "answered 'note' with HTTP 429 Too Many; it asks to wait 7 s",
        ),
        (
            fails(Fault.HTTP_STATUS, "slow down", status=503, code=5),
            "answered 'note' with error 5 (HTTP 503): slow down",
        ),
        (fails(Fault.PROTOCOL, "HTML"), "gave 'note' no usable answer: HTML"),
    ],
)
async def test_what_the_server_declares_is_shown_once_and_the_session_stays(handler: Handler, text: str) -> None:
    connection = serves(handler)
    dialer = FakeDialer(connection)
    async with one_server(dialer) as server:
        for times in (1, 2):
            shown = await call(server, "note")
            assert shown.endswith(text)
            assert '"far"' in shown
            assert len(connection.calls()) == times
    assert len(dialer.dialled) == 1


@pytest.mark.req("MCP-69")
async def test_a_drop_lets_other_open_calls_of_the_old_connection_go_on() -> None:
    release = anyio.Event()

    async def answer(params: Mapping[str, object]) -> Mapping[str, object]:
        if params["name"] == "look":
            await release.wait()
            return TEXT
        raise McpFault(Fault.SESSION_LOST, "gone")

    old, fresh = serves(answer), serves()
    results: list[str] = []
    async with one_server(FakeDialer(old, fresh)) as server:

        async def look() -> None:
            results.append(await call(server, "look"))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(look)
                await anyio.wait_all_tasks_blocked()
                assert await call(server, "note") == "ok"
                assert old.closed == 0
                release.set()
        await anyio.wait_all_tasks_blocked()
        assert old.closed == 1
    assert results == ["ok"]


async def test_a_closed_server_refuses_calls_and_opens_nothing() -> None:
    dialer = FakeDialer(serves())
    async with one_server(dialer) as server:
        await server.close()
        assert await call(server, "note") == 'error: mcp call failed: MCP server "far" is closed'
    assert len(dialer.dialled) == 1


async def test_a_close_during_a_call_ends_it_with_a_plain_word() -> None:
    async with one_server(FakeDialer(serves(fails(Fault.CLOSED)))) as server:
        assert await call(server, "note") == (
            'error: mcp call failed: the connection to MCP server "far" was closed meanwhile'
        )


async def test_the_client_s_own_last_deadline_is_a_timeout() -> None:
    async with one_server(FakeDialer(serves(fails(Fault.TIMEOUT)))) as server:
        with pytest.raises(ToolError, match="86400000"):
            await call(server, "note")


@pytest.mark.req("MCP-77")
async def test_server_logs_are_cut_and_limited(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "hilt.mcp")
    now = 0.0
    connection = serves()
    async with one_server(FakeDialer(connection), monotonic=lambda: now):
        for _ in range(150):
            connection.notify("notifications/message", {"data": "y" * 5000})
        first = len(caplog.records)
        now = 61.0
        connection.notify("notifications/message", {"data": "z"})
    assert first == 100
    texts = [record.getMessage().partition(" text=")[2] for record in caplog.records]
    assert [len(text) for text in texts] == [1024] * 100 + [1]


async def test_changed_lists_are_noted_and_asked_for_by_nobody() -> None:
    connection = serves()
    async with one_server(FakeDialer(connection)) as server:
        connection.notify("notifications/tools/list_changed", {})
        connection.notify("notifications/else", {})
        assert set(server.stale) == {"tools"}
    assert [request.method for request in connection.sent] == ["tools/list"]


@pytest.mark.req("MCP-67")
async def test_progress_keeps_the_call_alive_and_is_shown_ten_times_a_second() -> None:
    shown: list[tuple[float, float | None, str]] = []
    kept: list[None] = []

    def answer(params: Mapping[str, object]) -> Mapping[str, object]:
        report: Callable[[float, float | None, str], None] | None = connection.progress
        assert report is not None
        for done in (1.0, 2.0, 3.0):
            report(done, 3.0, "step")
        return TEXT

    connection = serves(answer)
    env = Environment(
        progress=lambda done, total, text: shown.append((done, total, text)), keep_alive=lambda: kept.append(None)
    )
    async with one_server(FakeDialer(connection)) as server:
        assert await call(server, "note", env=env) == "ok"
    assert shown == [(1.0, 3.0, "step")]
    assert len(kept) == 3
