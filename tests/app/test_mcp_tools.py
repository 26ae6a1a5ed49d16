import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.abc
import pytest

from hilt.app.config import Config
from hilt.app.settings_mcp import McpSettings
from hilt.core.mcp import McpServerSpec
from hilt.core.permission import Effect, PermissionRule
from hilt.engine.session import Session
from tests.app.house import House, house, names
from tests.mcp_servers.kit import http_spec
from tests.mcp_servers.raw_http import (
    STANDING,
    Answer,
    RawServer,
    Received,
    hangs,
    http,
    raw_server,
    result,
    sends,
    stream_head,
)

ALL = PermissionRule(effect=Effect.ALLOW, tool="*")


def tool(name: str, text: str = "") -> dict[str, object]:
    return {"name": name, "description": text, "inputSchema": {"type": "object"}}


class Grower:
    """A server whose list the test changes and tells of."""

    def __init__(self, *names: str) -> None:
        self.tools: list[Mapping[str, object]] = [tool(name) for name in names]
        self.ttl_ms: int | None = None
        self.lists = 0
        self.fails = False
        self.answering = anyio.Event()
        self.answering.set()
        self.stream: anyio.abc.SocketStream | None = None
        self.opened = 0
        self.server: RawServer | None = None

    def answer(self, method: str, answer: Answer) -> None:
        """Answer a method in another way from now on."""
        assert self.server is not None
        self.server.answers[method] = answer

    async def listed(self, request: Received, stream: anyio.abc.SocketStream) -> None:
        self.lists += 1
        tools = list(self.tools)
        await self.answering.wait()
        if self.fails:
            await stream.send(http(b"", status="503 Busy"))
            return
        ttl = {} if self.ttl_ms is None else {"ttlMs": self.ttl_ms, "cacheScope": "private"}
        await stream.send(http(result(request, {"tools": tools, **ttl})))

    async def standing(self, request: Received, stream: anyio.abc.SocketStream) -> None:
        self.stream = stream
        self.opened += 1
        await stream.send(stream_head() + b": open\n\n")
        await hangs(request, stream)

    async def called(self, request: Received, stream: anyio.abc.SocketStream) -> None:
        params = request.rpc["params"]
        asked = params["name"] if isinstance(params, dict) else None
        if asked in [each["name"] for each in self.tools]:
            await stream.send(http(result(request, {"content": [{"type": "text", "text": f"{asked} ran"}]})))
            return
        error = {"jsonrpc": "2.0", "id": request.rpc["id"], "error": {"code": -32602, "message": "Unknown tool"}}
        await stream.send(http(json.dumps(error).encode()))

    async def tell(self) -> None:
        """Say that the list has changed."""
        assert self.stream is not None
        message = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        await self.stream.send(b"data: " + json.dumps(message).encode() + b"\n\n")

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[RawServer]:
        answers = {"tools__list": self.listed, "tools__call": self.called, STANDING: self.standing}
        async with raw_server(**answers) as self.server:
            yield self.server


@asynccontextmanager
async def grown(
    root: Path, grower: Grower, *more: McpServerSpec, mcp: McpSettings | None = None
) -> AsyncIterator[House]:
    async with grower.serving() as server:
        spec = http_spec(server.url, protocol="handshake")
        config = replace(Config(), mcp=mcp or McpSettings())
        async with house(root, mcp_servers=[spec, *more], config=config, rules=[ALL]) as built:
            await until(lambda: grower.opened > 0)
            yield built


async def until(true: Callable[[], bool]) -> None:
    with anyio.fail_after(5):
        while not true():
            await anyio.sleep(0.005)


async def change(built: House, grower: Grower, *names: str) -> None:
    """Let the server list these tools and tell of it, and wait until that has arrived."""
    grower.tools = [tool(name) for name in names]
    await grower.tell()
    await until(lambda: "tools" in built.app.mcp[0].servers[0].stale)


def remote(listed: Sequence[str]) -> list[str]:
    return [name.removeprefix("mcp__far__") for name in listed if name.startswith("mcp__far__")]


@pytest.mark.req("MCP-96", "MCP-97", "MCP-100", "MCP-94")
async def test_a_new_session_has_the_fresh_tools_and_a_running_one_keeps_its_own(tmp_path: Path) -> None:
    grower = Grower("a", "b")
    async with grown(tmp_path, grower) as built:
        old = await built.app.sessions.create()
        assert remote(names(old)) == ["a", "b"]
        await change(built, grower, "b", "c")
        assert grower.lists == 1
        fresh = await built.app.sessions.create()
        assert remote(names(fresh)) == ["b", "c"]
        another = await built.app.sessions.create()
        assert another.catalog is fresh.catalog
        assert remote(names(old)) == ["a", "b"]
        assert grower.lists == 2
        gone = (await built.turn(old, {"name": "mcp__far__a"}))[0]
        assert gone.is_error
        assert "Unknown tool" in gone.content
        assert (await built.turn(old, {"name": "mcp__far__b"}))[0].content == "b ran"
        assert (await built.turn(fresh, {"name": "mcp__far__c"}))[0].content == "c ran"
        assert remote(built.listed()) == ["b", "c"]


@pytest.mark.req("MCP-97")
async def test_readers_of_a_stale_list_at_the_same_time_share_one_fetch(tmp_path: Path) -> None:
    grower = Grower("a")
    sessions: list[Session] = []
    async with grown(tmp_path, grower) as built:
        await change(built, grower, "a", "b")
        grower.answering = anyio.Event()

        async def create() -> None:
            sessions.append(await built.app.sessions.create())

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(create)
            await until(lambda: grower.lists == 2)
            grower.answering.set()
        assert [remote(names(session)) for session in sessions] == [["a", "b"]] * 5
        assert grower.lists == 2


@pytest.mark.req("MCP-98")
async def test_a_notice_during_a_fetch_leaves_the_list_stale(tmp_path: Path) -> None:
    grower = Grower("a")
    async with grown(tmp_path, grower) as built:
        await change(built, grower, "a", "b")
        grower.answering = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(built.app.sessions.create)
            await until(lambda: grower.lists == 2)
            assert "tools" not in built.app.mcp[0].servers[0].stale
            await change(built, grower, "a", "b", "c")
            grower.answering.set()
        fresh = await built.app.sessions.create()
        assert remote(names(fresh)) == ["a", "b", "c"]
        assert grower.lists == 3


@pytest.mark.req("MCP-99")
async def test_a_failed_fetch_keeps_the_old_list_and_warns_once_until_one_succeeds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    grower = Grower("a")

    def warned() -> int:
        return [r.getMessage().split(" ")[0] for r in caplog.records if r.levelno >= logging.WARNING].count(
            "mcp_list_failed"
        )

    async with grown(tmp_path, grower) as built:
        await change(built, grower, "a", "b")
        grower.fails = True
        for _ in range(2):
            assert remote(names(await built.app.sessions.create())) == ["a"]
        assert (grower.lists, warned()) == (3, 1)
        grower.fails = False
        assert remote(names(await built.app.sessions.create())) == ["a", "b"]
        await change(built, grower, "c")
        grower.fails = True
        assert remote(names(await built.app.sessions.create())) == ["a", "b"]
        assert warned() == 2


@pytest.mark.req("MCP-101")
async def test_a_list_past_its_time_to_live_is_read_again_by_the_next_session(tmp_path: Path) -> None:
    grower = Grower("a")
    grower.ttl_ms = 0
    async with grown(tmp_path, grower) as built:
        grower.tools, grower.ttl_ms = [tool("b")], 3_600_000
        assert remote(names(await built.app.sessions.create())) == ["b"]
        grower.tools = [tool("c")]
        assert remote(names(await built.app.sessions.create())) == ["b"]
        assert grower.lists == 2


@pytest.mark.req("MCP-101")
async def test_a_private_list_is_read_anew_for_every_application(tmp_path: Path) -> None:
    grower = Grower("a")
    grower.ttl_ms = 3_600_000
    async with grower.serving() as server:
        for number in (1, 2):
            spec = http_spec(server.url, protocol="handshake", headers={"Authorization": f"Bearer {number}"})
            async with house(tmp_path, mcp_servers=[spec]) as built:
                assert remote(names(await built.app.sessions.create())) == ["a"]
            assert grower.lists == number


@pytest.mark.req("MCP-94")
async def test_a_reconnect_fetches_no_list(tmp_path: Path) -> None:
    grower = Grower("a")
    async with grown(tmp_path, grower) as built:
        session = await built.app.sessions.create()
        server = built.app.mcp[0].servers[0]
        await _drop(built, session, grower)
        assert grower.lists == 1
        assert "tools" not in server.stale


async def _drop(built: House, session: Session, grower: Grower) -> None:
    """Let the server lose its session, so that the next call dials and works."""
    seen = grower.called
    lost: list[None] = []

    async def once(request: Received, stream: anyio.abc.SocketStream) -> None:
        if lost:
            await seen(request, stream)
        else:
            lost.append(None)
            await stream.send(http(b"", status="404 Gone"))

    grower.answer("tools/call", once)
    assert not (await built.turn(session, {"name": "mcp__far__a"}))[0].is_error
    assert lost


# ---------------------------------------------------------------- mcp.live_catalog


@pytest.mark.req("MCP-120")
async def test_a_live_session_takes_a_changed_list_at_its_next_turn(tmp_path: Path) -> None:
    grower = Grower("m", "n")
    async with grown(tmp_path, grower, mcp=McpSettings(live_catalog=True)) as built:
        session = await built.app.sessions.create()
        await built.run(session, {"text": "ok"})
        before = built.listed()
        await change(built, grower, "n", "z", "a")
        grower.tools[0] = tool("n", "Another text.")
        await built.run(session, {"text": "ok"})
        after = built.listed()
        assert after == [*before, "mcp__far__a", "mcp__far__z"]
        texts = {spec.name: spec.description for spec in built.model.requests[-1].tools}
        assert texts["mcp__far__n"] == ""
        gone = (await built.turn(session, {"name": "mcp__far__m"}))[0]
        assert gone.content.startswith("tool_unavailable") or "tool_unavailable" in gone.content
        assert "does not list it any more" in gone.content
        assert (await built.turn(session, {"name": "mcp__far__z"}))[0].content == "z ran"
        await change(built, grower, "m", "n", "z", "a")
        await built.run(session, {"text": "ok"})
        assert (await built.turn(session, {"name": "mcp__far__m"}))[0].content == "m ran"
        assert built.listed() == after


@pytest.mark.req("MCP-120")
async def test_a_reconnect_and_a_gap_in_the_channel_make_the_lists_of_a_live_catalog_stale(tmp_path: Path) -> None:
    grower = Grower("a")
    async with grown(tmp_path, grower, mcp=McpSettings(live_catalog=True)) as built:
        session = await built.app.sessions.create()
        server = built.app.mcp[0].servers[0]
        assert set(server.stale) == set()
        assert grower.stream is not None
        await grower.stream.aclose()
        await until(lambda: "tools" in server.stale)
        await built.run(session, {"text": "ok"})
        assert grower.lists == 2
        await _drop(built, session, grower)
        assert {"tools", "prompts", "resources"} <= set(server.stale) or grower.lists == 3


# ---------------------------------------------------------------- late servers


@asynccontextmanager
async def late(root: Path, mcp: McpSettings) -> AsyncIterator[tuple[House, Grower, anyio.Event]]:
    """Build over a quick server "far" and one named "slow", which shakes hands once the event is set."""
    slow, quick, go = Grower("z", "b"), Grower("q"), anyio.Event()

    async def initialize(request: Received, stream: anyio.abc.SocketStream) -> None:
        await go.wait()
        await stream.send(
            http(
                result(
                    request,
                    {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}},
                )
            )
        )

    async with slow.serving() as server:
        server.answers["initialize"] = initialize
        spec = http_spec(server.url, name="slow", protocol="handshake")
        async with grown(root, quick, spec, mcp=mcp) as built:
            yield built, slow, go


@pytest.mark.req("MCP-54")
async def test_under_fast_a_late_server_joins_open_sessions_at_their_next_turn_at_the_end(tmp_path: Path) -> None:
    async with late(tmp_path, McpSettings(wait="fast")) as (built, _, go):
        session = await built.app.sessions.create()
        await built.run(session, {"text": "ok"})
        before = built.listed()
        assert remote(before) == ["q"]
        go.set()
        await until(lambda: built.app.mcp[0].servers[1].state == "ready")
        assert (await built.turn(session, {"name": "mcp__far__q"}))[0].content == "q ran"
        assert built.listed() == [*before, "mcp__slow__b", "mcp__slow__z"]
        assert (await built.turn(session, {"name": "mcp__slow__z"}))[0].content == "z ran"
        query = {"server": "slow", "tool": "b", "jq_filter": "."}
        answer = (await built.turn(session, {"name": "CallMcpWithQuery", "args": query}))[0]
        assert "no MCP server is named" not in answer.content
        fresh = await built.app.sessions.create()
        assert sorted(names(fresh)) == sorted(built.listed())


@pytest.mark.req("MCP-54")
async def test_the_first_server_may_be_a_late_one(tmp_path: Path) -> None:
    slow, go = Grower("b"), anyio.Event()

    async def list_late(request: Received, stream: anyio.abc.SocketStream) -> None:
        await go.wait()
        await slow.listed(request, stream)

    async with slow.serving() as server:
        server.answers["tools/list"] = list_late
        spec = http_spec(server.url, protocol="handshake")
        config = replace(Config(), mcp=McpSettings(wait="fast"))
        async with house(tmp_path, mcp_servers=[spec], config=config, rules=[ALL]) as built:
            session = await built.app.sessions.create()
            assert remote(names(session)) == []
            go.set()
            await until(lambda: built.app.mcp[0].servers[0].state == "ready")
            await built.run(session, {"text": "ok"})
            assert {"mcp__far__b", "CallMcpWithQuery"} <= set(built.listed())


@pytest.mark.req("MCP-51")
async def test_a_server_that_failed_at_start_gives_its_tools_to_sessions_that_start_once_it_is_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    grower = Grower("a")
    async with grower.serving() as server:
        server.answers["initialize"], works = sends(http(b"", status="503 Busy")), server.answers["initialize"]
        spec = http_spec(server.url, protocol="handshake")
        async with house(tmp_path, mcp_servers=[spec], rules=[ALL]) as built:
            old = await built.app.sessions.create()
            assert names(old) == []
            server.answers["initialize"] = works
            await until(lambda: built.app.mcp[0].servers[0].state == "ready")
            fresh = await built.app.sessions.create()
            assert remote(names(fresh)) == ["a"]
            assert (await built.turn(fresh, {"name": "mcp__far__a"}))[0].content == "a ran"
            await built.run(old, {"text": "ok"})
            assert built.listed() == []
    warned = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert [line.split(" ")[0] for line in warned] == ["mcp_server_unavailable"]
