"""The moment in which a wire ends: what is sent then is refused, and nothing of it outlives the wire."""

from collections.abc import AsyncIterator, Callable, Mapping

import anyio
import anyio.abc
import anyio.lowlevel
import httpx2
import pytest

from hilt.adapters.mcp_http import HttpWire
from hilt.adapters.mcp_sse import SseWire
from hilt.ports.mcp import Fault, McpFault
from tests.mcp_servers.kit import http_spec

ENDPOINT = b"event: endpoint\ndata: /post\n\n"


class Stream(httpx2.AsyncByteStream):
    """The event stream of a server that names its endpoint and then, when told to, goes away."""

    def __init__(self, leave: anyio.Event) -> None:
        self._leave = leave

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield ENDPOINT
        await self._leave.wait()


class Near(httpx2.AsyncBaseTransport):
    """Answers in this process; a POST is never answered."""

    def __init__(self) -> None:
        self.leave = anyio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            await anyio.sleep_forever()
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Stream(self.leave))


class Told:
    """An inbox that notes the faults that it is told of."""

    def __init__(self) -> None:
        self.faults: list[McpFault] = []

    async def deliver(self, message: Mapping[str, object], *, related: int | None = None) -> None:
        pytest.fail(f"nothing answers here: {message}")

    async def fail(self, request_id: int, fault: McpFault) -> None:
        self.faults.append(fault)

    async def fail_all(self, fault: McpFault) -> None:
        self.faults.append(fault)

    async def lost(self, fault: McpFault) -> None:
        self.faults.append(fault)


async def send_until_it_ends(wire: HttpWire | SseWire, end: Callable[[anyio.CancelScope], None]) -> list[Fault]:
    """End the wire; send in every step that the event loop takes meanwhile; return why that was refused."""
    told, ended, refused = Told(), anyio.Event(), list[Fault]()
    scope = anyio.CancelScope()

    async def run(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        with scope:
            await wire.run(told, task_status=task_status)
        ended.set()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            await tasks.start(run)
            end(scope)
            number = 0
            while not ended.is_set():
                number += 1
                try:
                    await wire.send({"jsonrpc": "2.0", "id": number, "method": "ping"}, {})
                except McpFault as fault:
                    refused.append(fault.fault)
                await anyio.lowlevel.checkpoint()
    assert [fault for fault in told.faults if fault.fault is Fault.PROTOCOL] == []
    return refused


@pytest.mark.req("FLT-36")
async def test_what_is_sent_while_an_sse_stream_ends_is_refused_and_outlives_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    near = Near()
    wire = SseWire(http_spec("http://127.0.0.1:9/sse", transport="sse"), transport=near)
    refused = await send_until_it_ends(wire, lambda _: near.leave.set())
    assert set(refused) == {Fault.NOT_SENT}
    assert caplog.text == ""


@pytest.mark.req("FLT-36")
async def test_what_is_sent_while_an_http_wire_ends_is_refused_and_outlives_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wire = HttpWire(http_spec("http://127.0.0.1:9/mcp"), transport=Near())
    refused = await send_until_it_ends(wire, lambda scope: scope.cancel())
    assert set(refused) == {Fault.NOT_SENT}
    assert caplog.text == ""
