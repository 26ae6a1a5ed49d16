"""The keeper of all sessions when something goes wrong: what cannot be made, opened or closed holds nothing up."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest

from hilt.adapters.execution_asyncio import AsyncioExecution
from hilt.adapters.inmemory.store import MemoryStore
from hilt.core.errors import ConflictError, HarnessFault, RequestError, SessionNotFoundError
from hilt.core.mcp import McpServerSpec
from hilt.core.rulebook import RuleBook
from hilt.core.session import SessionId, SessionRecord, SessionState
from hilt.engine.assembly import Assembly, Host
from hilt.engine.catalog import Catalog
from hilt.engine.funnel import Parts
from hilt.engine.sessions import Sessions
from hilt.ports.tool import Environment
from hilt.ports.workspace import ReadLedger
from hilt.testing import ManualClock, ScriptedModel


class Records:
    """The records of a store; saving or the log fails for the ids named."""

    def __init__(self, clock: ManualClock) -> None:
        self._inner = MemoryStore(clock=clock)
        self.events = self._inner.events
        self.broken: set[str] = set()

    async def save(self, record: SessionRecord) -> SessionRecord:
        """See `SessionStore.save`."""
        if record.id in self.broken:
            raise HarnessFault("the disk is full")
        return await self._inner.sessions.save(record)

    async def load(self, session_id: SessionId) -> SessionRecord | None:
        """See `SessionStore.load`."""
        return await self._inner.sessions.load(session_id)

    async def list(
        self, *, cursor: str = "", limit: int = 50, owner: str | None = None
    ) -> tuple[Sequence[SessionRecord], str]:
        """See `SessionStore.list`."""
        return await self._inner.sessions.list(cursor=cursor, limit=limit, owner=owner)

    async def delete(self, session_id: SessionId) -> bool:
        """See `SessionStore.delete`."""
        return await self._inner.sessions.delete(session_id)


class World:
    """Sessions over such records, with the ids of what was ended with them."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.records = Records(self.clock)
        self.closed: list[str] = []

    async def assemble(self, record: SessionRecord, servers: Sequence[McpServerSpec]) -> Assembly:
        """Make what a session consists of."""

        async def close() -> None:
            self.closed.append(record.id)

        parts = Parts(
            catalog=Catalog(),
            model=ScriptedModel([{"text": "done"}]),
            env=Environment(),
            execution=AsyncioExecution(),
            rules=RuleBook([]),
        )
        return Assembly(parts=parts, ledger=ReadLedger(), close=close)

    @asynccontextmanager
    async def sessions(self, *, idle_close_s: float = 1800.0) -> AsyncIterator[Sessions]:
        """Keep sessions for a while."""
        async with anyio.create_task_group() as tasks:
            host = Host(store=self.records, log=self.records.events, clock=self.clock, tasks=tasks)
            defaults = SessionRecord(id=SessionId(""))
            yield Sessions(host, self.assemble, defaults=defaults, idle_close_s=idle_close_s)
            tasks.cancel_scope.cancel()


async def test_a_session_that_cannot_be_stored_gives_back_what_was_made_for_it() -> None:
    world = World()
    world.records.broken.add("a")
    async with world.sessions() as sessions:
        with pytest.raises(HarnessFault):
            await sessions.create(id="a")
        assert world.closed == ["a"]
        with pytest.raises(RequestError):
            await sessions.create(id="b", limits={"max_turns": 10**9})
        assert world.closed == ["a", "b"]
        assert await world.records.load(SessionId("b")) is None
        assert sessions.open_sessions == []


@pytest.mark.req("SES-03")
async def test_of_two_creations_of_one_id_at_once_one_is_a_conflict() -> None:
    world = World()
    conflicts = 0
    async with world.sessions() as sessions, anyio.create_task_group() as group:

        async def create() -> None:
            nonlocal conflicts
            try:
                await sessions.create(id="a")
            except ConflictError:
                conflicts += 1

        for _ in range(3):
            group.start_soon(create)
    assert conflicts == 2


async def test_a_session_that_cannot_be_opened_gives_back_what_was_made_for_it() -> None:
    world = World()
    async with world.sessions() as sessions:
        with pytest.raises(SessionNotFoundError, match="'a'"):
            await sessions.open("a")
        await world.records.save(SessionRecord(id=SessionId("a"), state=SessionState.RUNNING))
        world.records.broken.add("a")
        with pytest.raises(HarnessFault):
            await sessions.open("a")
        assert world.closed == ["a"]
        world.records.broken.clear()
        assert (await sessions.open("a")).state is SessionState.IDLE


async def test_an_open_session_is_the_same_for_all_and_one_that_closed_is_taken_up_anew() -> None:
    world = World()
    async with world.sessions() as sessions:
        session = await sessions.create(id="a")
        assert await sessions.open("a") is session
        await session.close()
        assert await sessions.open("a") is not session


@pytest.mark.req("SES-08")
async def test_one_session_that_cannot_be_closed_keeps_no_other_open(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    async with world.sessions() as sessions:
        for id_ in "abc":
            await sessions.create(id=id_)
        world.records.broken.add("b")
        world.clock.advance(1800)
        with caplog.at_level(logging.ERROR):
            await sessions.close_idle()
        assert [record.message for record in caplog.records] == ["session_close_failed session=b"]
        assert sessions.open_sessions == []
        assert world.closed == ["a", "b", "c"]
        for id_ in "de":
            await sessions.create(id=id_)
        world.records.broken.add("d")
        with caplog.at_level(logging.ERROR):
            await sessions.close_all()
        assert [record.message for record in caplog.records][1:] == ["session_close_failed session=d"]
        assert sessions.open_sessions == []
        assert (await sessions.show("e")).state is SessionState.CLOSED


@pytest.mark.req("SES-08")
async def test_idle_sessions_are_swept_by_themselves_and_never_where_there_is_no_end() -> None:
    world = World()
    async with world.sessions(idle_close_s=0.0) as sessions:
        session = await sessions.create(id="a")
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(sessions.sweep)
                while session.state is not SessionState.CLOSED:
                    await anyio.sleep(0.01)
                group.cancel_scope.cancel()
    async with world.sessions(idle_close_s=float("inf")) as sessions:
        with anyio.fail_after(5):
            await sessions.sweep()


@pytest.mark.req("SES-06")
async def test_what_was_deleted_is_gone_for_good_and_deleting_it_again_says_so() -> None:
    world = World()
    async with world.sessions() as sessions:
        session = await sessions.create(id="a")
        async with session.prompt("go") as run:
            await run.finished()
        await sessions.delete("a")
        assert world.closed == ["a"]
        assert await world.records.events.read(SessionId("a")) == []
        with pytest.raises(SessionNotFoundError):
            await sessions.delete("a")
        with pytest.raises(ConflictError, match="was closed; open it again"):
            session.prompt("still there?")
        with pytest.raises(ConflictError, match="was closed"):
            await session.set(title="other")
        assert await world.records.load(SessionId("a")) is None
