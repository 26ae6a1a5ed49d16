import anyio
import pytest

from hilt.core.mcp import McpServerSpec
from hilt.ports.mcp import Fault, McpConnection, McpDialer, McpFault
from hilt.testing.mcp import FakeConnection, FakeDialer, SentRequest

SPEC = McpServerSpec(name="s")


async def _dial(dialer: McpDialer) -> McpConnection:
    return await dialer.dial(SPEC, on_notification=lambda method, params: None)


async def test_a_fake_connection_answers_refuses_and_runs_out_of_time() -> None:
    async def never(params: object) -> dict[str, object]:
        await anyio.sleep_forever()
        return {}

    connection = FakeConnection({"slow": never}, tools=[{"name": "t"}])
    assert await connection.request("tools/list", {}, timeout_s=1) == {"tools": [{"name": "t"}]}
    with pytest.raises(McpFault) as caught:
        await connection.request("x/y", {"a": 1}, timeout_s=1, headers={"H": "v"})
    assert (caught.value.fault, caught.value.code) == (Fault.DECLARED, -32601)
    with pytest.raises(McpFault) as caught:
        await connection.request("slow", {}, timeout_s=0.01)
    assert caught.value.fault is Fault.TIMEOUT
    assert connection.sent[1] == SentRequest(method="x/y", params={"a": 1}, headers={"H": "v"})
    connection.notify("notifications/x", {})


async def test_a_fake_dialer_gives_its_outcomes_in_order_and_repeats_the_last() -> None:
    first, second = FakeConnection(), FakeConnection()

    async def made() -> McpConnection:
        return second

    dialer = FakeDialer(first, McpFault(Fault.NOT_SENT, "refused"), made)
    assert await _dial(dialer) is first
    with pytest.raises(McpFault, match="refused"):
        await _dial(dialer)
    assert await _dial(dialer) is second
    assert await _dial(dialer) is second
    assert dialer.dialled == [SPEC] * 4
