import logging
from collections.abc import Sequence
from dataclasses import replace

import anyio
import pytest

from hilt.core.errors import UnreachableError
from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.mcp.background import background_tasks
from hilt.mcp.manager import McpManager, Wait
from hilt.mcp.server import McpServer
from hilt.ports.mcp import Fault, McpConnection, McpFault, NotificationHandler
from hilt.testing.mcp import FakeConnection
from tests.mcp.mount import NOTE, SPEC, managed


class Net:
    """Dials by name: a connection, a fault, or a wait that ends never; counts what is under way."""

    def __init__(self, **servers: FakeConnection | McpFault | None) -> None:
        self.servers = servers
        self.dialled: list[str] = []
        self.under_way = 0
        self.most = 0

    async def dial(
        self, spec: McpServerSpec, *, on_notification: NotificationHandler, secrets: Sequence[str] = ()
    ) -> McpConnection:
        self.dialled.append(spec.name)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await anyio.sleep(0.01)
            found = self.servers[spec.name]
            if found is None:
                await anyio.sleep_forever()
            if isinstance(found, McpFault):
                raise McpFault(found.fault, found.text)
            assert found is not None
            return found
        finally:
            self.under_way -= 1


def _spec(name: str, **more: object) -> McpServerSpec:
    return replace(SPEC, name=name, **more)  # type: ignore[arg-type]  # keys of the entry


def _server() -> FakeConnection:
    return FakeConnection(tools=[NOTE])


REFUSED = McpFault(Fault.NOT_SENT, "refused")


@pytest.mark.req("MCP-50")
async def test_a_dead_server_costs_its_own_tools_and_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    net = Net(a=_server(), b=REFUSED, c=_server())
    async with managed(net, _spec("a"), _spec("b"), _spec("c")) as manager:
        assert [tool.spec.name for tool in manager.tools()] == ["mcp__a__note", "mcp__c__note"]
        reports = {report.name: (report.state, report.tools, report.cause) for report in manager.reports()}
        assert reports == {"a": ("ready", 1, ""), "b": ("failed", 0, "refused"), "c": ("ready", 1, "")}
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [r.getMessage() for r in warnings] == ["mcp_server_unavailable server=b cause=refused"]
    assert [net.servers[name].closed for name in "ac"] == [1, 1]  # type: ignore[union-attr]  # both connections


@pytest.mark.req("MCP-50")
async def test_all_servers_may_fail() -> None:
    async with managed(Net(a=REFUSED), _spec("a")) as manager:
        assert manager.tools() == []


@pytest.mark.req("MCP-52")
async def test_a_required_server_that_fails_stops_the_start_and_closes_the_others() -> None:
    good = _server()
    with pytest.raises(UnreachableError, match="'b': refused"):
        async with managed(Net(a=good, b=REFUSED), _spec("a"), _spec("b", required=True)):
            pytest.fail("it started")
    assert good.closed == 1


async def test_a_disabled_entry_is_not_dialled() -> None:
    net = Net(a=_server())
    async with managed(net, _spec("a", enabled=False)) as manager:
        assert manager.servers == ()
    assert net.dialled == []


@pytest.mark.req("MCP-49")
async def test_sixteen_servers_connect_at_a_time() -> None:
    names = [f"s{n}" for n in range(40)]
    net = Net(**{name: _server() for name in names})
    async with managed(net, *[_spec(name) for name in names]) as manager:
        assert len(manager.tools()) == 40
    assert net.most == 16


@pytest.mark.req("MCP-49")
async def test_the_deadline_covers_the_dial_and_the_lists() -> None:
    async def never(params: object) -> dict[str, object]:
        await anyio.sleep_forever()
        return {}

    hanging = FakeConnection({"tools/list": never})
    specs = [_spec("a", connect_timeout_s=0.1), _spec("b", connect_timeout_s=0.1)]
    with anyio.fail_after(5):
        async with managed(Net(a=None, b=hanging), *specs) as manager:
            causes = [report.cause for report in manager.reports()]
    assert causes == ["not ready within 0.1 s", "not ready within 0.1 s"]
    assert hanging.closed == 1


@pytest.mark.req("MCP-51")
async def test_a_server_that_failed_at_start_is_dialled_again_in_the_background() -> None:
    net = Net(a=REFUSED)
    async with managed(net, _spec("a"), limits=McpLimits(first_pause_s=0.01)) as manager:
        net.servers["a"] = _server()
        with anyio.fail_after(5):
            while not manager.tools():
                await anyio.sleep(0.01)
        assert manager.reports()[0].cause == ""


@pytest.mark.req("MCP-53")
async def test_fast_waits_for_the_quick_ones_only() -> None:
    net = Net(a=_server(), b=None)
    async with background_tasks() as tasks:
        manager = McpManager([_spec("a"), _spec("b", connect_timeout_s=60.0)], net)
        with anyio.fail_after(1.5):
            await manager.start(tasks, wait="fast")
        assert [report.state for report in manager.reports()] == ["ready", "connecting"]
        await manager.close()


@pytest.mark.req("MCP-53")
async def test_fast_waits_for_a_required_server() -> None:
    net = Net(a=_server(), b=None)
    async with background_tasks() as tasks:
        manager = McpManager([_spec("a"), _spec("b", connect_timeout_s=0.5, required=True)], net)
        with anyio.fail_after(5), pytest.raises(UnreachableError):
            await manager.start(tasks, wait="fast")


@pytest.mark.req("MCP-53")
async def test_fast_ends_after_two_seconds_when_nothing_settles() -> None:
    async with background_tasks() as tasks:
        manager = McpManager([_spec("a", connect_timeout_s=60.0)], Net(a=None))
        with anyio.fail_after(4):
            await manager.start(tasks, wait="fast")
        assert manager.tools() == []
        await manager.close()


@pytest.mark.parametrize("wait", ["all", "fast"])
async def test_a_manager_without_servers_starts_and_closes(wait: Wait) -> None:
    async with background_tasks() as tasks:
        manager = McpManager([], Net())
        await manager.start(tasks, wait=wait)
        await manager.close()
        await manager.close()


async def test_a_cancelled_start_closes_what_was_opened() -> None:
    good = _server()
    async with background_tasks() as tasks:
        manager = McpManager([_spec("a"), _spec("b", connect_timeout_s=60.0)], Net(a=good, b=None))
        with anyio.move_on_after(0.2) as scope:
            await manager.start(tasks)
        assert scope.cancelled_caught
        assert good.closed == 1


async def test_a_manager_that_never_started_closes_at_once() -> None:
    await McpManager([_spec("a")], Net()).close()


@pytest.mark.req("MCP-71")
async def test_a_manager_closes_when_its_group_is_cancelled() -> None:
    good = _server()
    async with background_tasks() as tasks:
        await McpManager([_spec("a")], Net(a=good)).start(tasks)
    assert good.closed == 1


async def test_a_server_object_that_breaks_costs_itself_alone(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(McpServer):
        async def start(self) -> None:
            if self.spec.name == "a":
                raise RuntimeError("boom")
            await super().start()

    async with background_tasks() as tasks:
        manager = McpManager([_spec("a"), _spec("b")], Net(b=_server()), make_server=Broken)
        await manager.start(tasks)
        assert [report.state for report in manager.reports()] == ["failed", "ready"]
        await manager.close()
    assert "mcp_server_failed" in caplog.text


async def test_withheld_and_repaired_tools_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    odd = FakeConnection(tools=[{"name": "bad", "inputSchema": []}, {"name": "mended"}])
    async with managed(Net(a=odd), _spec("a")) as manager:
        (report,) = manager.reports()
    assert [tool.name for tool in report.withheld] == ["bad"]
    assert [name for name, _ in report.repaired] == ["mended"]
    assert "mcp_tool_withheld" in caplog.text


@pytest.mark.req("MCP-57")
async def test_a_server_without_the_tools_capability_is_not_asked_for_tools() -> None:
    silent = FakeConnection()
    silent.facts = replace(silent.facts, capabilities={"resources": {}})
    async with managed(Net(a=silent), _spec("a")) as manager:
        assert manager.reports()[0].state == "ready"
    assert silent.sent == []


async def test_an_error_of_the_owner_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError):
        async with background_tasks():
            raise KeyError("x")
