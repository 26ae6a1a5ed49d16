"""Opening, closing, deleting and prompting one session at the same time: one after another, and nothing gets lost."""

from pathlib import Path

import anyio
import pytest

import hilt
from hilt.core.errors import ConflictError, RequestError, SessionNotFoundError
from hilt.core.session import SessionState
from hilt.engine.keyed_turns import KeyedTurns
from hilt.testing import ScriptedModel
from tests.flows.kit import allow, call
from tests.flows.session_kit import STORES, Held, events_of

ROUNDS = 25


def model() -> ScriptedModel:
    return ScriptedModel([{"text": "done"}] * 500)


@pytest.mark.req("SES-01", "SES-05")
@pytest.mark.parametrize("kind", STORES)
async def test_closing_or_deleting_at_the_same_time_is_no_error(tmp_path: Path, kind: str) -> None:
    async with hilt.build(workspace=tmp_path, store=STORES[kind](tmp_path), model=model()) as app:
        for _ in range(ROUNDS):
            session = await app.sessions.create()
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(app.sessions.close, session.id)
            assert (await app.sessions.show(session.id)).state is SessionState.CLOSED
            told: list[str] = []

            async def delete(id_: str, told: list[str] = told) -> None:
                try:
                    await app.sessions.delete(id_)
                except SessionNotFoundError:
                    told.append("gone")

            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(delete, session.id)
            assert told == ["gone", "gone"]


@pytest.mark.req("SES-02", "SES-01")
@pytest.mark.parametrize("kind", STORES)
async def test_each_prompt_that_is_taken_beside_a_close_has_its_start_and_its_result(tmp_path: Path, kind: str) -> None:
    store, refused = STORES[kind](tmp_path), set[str]()
    async with hilt.build(workspace=tmp_path, store=store, model=model()) as app:
        for _ in range(ROUNDS):
            id_ = (await app.sessions.create()).id
            taken: list[str] = []

            async def prompt(id_: str = id_, taken: list[str] = taken) -> None:
                try:
                    run = (await app.sessions.open(id_)).prompt("go")
                except RequestError as exc:
                    refused.add(exc.code)
                    return
                taken.append(run.id)
                await run.finished()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(app.sessions.close, id_)
                tasks.start_soon(prompt)
                tasks.start_soon(prompt)
                tasks.start_soon(app.sessions.close, id_)
            events = await events_of(store, id_)
            for kind_ in ("run.start", "result"):
                assert sorted(str(event["run"]) for event in events if event["type"] == kind_) == sorted(taken)
            assert not any("restarted" in str(event.get("error")) for event in events)
    assert refused <= {"busy", "conflict"}


@pytest.mark.req("SES-06")
@pytest.mark.parametrize("kind", STORES)
async def test_a_session_that_is_deleted_beside_a_prompt_does_not_live_on(tmp_path: Path, kind: str) -> None:
    refused: set[str] = set()
    async with hilt.build(workspace=tmp_path, store=STORES[kind](tmp_path), model=model()) as app:
        for _ in range(ROUNDS):
            id_ = (await app.sessions.create()).id

            async def prompt(id_: str = id_) -> None:
                try:
                    await (await app.sessions.open(id_)).prompt("go").finished()
                except RequestError as exc:
                    refused.add(exc.code)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(prompt)
                tasks.start_soon(app.sessions.delete, id_)
                tasks.start_soon(prompt)
            with pytest.raises(SessionNotFoundError):
                await app.sessions.open(id_)
            assert app.sessions.open_sessions == []
    assert refused <= {"busy", "conflict", "not_found"}


@pytest.mark.req("SES-01")
async def test_a_session_that_is_being_closed_takes_no_prompt_and_whoever_opens_it_waits(tmp_path: Path) -> None:
    held = Held()
    script = ScriptedModel([{"calls": [call("Hold")]}, {"text": "again"}])
    async with hilt.build(workspace=tmp_path, model=script, tools=[held.tool()], rules=allow("Hold")) as app:
        session = await app.sessions.create()
        run = session.prompt("go")
        await held.inside.wait()
        refused: list[str] = []

        async def follow() -> None:
            async for _ in run:
                pass
            # The run that the close cancelled has ended, the close has not.
            try:
                session.prompt("more")
            except ConflictError as exc:
                refused.append(str(exc))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            tasks.start_soon(app.sessions.close, session.id)
        assert refused == [f"session {session.id!r} was closed; open it again"]
        again = await app.sessions.open(session.id)
        assert again is not session
        await again.prompt("more").finished()
        assert again.state is SessionState.IDLE


async def test_turns_of_one_key_follow_one_another_and_leave_nothing() -> None:
    turns, inside = KeyedTurns(), list[str]()

    async def take(key: str) -> None:
        async with turns.of(key):
            assert key not in inside
            inside.append(key)
            await anyio.lowlevel.checkpoint()
            inside.remove(key)

    async with anyio.create_task_group() as tasks:
        for key in "abab":
            tasks.start_soon(take, key)
        await anyio.wait_all_tasks_blocked()
    assert not turns.taken("a")
    async with turns.of("a"):
        assert turns.taken("a")
        assert not turns.taken("b")
