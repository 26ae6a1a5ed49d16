"""A session's record: its legal changes, what a save holds, and the conversation that comes back."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import anyio
import pytest

from hilt.adapters.execution_asyncio import AsyncioExecution
from hilt.adapters.inmemory.store import MemoryStore
from hilt.core.errors import ConflictError, RequestError
from hilt.core.rulebook import RuleBook
from hilt.core.session import (
    LEGAL_CHANGES,
    AssistantMessage,
    Limits,
    Mode,
    SessionId,
    SessionRecord,
    SessionState,
    SummaryMessage,
    ToolFilter,
    Usage,
    UserMessage,
)
from hilt.engine.assembly import Assembly, Host
from hilt.engine.catalog import Catalog
from hilt.engine.emitter import Emitter
from hilt.engine.funnel import Parts
from hilt.engine.keeper import RecordKeeper, narrowed_limits, restored
from hilt.ports.tool import Environment
from hilt.ports.workspace import ReadLedger
from hilt.testing import ManualClock, ScriptedModel

RECORD = SessionRecord(id=SessionId("ses_1"))


def assembly() -> Assembly:
    parts = Parts(
        catalog=Catalog(),
        model=ScriptedModel(),
        env=Environment(),
        execution=AsyncioExecution(),
        rules=RuleBook([]),
        limits=Limits(max_turns=10),
    )
    return Assembly(parts=parts, ledger=ReadLedger(), layers=(ToolFilter(deny=("Never",)),))


class SlowStore:
    """The records of a store, whose saves wait to be let go."""

    def __init__(self, inner: MemoryStore) -> None:
        self._inner = inner.sessions
        self.inside = anyio.Event()
        self.go = anyio.Event()

    async def save(self, record: SessionRecord) -> SessionRecord:
        """See `SessionStore.save`."""
        self.inside.set()
        await self.go.wait()
        return await self._inner.save(record)

    async def load(self, session_id: SessionId) -> SessionRecord | None:
        """See `SessionStore.load`."""
        return await self._inner.load(session_id)

    async def list(
        self, *, cursor: str = "", limit: int = 50, owner: str | None = None
    ) -> tuple[Sequence[SessionRecord], str]:
        """See `SessionStore.list`."""
        return await self._inner.list(cursor=cursor, limit=limit, owner=owner)

    async def delete(self, session_id: SessionId) -> bool:
        """See `SessionStore.delete`."""
        return await self._inner.delete(session_id)


@pytest.mark.req("SES-01")
@pytest.mark.parametrize(("old", "new"), list(itertools.product(SessionState, SessionState)))
async def test_only_the_changes_of_the_picture_occur(old: SessionState, new: SessionState) -> None:
    clock = ManualClock()
    store = MemoryStore(clock=clock)
    stored = await store.sessions.save(replace(RECORD, state=old))
    async with anyio.create_task_group() as tasks:
        host = Host(store=store.sessions, log=store.events, clock=clock, tasks=tasks)
        keeper = RecordKeeper(stored, host, state=restored(stored, assembly()), emitter=Emitter(), ledger=ReadLedger())
        if old is new or (old, new) in LEGAL_CHANGES:
            await keeper.move(new)
            assert keeper.record.state is new
        else:
            with pytest.raises(ConflictError, match=f"is {old}, which cannot become {new}"):
                await keeper.move(new)
            assert keeper.record == stored
        assert await store.sessions.load(RECORD.id) == keeper.record


async def test_what_changes_while_a_save_is_under_way_is_not_lost_and_stored_by_the_next() -> None:
    clock = ManualClock()
    store = MemoryStore(clock=clock)
    stored = await store.sessions.save(RECORD)
    slow = SlowStore(store)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            host = Host(store=slow, log=store.events, clock=clock, tasks=tasks)
            keeper = RecordKeeper(
                stored, host, state=restored(stored, assembly()), emitter=Emitter(), ledger=ReadLedger()
            )
            tasks.start_soon(keeper.move, SessionState.RUNNING)
            await slow.inside.wait()
            keeper.record = replace(keeper.record, title="new")
            tasks.start_soon(keeper.move, SessionState.IDLE)
            await anyio.wait_all_tasks_blocked()
            slow.go.set()
    final = await store.sessions.load(RECORD.id)
    assert final == keeper.record
    assert final is not None
    assert (final.title, final.state, final.version) == ("new", SessionState.IDLE, 3)


@pytest.mark.req("SES-40", "PRM-54", "CAT-75")
async def test_a_conversation_comes_back_as_it_was_saved() -> None:
    clock = ManualClock()
    store = MemoryStore(clock=clock)
    messages = (UserMessage(text="go"), AssistantMessage(text="gone"))
    stored = await store.sessions.save(
        replace(
            RECORD,
            mode=Mode.PLAN,
            system_prompt="Be brief.",
            tools=ToolFilter(deny=("Hidden",)),
            limits={"max_turns": 3},
            messages=messages,
            grants=("Change(n:1)",),
            hydrated=("Deep",),
            turns=4,
            tool_calls=5,
            usage=Usage(input=6),
        )
    )
    async with anyio.create_task_group() as tasks:
        host = Host(store=store.sessions, log=store.events, clock=clock, tasks=tasks)
        state = restored(stored, assembly())
        emitter = Emitter(last_seq=9)
        emitter.run = "run_1"
        keeper = RecordKeeper(stored, host, state=state, emitter=emitter, ledger=ReadLedger({"a.txt": "v1"}))
        await keeper.save()
    saved = keeper.record
    unchanged = replace(stored, version=2, updated_at=saved.updated_at, run=saved.run, last_seq=9)
    assert saved == replace(unchanged, ledger=saved.ledger)
    assert (saved.run, dict(saved.ledger)) == ("run_1", {"a.txt": "v1"})
    again = restored(saved, assembly())
    assert (again.messages, again.grants, again.mode, again.system) == (
        list(messages),
        state.grants,
        Mode.PLAN,
        "Be brief.",
    )
    assert (again.hydrated, again.turns, again.tool_calls, again.usage) == ({"Deep"}, 4, 5, Usage(input=6))
    assert again.limits == Limits(max_turns=3)
    assert again.started
    assert [again.visibility.sees(name) for name in ("Never", "Hidden", "Look")] == [False, False, True]


def test_a_conversation_that_holds_no_prompt_has_not_started() -> None:
    assert not restored(RECORD, assembly()).started
    assert not restored(replace(RECORD, messages=(SummaryMessage(text="of old"),)), assembly()).started


@pytest.mark.req("DSP-91")
@pytest.mark.parametrize("asked", [{"max_turns": 11}, {"max_turns": -1}, {"max_mice": 1}])
def test_a_limit_above_the_servers_or_unknown_is_refused_by_name(asked: dict[str, float]) -> None:
    with pytest.raises(RequestError, match=next(iter(asked))):
        narrowed_limits(Limits(max_turns=10), asked)


@pytest.mark.req("DSP-91")
def test_0_or_absence_inherits() -> None:
    limits = Limits(max_turns=10)
    assert narrowed_limits(limits, {"max_turns": 0, "max_tokens": None}) == limits
    assert narrowed_limits(limits, {"max_turns": 10, "max_tokens": 5}) == replace(limits, max_tokens=5)
