import logging
from collections.abc import Mapping, Sequence

import anyio
import pytest

from hilt.core.mcp import McpServerSpec
from hilt.mcp.background import background_tasks
from hilt.mcp.failure import CallFailedError
from hilt.mcp.server import McpRequest, McpServer
from hilt.ports.mcp import Fault, McpConnection, McpFault, NotificationHandler
from hilt.testing.mcp import FakeDialer
from tests.mcp.mount import LIMITS, SPEC, UNAVAILABLE, call, fails, one_server, serves


@pytest.mark.req("MCP-79", "MCP-80", "MCP-86", "MCP-94")
@pytest.mark.parametrize("fault", [Fault.NOT_SENT, Fault.SESSION_LOST])
async def test_a_call_that_cannot_have_been_taken_is_sent_again_after_one_dial(fault: Fault) -> None:
    lost, fresh = serves(fails(fault)), serves()
    dialer = FakeDialer(lost, fresh)
    async with one_server(dialer) as server:
        assert await call(server, "note") == "ok"
    assert len(dialer.dialled) == 2
    assert (len(lost.calls()), len(fresh.calls())) == (1, 1)
    assert [request.method for request in fresh.sent] == ["tools/call"]
    assert lost.closed == 1


@pytest.mark.req("MCP-84", "MCP-92")
async def test_a_cut_mutating_call_is_not_sent_again_and_says_so_without_a_dial() -> None:
    dialer = FakeDialer(serves(fails(Fault.CUT)), serves())
    async with one_server(dialer) as server:
        assert await call(server, "note") == (
            "error: mcp call failed: the connection to MCP server \"far\" ended while 'note' ran;"
            " its outcome is unknown, and nothing was sent again"
        )
        assert len(dialer.dialled) == 1
        assert await call(server, "note") == "ok"
    assert len(dialer.dialled) == 2


@pytest.mark.req("MCP-86")
async def test_a_call_that_dialled_before_its_first_send_is_not_sent_again() -> None:
    connections = [serves(fails(Fault.CUT)) for _ in range(3)]
    async with one_server(FakeDialer(*connections)) as server:
        await call(server, "note")
        assert await call(server, "look") == UNAVAILABLE
    assert [len(connection.calls()) for connection in connections] == [1, 1, 0]


@pytest.mark.req("MCP-82")
async def test_an_ended_session_is_shown_once_and_the_next_call_dials() -> None:
    ended, fresh = serves(fails(Fault.SESSION_ENDED, "Session not found", code=-32600, status=404)), serves()
    async with one_server(FakeDialer(ended, fresh)) as server:
        assert await call(server, "look") == (
            "error: MCP server \"far\" answered 'look' with error -32600 (HTTP 404): Session not found;"
            " the session has ended, the next call opens a new one"
        )
        assert fresh.sent == []
        assert await call(server, "look") == "ok"


@pytest.mark.req("MCP-91", "MCP-95")
async def test_a_failed_reconnect_never_shows_the_transport_s_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "hilt.mcp")
    secret = McpServerSpec(
        name="far", url="http://127.0.0.1:9/", headers={"X-Key": "tok-12345678"}, connect_timeout_s=2.0
    )
    refused = McpFault(Fault.NOT_SENT, "refused tok-12345678 " + "x" * 300)
    async with one_server(FakeDialer(serves(fails(Fault.NOT_SENT)), refused), spec=secret) as server:
        assert await call(server, "note") == UNAVAILABLE
    first, second = caplog.records
    assert (first.levelname, first.getMessage()) == ("INFO", "mcp server reconnecting server=far")
    event, _, cause = second.getMessage().partition(" cause=")
    assert (second.levelname, event) == ("WARNING", "mcp server reconnect failed server=far")
    assert cause.startswith("refused [masked] x")
    assert len(cause.encode()) <= 200


@pytest.mark.req("MCP-95")
async def test_a_reconnect_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "hilt.mcp")
    async with one_server(FakeDialer(serves(fails(Fault.NOT_SENT)), serves())) as server:
        await call(server, "note")
    assert [r.getMessage() for r in caplog.records] == [
        "mcp server reconnecting server=far",
        "mcp server reconnected server=far",
    ]


@pytest.mark.req("MCP-90", "MCP-91")
async def test_after_a_failed_dial_calls_fail_at_once_until_the_pause_is_over() -> None:
    now = 0.0
    refused = McpFault(Fault.NOT_SENT, "refused")
    dialer = FakeDialer(serves(fails(Fault.NOT_SENT)), refused, refused, serves())
    async with one_server(dialer, monotonic=lambda: now) as server:
        assert await call(server, "note") == UNAVAILABLE
        assert await call(server, "note") == f"{UNAVAILABLE}; next try in 60 s"
        assert len(dialer.dialled) == 2
        now = 60.0
        assert await call(server, "note") == UNAVAILABLE
        assert len(dialer.dialled) == 3
        now = 120.0
        assert await call(server, "note") == "ok"
        assert server.retry_in_s == 0


@pytest.mark.req("MCP-88")
async def test_callers_that_meet_one_drop_share_one_dial() -> None:
    all_inside = anyio.Event()
    fresh = serves()
    inside = 0

    async def lost(params: Mapping[str, object]) -> Mapping[str, object]:
        nonlocal inside
        inside += 1
        if inside == 20:
            all_inside.set()
        await all_inside.wait()
        raise McpFault(Fault.SESSION_LOST, "gone")

    dialer = FakeDialer(serves(lost), fresh)
    results: list[str] = []
    async with one_server(dialer) as server:

        async def one() -> None:
            results.append(await call(server, "note"))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                for _ in range(20):
                    group.start_soon(one)
    assert results == ["ok"] * 20
    assert len(dialer.dialled) == 2
    assert len(fresh.calls()) == 20


@pytest.mark.req("MCP-89")
async def test_a_cancelled_waiter_leaves_the_dial_to_the_others() -> None:
    dialling, opened = anyio.Event(), anyio.Event()

    async def slowly() -> McpConnection:
        dialling.set()
        await opened.wait()
        return serves()

    results: list[str] = []
    async with one_server(FakeDialer(serves(fails(Fault.SESSION_LOST)), slowly)) as server:

        async def one(scope: anyio.CancelScope) -> None:
            with scope:
                results.append(await call(server, "note"))

        first, second = anyio.CancelScope(), anyio.CancelScope()
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(one, first)
                await dialling.wait()
                group.start_soon(one, second)
                await anyio.wait_all_tasks_blocked()
                first.cancel()
                await anyio.wait_all_tasks_blocked()
                opened.set()
    assert results == ["ok"]


@pytest.mark.req("MCP-89")
async def test_all_waiters_of_a_failed_dial_fail_with_it() -> None:
    release = anyio.Event()

    async def refuses() -> McpConnection:
        await release.wait()
        raise McpFault(Fault.NOT_SENT, "refused")

    results: list[str] = []
    dialer = FakeDialer(serves(fails(Fault.SESSION_LOST)), refuses)
    async with one_server(dialer) as server:

        async def one() -> None:
            results.append(await call(server, "note"))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                for _ in range(10):
                    group.start_soon(one)
                await anyio.wait_all_tasks_blocked()
                release.set()
    assert results == [UNAVAILABLE] * 10
    assert len(dialer.dialled) == 2


@pytest.mark.req("MCP-88")
async def test_a_dial_that_never_ends_is_bounded_by_the_connect_deadline() -> None:
    async def never() -> McpConnection:
        await anyio.sleep_forever()
        raise AssertionError

    spec = McpServerSpec(name="far", url="http://127.0.0.1:9/", connect_timeout_s=0.05)
    async with one_server(FakeDialer(serves(fails(Fault.SESSION_LOST)), never), spec=spec) as server:
        with anyio.fail_after(5):
            assert await call(server, "note") == UNAVAILABLE


async def test_a_broken_dialer_costs_this_server_alone(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def __init__(self) -> None:
            self.first = True

        async def dial(
            self, spec: McpServerSpec, *, on_notification: NotificationHandler, secrets: Sequence[str] = ()
        ) -> McpConnection:
            if self.first:
                self.first = False
                return serves(fails(Fault.SESSION_LOST))
            raise RuntimeError("boom")

    async with one_server(Broken()) as server:
        assert await call(server, "note") == UNAVAILABLE
    assert "mcp_dial_failed" in caplog.text


async def test_a_server_that_is_closed_while_it_dials_keeps_no_connection() -> None:
    opened = anyio.Event()
    late = serves()

    async def slowly() -> McpConnection:
        await opened.wait()
        return late

    async with background_tasks() as tasks:
        server = McpServer(SPEC, FakeDialer(slowly), tasks=tasks, limits=LIMITS)

        async def start() -> None:
            with pytest.raises(McpFault):
                await server.start()

        tasks.start_soon(start)
        await anyio.wait_all_tasks_blocked()
        await server.close()
        opened.set()
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(CallFailedError):
            await server.request(McpRequest(method="x", params={}, subject="x"), timeout_s=1)
    assert late.closed == 1
