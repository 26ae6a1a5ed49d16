"""memory_search finds turns that gave way to a summary: at once, after a restart, never before they are stored."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.inmemory.store import MemorySessions, MemoryStore
from hilt.adapters.store_jsonl import JsonlStore
from hilt.core.earlier import EarlierMessage
from hilt.core.errors import ConfigError, HarnessFault
from hilt.core.event import RunResult
from hilt.core.session import SessionId, SessionRecord, StopReason, SummaryMessage, ToolMessage
from hilt.ports.child import ChildAgents
from tests.flows import compact_child
from tests.flows.compacting import FILL, fill, house, model, say, search, use
from tests.flows.session_kit import STORES

ROOT = Path(__file__).parents[2]
ID = "the session"
SECRET_PLACE = "the spare key lies under the blue flowerpot"


@pytest.mark.req("BLT-75", "BLT-76")
@pytest.mark.parametrize("kind", STORES)
async def test_what_gave_way_is_found_with_the_numbers_of_its_messages(tmp_path: Path, kind: str) -> None:
    store = STORES[kind](tmp_path)
    state = {"state_dir": str(tmp_path / "state")}
    async with house(tmp_path, store=store, config=_config(**state)) as app:
        session = await app.sessions.create(id=ID)
        await say(session, SECRET_PLACE)
        # It is before the model still; and what was looked for is not found later.
        assert (await use(session, "memory_search", query="spare")).content == "[]"
        await fill(session, "the magic number is 4711")
        assert isinstance(session.record.messages[0], SummaryMessage)
        (found,) = await search(session, "FLOWERPOT")
        assert set(found) == {"content", "score", "source_range"}
        assert SECRET_PLACE in str(found["content"])
        assert "not instructions" in str(found["content"])
        assert found["source_range"] == {"start": 1, "end": 1}
        assert isinstance(found["score"], float)
        (number,) = await search(session, "4711", limit=50)
        assert number["source_range"] == {"start": 7, "end": 7}
        assert await search(session, "zebra") == []
        assert await search(session, "") == []
        both = await search(session, "flowerpot filling zebra", limit=100)
        assert 1 <= len(both) <= 20
        assert await search(session, "flowerpot filling", limit=-3) == await search(
            session, "flowerpot filling", limit=1
        )
    async with house(tmp_path, store=store, config=_config(**state)) as app:
        session = await app.sessions.open(ID)
        (found,) = await search(session, "flowerpot", limit=1)
        assert SECRET_PLACE in str(found["content"])
        other = await app.sessions.create()
        assert await search(other, "flowerpot") == []
        await app.sessions.delete(ID)
        again = await app.sessions.create(id=ID)
        assert await search(again, "flowerpot") == []
    store.close()


def _config(**values: object) -> object:
    from hilt.app.config import Config

    return Config(**values)  # type: ignore[arg-type]  # fields of the configuration, by name


@pytest.mark.req("BLT-62", "BLT-75")
async def test_a_child_agent_finds_the_earlier_turns_of_its_session_only_as_a_fork(tmp_path: Path) -> None:
    async with house(tmp_path, enable={"memory", "delegation"}) as app:
        session = await app.sessions.create()
        await fill(session, SECRET_PLACE)
        children = session.env.service(ChildAgents)  # type: ignore[type-abstract]  # the host names it by its port
        for fork, found in ((False, False), (True, True)):
            await use(session, "Subagent", prompt='call memory_search {"query": "flowerpot"}', fork=fork)
            messages = children.transcript(children.children()[-1].id).messages
            results = [one.results[0].content for one in messages if isinstance(one, ToolMessage)]
            assert (SECRET_PLACE in results[-1]) is found
            assert (results[-1] == "[]") is not found


@pytest.mark.req("BLT-75")
async def test_later_summaries_add_to_what_is_found_and_numbers_go_on(tmp_path: Path) -> None:
    async with house(tmp_path) as app:
        session = await app.sessions.create()
        first = await fill(session, "alpha one")
        second = await fill(session, "beta two")
        third = await fill(session, "gamma three")
        assert 0 < first < second < third
        found = [(await search(session, word, limit=1))[0]["source_range"] for word in ("alpha", "beta", "gamma")]
        assert len({json.dumps(one) for one in found}) == 3
        assert found[0] == {"start": 1, "end": 1}
        kept = await app.store.sessions.earlier(SessionId(session.id))  # type: ignore[attr-defined]  # of this store
        assert [one.number for one in kept] == list(range(1, session.record.archived + 1))


@pytest.mark.req("SES-12")
async def test_with_the_store_in_memory_nothing_is_written_to_a_disk(tmp_path: Path) -> None:
    async with house(tmp_path, config=_config(state_dir=str(tmp_path / "state"))) as app:
        session = await app.sessions.create()
        await fill(session, SECRET_PLACE)
        assert len(await search(session, "flowerpot", limit=1)) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("BLT-76")
async def test_many_long_passages_fit_into_one_result_that_is_json(tmp_path: Path) -> None:
    async with house(tmp_path) as app:
        session = await app.sessions.create()
        for number in range(25):
            await say(session, f"needle {number} " + "登录\n\"'\\ é😀 " * 300)
        await fill(session)
        for limit in (1, 5, 20):
            found = await search(session, "needle", limit=limit)
            assert 1 <= len(found) <= limit
            assert all("needle" in str(one["content"]) for one in found)


class Failing(MemorySessions):
    """Refuses to store what is shortened, as long as it is told to."""

    broken = True

    async def save_shortened(self, record: SessionRecord, gone: Sequence[EarlierMessage]) -> SessionRecord:
        """See `TurnArchive.save_shortened`."""
        if self.broken:
            raise HarnessFault("the disk is full")
        return await super().save_shortened(record, gone)


@pytest.mark.req("BLT-76")
async def test_what_could_not_be_stored_is_not_found_until_it_is(tmp_path: Path) -> None:
    store = MemoryStore(clock=FixedClock())
    sessions = store.sessions = Failing(store.events, store.calls)
    async with house(tmp_path, store=store, config=_config(state_dir=str(tmp_path / "state"))) as app:
        session = await app.sessions.create(id=ID)
        await say(session, SECRET_PLACE)
        with pytest.raises(Exception, match="the disk is full"):
            await fill(session)
        assert await sessions.earlier(SessionId(ID)) == []
        stored = await sessions.load(SessionId(ID))
        assert stored is not None
        assert stored.archived == 0
        sessions.broken = False
        await session.set(title="stored once more")
        assert (await sessions.earlier(SessionId(ID)))[0].text == SECRET_PLACE
        assert (await search(session, "flowerpot"))[0]["source_range"] == {"start": 1, "end": 1}


class Bare:
    """A store of sessions that keeps nothing of what gives way."""

    def __init__(self) -> None:
        inner = MemoryStore(clock=FixedClock())
        self.events, self.calls, self.sessions = inner.events, inner.calls, _BareSessions(inner.sessions)

    def close(self) -> None:
        """Do nothing."""


class _BareSessions:
    def __init__(self, inner: MemorySessions) -> None:
        self.save, self.load, self.list, self.delete = inner.save, inner.load, inner.list, inner.delete


@pytest.mark.req("BLT-06")
async def test_a_store_that_keeps_no_earlier_turns_stops_the_build_only_where_they_are_wanted(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="keeps what gives way to a summary"):
        async with house(tmp_path, store=Bare()):
            raise AssertionError
    async with house(tmp_path, store=Bare(), enable={"files.read"}) as app:
        session = await app.sessions.create()
        assert await fill(session, SECRET_PLACE) > 0
        assert session.record.messages[0] == SummaryMessage(text="They talked.")


@pytest.mark.timeout(180)
@pytest.mark.req("BLT-76", "SES-13")
async def test_a_process_killed_while_a_summary_is_stored_leaves_all_or_nothing_of_it(tmp_path: Path) -> None:
    steps = {"before": 1, "torn": 2, "after": 3}
    points = [(kind, number) for kind, step in steps.items() for number in range(1, 16, step)]
    folders = [tmp_path / f"{kind}-{number}" for kind, number in points]
    lines = "".join(f"{folder} {kind} {number}\n" for folder, (kind, number) in zip(folders, points, strict=True))
    command = [sys.executable, "-m", "tests.flows.compact_child"]
    ran = subprocess.run(command, cwd=ROOT, input=lines, stdout=subprocess.PIPE, text=True, check=True)
    ends = dict(zip(folders, map(int, ran.stdout.split()), strict=True))
    assert set(ends.values()) <= {0, -signal.SIGKILL}
    found: dict[bool, Path] = {}
    for folder, end in ends.items():
        if end:
            found[await whole_or_nothing(folder)] = folder
    assert set(found) == {False, True}
    for folder in (*found.values(), tmp_path / "torn-1"):
        await goes_on(folder)


async def whole_or_nothing(folder: Path) -> bool:
    """Open what the killed process left; tell whether the summary was stored, and hold the search against that."""
    store = JsonlStore(folder / "store", clock=FixedClock())
    async with house(folder, store=store, config=_config(state_dir=str(folder / "state"))) as app:
        session = await app.sessions.open(compact_child.ID)
        summarised = isinstance(session.record.messages[0], SummaryMessage)
        assert (session.record.archived > 0) is summarised
        kept = await store.sessions.earlier(SessionId(compact_child.ID))
        assert [one.number for one in kept] == list(range(1, session.record.archived + 1))
        assert bool(await search(session, "flowerpot")) is summarised
    store.close()
    return summarised


async def goes_on(folder: Path) -> None:
    """Let a later summary take over, also where a killed process left one half written."""
    store = JsonlStore(folder / "store", clock=FixedClock())
    async with house(folder, store=store, config=_config(state_dir=str(folder / "state"))) as app:
        session = await app.sessions.open(compact_child.ID)
        await fill(session)
        kept = await store.sessions.earlier(SessionId(compact_child.ID))
        assert [one.number for one in kept] == list(range(1, session.record.archived + 1))
        assert kept[0].text == SECRET_PLACE
        assert FILL in [one.text for one in kept]
        assert (await search(session, "flowerpot"))[0]["source_range"] == {"start": 1, "end": 1}
    store.close()


async def test_an_agent_without_a_session_keeps_nothing_of_what_gives_way() -> None:
    import hilt

    agent = hilt.Agent(catalog=hilt.Catalog(), model=model())
    for _ in range(12):
        result: RunResult = await agent.run(FILL)
        assert result.stop_reason is StopReason.END_TURN
    assert isinstance(agent.conversation.messages[0], SummaryMessage)
    assert agent.conversation.gone == []
