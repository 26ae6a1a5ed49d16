"""Sessions that nobody used for long are removed, where that is wanted; one that awaits a verdict never is."""

from datetime import timedelta
from pathlib import Path

import anyio
import pytest

import hilt
from hilt.app.config import Config
from hilt.app.settings import SessionSettings
from hilt.app.stores import Store
from hilt.core.session import SessionId
from hilt.engine.retention import CLEAN_S, Retention
from hilt.testing import ManualClock, ScriptedModel
from tests.flows.kit import allow, ask, call, says
from tests.flows.session_kit import STORES, Held, asked, ended


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    kind: str = request.param
    return STORES[kind](tmp_path)


@pytest.mark.req("SES-96")
async def test_what_was_not_used_for_so_long_is_removed_but_for_what_awaits_or_runs(
    tmp_path: Path, store: Store
) -> None:
    clock, held = ManualClock(), Held()
    model = ScriptedModel([{"calls": [call("Send")]}, {"calls": [call("Hold")]}, {"text": "done"}, {"text": "done"}])
    tools = [says("Send", read_only=False), held.tool()]
    options = {"tools": tools, "rules": [*ask("Send"), *allow("Hold")], "approver": hilt.VIA_SESSION}
    async with hilt.build(workspace=tmp_path, store=store, model=model, clock=clock, **options) as app:  # type: ignore[arg-type]  # the options of build
        for name in ("closed", "idle", "awaits", "runs", "used"):
            await app.sessions.create(id=name)
        await app.sessions.close("closed")
        waiting = (await app.sessions.open("awaits")).prompt("go")
        await asked(waiting)
        running = (await app.sessions.open("runs")).prompt("go")
        await held.inside.wait()
        clock.advance(timedelta(days=30).total_seconds())
        await ended((await app.sessions.open("used")).prompt("go"))
        assert await Retention(app.sessions, clock=clock, days=31).remove_unused() == 0
        clock.advance(timedelta(days=1, seconds=1).total_seconds())
        assert await Retention(app.sessions, clock=clock, days=31).remove_unused() == 2
        page, _ = await app.sessions.list()
        assert sorted(record.id for record in page) == ["awaits", "runs", "used"]
        assert await store.events.read(SessionId("closed")) == []
        held.go.set()
        await ended(running)
        await waiting.aclose()


@pytest.mark.req("SES-96")
async def test_by_itself_it_is_done_every_hour_and_only_where_it_is_wanted(tmp_path: Path) -> None:
    assert CLEAN_S == 3600
    assert SessionSettings().retention_days is None
    store, clock = STORES["memory"](tmp_path), ManualClock()
    async with hilt.build(workspace=tmp_path, store=store, model=ScriptedModel([]), clock=clock) as app:
        await app.sessions.create(id="old")
    clock.advance(timedelta(days=400).total_seconds())
    for retention_days, left in ((None, 1), (500.0, 1), (399.0, 0)):
        config = Config(sessions=SessionSettings(retention_days=retention_days))
        options = {"config": config, "store": store, "model": ScriptedModel([]), "clock": clock}
        async with hilt.build(workspace=tmp_path, **options) as app:  # type: ignore[arg-type]  # the options of build
            with anyio.move_on_after(0.2 if left else 10):
                while len((await app.sessions.list())[0]) != 0:
                    await anyio.lowlevel.checkpoint()
            assert len((await app.sessions.list())[0]) == left


@pytest.mark.req("SES-96")
async def test_one_that_cannot_be_removed_keeps_no_other_and_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    one, other = STORES["jsonl"](tmp_path), STORES["jsonl"](tmp_path)
    model = ScriptedModel([])
    async with hilt.build(workspace=tmp_path, store=one, model=model, clock=clock) as app:
        await app.sessions.create(id="held elsewhere")
        async with hilt.build(workspace=tmp_path, store=other, model=model, clock=clock) as second:
            await second.sessions.create(id="free")
            clock.advance(timedelta(days=2).total_seconds())
            assert await Retention(second.sessions, clock=clock, days=1).remove_unused() == 1
        page, _ = await app.sessions.list()
        assert [record.id for record in page] == ["held elsewhere"]
    assert "session_not_removed session=held elsewhere" in caplog.text
