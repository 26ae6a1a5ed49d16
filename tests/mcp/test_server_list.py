"""Lists of a server that are kept until it declares them changed."""

import logging
from collections.abc import Mapping

import anyio
import pytest

from hilt.mcp.server_list import ServerList
from hilt.mcp.server_lists import ALL_LISTS, PROMPTS, RESOURCES, ListedResource, read_prompts, read_resources
from hilt.ports.mcp import Fault, McpFault, ServerFacts
from hilt.testing.mcp import FakeConnection, FakeDialer, Handler
from tests.mcp.mount import fails, managed, one_server

NOTICE = "notifications/resources/list_changed"


def offering(*capabilities: str, **handlers: Handler) -> FakeConnection:
    """Return a connection that offers these, with handlers by method, `/` written `__`."""
    connection = FakeConnection({method.replace("__", "/"): handler for method, handler in handlers.items()})
    connection.facts = ServerFacts(name="fake", revision="2025-11-25", capabilities={c: {} for c in capabilities})
    return connection


def listing(*uris: str) -> Handler:
    return lambda params: {"resources": [{"uri": uri} for uri in uris]}


def asked(connection: FakeConnection) -> list[str]:
    return [request.method for request in connection.sent]


class Counted:
    """A list that is read: each reading waits for `go` and gives its number, or fails where `fault` is set."""

    def __init__(self) -> None:
        self.stale: set[str] = set()
        self.readings = 0
        self.inside = anyio.Event()
        self.go = anyio.Event()
        self.fault: McpFault | None = None
        self.list = ServerList("far", "tools", self._read, empty=0, stale=self.stale)

    async def _read(self) -> int:
        self.readings += 1
        number = self.readings
        self.inside.set()
        await self.go.wait()
        if self.fault is not None:
            raise self.fault
        return number


@pytest.mark.req("MCP-97")
async def test_a_stale_list_is_read_once_by_all_its_readers() -> None:
    counted = Counted()
    counted.go.set()
    assert [await counted.list.value() for _ in range(3)] == [1, 1, 1]
    counted.stale.add("prompts")
    assert await counted.list.value() == 1
    counted.stale.add("tools")
    counted.go = anyio.Event()
    found: list[int] = []

    async def reader() -> None:
        found.append(await counted.list.value())

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(reader)
            await anyio.wait_all_tasks_blocked()
            counted.go.set()
    assert (found, counted.readings) == ([2] * 5, 2)


@pytest.mark.req("MCP-98")
async def test_a_notice_during_a_reading_leaves_the_list_stale() -> None:
    counted = Counted()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(counted.list.value)
            await counted.inside.wait()
            counted.stale.add("tools")
            counted.go.set()
    assert (counted.list.known, counted.stale) == (1, {"tools"})
    assert await counted.list.value() == 2
    assert counted.stale == set()


@pytest.mark.req("MCP-99")
async def test_a_reading_that_fails_keeps_the_old_list_and_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    counted = Counted()
    counted.go.set()
    await counted.list.value()
    counted.stale.add("tools")
    counted.fault = McpFault(Fault.CUT, "gone")
    assert [await counted.list.value() for _ in range(3)] == [1, 1, 1]
    assert counted.readings == 4
    assert [record.getMessage() for record in caplog.records] == ["mcp_list_failed server=far list=tools cause=gone"]
    counted.fault = None
    assert await counted.list.value() == 5
    counted.stale.add("tools")
    counted.fault = McpFault(Fault.CUT, "gone")
    assert await counted.list.value() == 5
    assert len(caplog.records) == 2


@pytest.mark.req("MCP-97")
async def test_readers_who_waited_for_a_reading_that_fails_do_not_each_try_again() -> None:
    counted = Counted()
    counted.fault = McpFault(Fault.CUT, "gone")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(counted.list.value)
            await anyio.wait_all_tasks_blocked()
            counted.go.set()
    assert counted.readings == 1


async def test_a_cancelled_reading_leaves_the_list_stale() -> None:
    counted = Counted()
    counted.go.set()
    await counted.list.value()
    counted.stale.add("tools")
    counted.go = anyio.Event()
    with anyio.move_on_after(0):
        await counted.list.value()
    assert (counted.list.known, counted.stale) == (1, {"tools"})


@pytest.mark.req("MCP-96", "MCP-97")
async def test_a_notice_makes_the_servers_list_stale_and_causes_no_request() -> None:
    uris = ["a://1"]
    connection = offering(RESOURCES, resources__list=lambda params: {"resources": [{"uri": uri} for uri in uris]})
    async with one_server(FakeDialer(connection)) as server:
        assert [r.uri for r in await server.lists.resources.value()] == ["a://1"]
        uris.append("a://2")
        connection.notify(NOTICE, {})
        assert asked(connection) == ["resources/list"]
        assert [r.uri for r in await server.lists.resources.value()] == ["a://1", "a://2"]
        assert asked(connection) == ["resources/list"] * 2


@pytest.mark.req("MCP-57")
async def test_what_is_not_offered_is_not_asked_for_and_a_refusal_is_an_empty_list(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection = offering(PROMPTS)
    async with one_server(FakeDialer(connection)) as server:
        assert await server.lists.resources.value() == ()
        assert await server.lists.prompts.value() == ()
    assert asked(connection) == ["prompts/list"]
    assert caplog.records == []


async def test_a_manager_reads_the_wanted_lists_of_each_server_that_is_ready() -> None:
    for lists, methods in (((), set()), (ALL_LISTS, {"resources/list", "prompts/list"})):
        connection = offering(RESOURCES, PROMPTS, resources__list=listing("a://1"), prompts__list=_prompts)
        async with managed(FakeDialer(connection), lists=lists) as manager:
            (server,) = manager.servers
            assert bool(server.lists.resources.known) == bool(lists)
            assert [prompt.name for prompt in server.lists.prompts.known] == (["p"] if lists else [])
        assert set(asked(connection)) == methods


async def test_a_list_that_fails_or_does_not_come_costs_only_itself(caplog: pytest.LogCaptureFixture) -> None:
    async def never(params: Mapping[str, object]) -> Mapping[str, object]:
        await anyio.sleep_forever()
        raise AssertionError

    for handler, cause in ((fails(Fault.DECLARED, "no", code=-32603), "no"), (never, "no answer in time")):
        caplog.clear()
        connection = offering("tools", RESOURCES, PROMPTS, resources__list=handler, prompts__list=_prompts)
        async with managed(FakeDialer(connection), lists=ALL_LISTS) as manager:
            (server,) = manager.servers
            assert (server.state, server.lists.resources.known) == ("ready", ())
            assert len(server.lists.prompts.known) == 1
        warned = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
        assert len(warned) == 1
        assert cause in warned[0]


def test_entries_that_cannot_be_used_are_left_out() -> None:
    entries = [
        None,
        {},
        {"uri": 1},
        {"uri": ""},
        {"uri": "a\nb"},
        {"uri": "a b", "name": "A\n\u202eb", "description": 7, "mimeType": "text/plain"},
        {"uri": "a b", "name": "second"},
    ]
    assert read_resources(entries) == (ListedResource(uri="a b", name="A b", mime_type="text/plain"),)
    given = {"name": "p", "arguments": [{"name": "x", "required": True}, {"name": 1}, 2, {"name": "y", "required": 1}]}
    prompts = read_prompts([None, {"name": ""}, given, {**given, "arguments": []}, {"name": "q", "arguments": 7}])
    assert [(p.name, [(a.name, a.required) for a in p.arguments]) for p in prompts] == [
        ("p", [("x", True), ("y", False)]),
        ("q", []),
    ]


def _prompts(params: Mapping[str, object]) -> Mapping[str, object]:
    return {"prompts": [{"name": "p"}]}
