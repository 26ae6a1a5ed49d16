from collections.abc import Mapping
from pathlib import Path

import anyio
import anyio.abc
import pytest

from hilt.adapters.mcp_connection import SdkConnection
from hilt.adapters.mcp_http import HttpWire
from hilt.adapters.mcp_pending import OpenRequests
from hilt.adapters.mcp_replies import ClientReplies
from hilt.adapters.mcp_wire import Inbox
from hilt.core.redaction import Redactor
from hilt.mcp.background import background_tasks
from hilt.ports.mcp import Fault, McpFault, ServerFacts
from tests.mcp_servers.kit import dialled, http_spec, replay_stdio


class ScriptedWire:
    """Hands what is sent to the test; breaks when it is told to."""

    def __init__(self) -> None:
        self.sent: list[Mapping[str, object]] = []
        self.broken = anyio.Event()
        self.refuses = False
        self.inbox: Inbox | None = None

    async def run(self, inbox: Inbox, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        self.inbox = inbox
        task_status.started()
        await self.broken.wait()
        raise RuntimeError("boom")

    async def send(self, message: Mapping[str, object], headers: Mapping[str, str]) -> None:
        if self.refuses:
            raise McpFault(Fault.NOT_SENT, "nobody reads")
        self.sent.append(message)

    def forget(self, request_id: int) -> None:
        """Nothing is open."""

    def settle(self, *, revision: str, stateless: bool) -> None:
        """Nothing depends on it."""

    def standing(self) -> None:
        """There is no stream."""


def _connection(wire: ScriptedWire, notified: list[str] | None = None) -> SdkConnection:
    seen = [] if notified is None else notified
    return SdkConnection(
        wire,
        server="s",
        client={"name": "hilt", "version": "0"},
        replies=ClientReplies(None),
        redactor=Redactor(["tok-12345678"]),
        on_notification=lambda method, params: seen.append(method),
    )


async def test_a_transport_that_breaks_ends_its_connection_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wire = ScriptedWire()
    connection = _connection(wire)
    async with background_tasks() as tasks:
        await tasks.start(connection.run)
        faults: list[Fault] = []

        async def one() -> None:
            with pytest.raises(McpFault) as caught:
                await connection.request("x", {}, timeout_s=5)
            faults.append(caught.value.fault)

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(one)
                await anyio.wait_all_tasks_blocked()
                wire.broken.set()
            await one()
    assert faults == [Fault.CUT, Fault.NOT_SENT]
    assert "mcp_connection_failed server=s" in caplog.text


async def test_what_comes_after_the_close_is_dropped() -> None:
    wire = ScriptedWire()
    connection = _connection(wire)
    async with background_tasks() as tasks:
        await tasks.start(connection.run)
        await connection.close()
        await connection.deliver({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        await connection.fail(99, McpFault(Fault.CUT, "late"))
    assert wire.sent == []


async def test_a_message_that_the_transport_refuses_was_never_sent() -> None:
    wire = ScriptedWire()
    connection = _connection(wire)
    async with background_tasks() as tasks:
        await tasks.start(connection.run)
        wire.refuses = True
        with anyio.fail_after(5), pytest.raises(McpFault) as caught:
            await connection.request("x", {}, timeout_s=5)
        assert caught.value.fault is Fault.NOT_SENT
        await connection.opened(ServerFacts(era="handshake"))
        await connection.close()


async def test_the_text_of_a_fault_shows_no_secret() -> None:
    wire = ScriptedWire()
    connection = _connection(wire)
    async with background_tasks() as tasks:
        await tasks.start(connection.run)

        async def fail() -> None:
            await anyio.wait_all_tasks_blocked()
            await connection.fail(1, McpFault(Fault.DECLARED, "bad token tok-12345678"))

        tasks.start_soon(fail)
        with anyio.fail_after(5), pytest.raises(McpFault, match="bad token \\[masked\\]"):
            await connection.request("x", {}, timeout_s=5)
        await connection.close()


@pytest.mark.req("MCP-72")
async def test_a_flood_of_requests_is_served_in_part_and_stops_nothing() -> None:
    wire = ScriptedWire()
    notified: list[str] = []
    connection = _connection(wire, notified)
    async with background_tasks() as tasks:
        await tasks.start(connection.run)
        for number in range(500):
            await connection.deliver({"jsonrpc": "2.0", "id": number, "method": "ping"})
        await connection.deliver({"jsonrpc": "2.0", "method": "notifications/x", "params": [1]})
        with anyio.fail_after(5):
            while not wire.sent:
                await anyio.sleep(0)
        await connection.close()
    assert notified == ["notifications/x"]
    assert all(message["result"] == {} for message in wire.sent)


async def test_of_abandoned_requests_a_bounded_number_is_remembered(caplog: pytest.LogCaptureFixture) -> None:
    requests = OpenRequests("s")
    for _ in range(1001):
        request = requests.begin(None)
        requests.abandon(request)
        requests.end(request)
    assert requests.answered({"id": 1001, "result": {}}) is None
    assert caplog.records == []
    assert requests.answered({"id": 1, "result": {}}) is None
    assert [record.getMessage() for record in caplog.records] == ["mcp_answer_with_unknown_id server=s id=1"]


async def test_an_http_transport_that_does_not_run_sends_nothing() -> None:
    import httpx2

    wire = HttpWire(http_spec("http://127.0.0.1:9/"), transport=httpx2.AsyncHTTPTransport(verify=False))
    wire.forget(1)
    with pytest.raises(McpFault, match="closed"):
        await wire.send({"jsonrpc": "2.0", "id": 1, "method": "x"}, {})


async def test_a_reader_that_breaks_ends_its_server_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(self: SdkConnection, message: Mapping[str, object]) -> None:
        raise RuntimeError("boom")

    async with dialled(replay_stdio("n2_no_prompts", tmp_path)) as connection:
        monkeypatch.setattr(SdkConnection, "deliver", breaks)
        with anyio.fail_after(5), pytest.raises(McpFault) as caught:
            await connection.request("tools/list", {}, timeout_s=5)
    assert caught.value.fault is Fault.CUT
    assert "mcp_stdio_reader_failed server=near" in caplog.text
