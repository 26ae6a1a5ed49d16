"""Asks that were open when a process ended: what they wait for, and what a verdict does (sessions.md 4)."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

import hilt
from hilt import VIA_SESSION
from hilt.app.stores import Store
from hilt.core.errors import ConflictError, HarnessFault, SessionBusyError
from hilt.core.session import SessionState, StopReason
from hilt.testing import ScriptedModel
from tests.flows.kit import FunctionTool, ask, call, says
from tests.flows.session_kit import (
    ID,
    STORES,
    Watched,
    asked,
    bodies,
    contents,
    ended,
    events_of,
    killed_copy,
    misnumbered,
    of_call,
    pending_id,
    record_of,
    unpaired,
)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    kind: str = request.param
    return STORES[kind](tmp_path)


@pytest.fixture
def jsonl(tmp_path: Path) -> Store:
    return STORES["jsonl"](tmp_path)


async def await_verdict(
    store: Store, folder: Path, calls: Sequence[object], tools: Sequence[FunctionTool], **options: object
) -> None:
    """Leave a session in the store that waits for a verdict on the first of the calls that needs one."""
    model = ScriptedModel([{"calls": list(calls)}])
    async with hilt.build(
        workspace=folder,
        store=store,
        model=model,
        tools=tools,
        approver=VIA_SESSION,
        **options,  # type: ignore[arg-type]  # keywords of build, checked there
    ) as app:
        session = await app.sessions.create(id=ID)
        await asked(session.prompt("go"))


@pytest.mark.req("SES-40", "SES-42", "DSP-70", "DSP-72")
async def test_a_verdict_after_a_restart_is_taken_and_its_call_executed_once(store: Store, tmp_path: Path) -> None:
    look, change = says("Look"), says("Change", read_only=False)
    await await_verdict(store, tmp_path, [call("Look", id_="r"), call("Change", id_="m")], [look, change])
    waiting = await record_of(store)
    assert waiting.state is SessionState.AWAITING
    assert waiting.pending is not None
    assert (len(look.calls), len(change.calls)) == (1, 0)
    model = ScriptedModel([{"text": "done"}])
    async with hilt.build(
        workspace=tmp_path, store=store, model=model, tools=[look, change], approver=VIA_SESSION
    ) as app:
        session = await app.sessions.open(ID)
        assert session.state is SessionState.AWAITING
        with pytest.raises(SessionBusyError):
            session.prompt("not yet")
        ask_id = pending_id(session)
        run = await session.approve(ask_id, "allow_once")
        assert run is not None
        with pytest.raises(ConflictError):
            await session.approve(ask_id, "allow_once")
        assert (await ended(run)).stop_reason is StopReason.END_TURN
        with pytest.raises(ConflictError):
            await session.approve(ask_id, "allow_once")
        assert contents(session.record.messages) == ["ok", "ok"]
    assert (len(look.calls), len(change.calls)) == (1, 1)
    events = await events_of(store)
    assert misnumbered(events) == []
    assert of_call(events, "r") == ["tool.call", "tool.start", "tool.end", "tool.result"]
    assert of_call(events, "m") == [
        "tool.call",
        "permission.ask",
        "permission.verdict",
        "tool.start",
        "tool.end",
        "tool.result",
    ]
    assert [event["type"] for event in events].count("result") == 1
    assert len({event["run"] for event in events}) == 1


@pytest.mark.req("SES-42", "DSP-50")
async def test_of_two_verdicts_at_once_after_a_restart_one_is_a_conflict(store: Store, tmp_path: Path) -> None:
    change = says("Change", read_only=False)
    await await_verdict(store, tmp_path, [call("Change", id_="m")], [change])
    model = ScriptedModel([{"text": "done"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[change], approver=VIA_SESSION) as app:
        session = await app.sessions.open(ID)
        ask_id = pending_id(session)
        conflicts = 0

        async def approve() -> None:
            nonlocal conflicts
            try:
                run = await session.approve(ask_id, "allow_once")
            except ConflictError:
                conflicts += 1
            else:
                assert run is not None
                await ended(run)

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(approve)
        assert conflicts == 2
        assert len(change.calls) == 1


@pytest.mark.req("SES-42", "DSP-48")
async def test_a_denial_after_a_restart_reaches_the_model(jsonl: Store, tmp_path: Path) -> None:
    change = says("Change", read_only=False)
    await await_verdict(jsonl, tmp_path, [call("Change", id_="m")], [change])
    model = ScriptedModel([{"text": "pity", "when": "no thanks"}])
    async with hilt.build(workspace=tmp_path, store=jsonl, model=model, tools=[change], approver=VIA_SESSION) as app:
        session = await app.sessions.open(ID)
        run = await session.approve(pending_id(session), "deny", message="no thanks")
        assert run is not None
        assert (await ended(run)).final_text == "pity"
        assert change.calls == []


@pytest.mark.req("PRM-54", "SES-40", "SES-42")
async def test_always_after_a_restart_is_granted_and_earlier_verdicts_are_not_asked_again(
    jsonl: Store, tmp_path: Path
) -> None:
    look = says("Look")
    calls = [call("Look", {"n": n}, id_=f"c{n}") for n in range(3)]
    model = ScriptedModel([{"calls": calls}])
    async with hilt.build(
        workspace=tmp_path, store=jsonl, model=model, tools=[look], rules=ask("Look"), approver=VIA_SESSION
    ) as app:
        session = await app.sessions.create(id=ID)
        run = session.prompt("go")
        await asked(run)
        await session.approve(pending_id(session), "allow_always")
        await asked(run)
        await session.approve(pending_id(session), "deny", message="never")
        await asked(run)
    model = ScriptedModel([{"text": "done"}])
    async with hilt.build(
        workspace=tmp_path, store=jsonl, model=model, tools=[look], rules=ask("Look"), approver=VIA_SESSION
    ) as app:
        session = await app.sessions.open(ID)
        assert len(list(session.record.grants)) == 1
        resumed = await session.approve(pending_id(session), "allow_always")
        assert resumed is not None
        assert "permission.ask" not in [body.kind for body in await bodies(resumed)]
        assert len(list(session.record.grants)) == 2
        first, second, third = contents(session.record.messages)
        assert (first, third) == ("ok", "ok")
        assert "never" in second
    asks = [event["call_id"] for event in await events_of(jsonl) if event["type"] == "permission.ask"]
    assert asks == ["c0", "c1", "c2"]
    events = await events_of(jsonl)
    for id_ in ("c0", "c1", "c2"):
        assert of_call(events, id_).count("tool.result") == 1


@pytest.mark.req("SES-01", "DSP-51", "DSP-70")
async def test_an_ask_that_waits_since_a_restart_can_be_cancelled(store: Store, tmp_path: Path) -> None:
    change = says("Change", read_only=False)
    await await_verdict(store, tmp_path, [call("Change", id_="m")], [change])
    model = ScriptedModel([{"text": "next"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[change], approver=VIA_SESSION) as app:
        session = await app.sessions.open(ID)
        ask_id = pending_id(session)
        await session.cancel()
        assert (session.state, session.pending_ask) == (SessionState.IDLE, None)
        with pytest.raises(ConflictError):
            await session.approve(ask_id, "allow_once")
        assert (await ended(session.prompt("go on"))).final_text == "next"
        assert unpaired(session.record.messages) == []
    events = await events_of(store)
    assert of_call(events, "m") == ["tool.call", "permission.ask", "permission.verdict", "tool.result"]
    results = [event["stop_reason"] for event in events if event["type"] == "result"]
    assert results == ["cancelled", "end_turn"]
    assert change.calls == []


@pytest.mark.req("SES-40")
async def test_an_application_that_ends_leaves_a_waiting_ask_as_it_is_and_tells_the_runs_reader(
    store: Store, tmp_path: Path
) -> None:
    change = says("Change", read_only=False)
    model = ScriptedModel([{"calls": [call("Change")]}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[change], approver=VIA_SESSION) as app:
        session = await app.sessions.create(id=ID)
        run = session.prompt("go")
        await asked(run)
    with anyio.fail_after(5), pytest.raises(hilt.RequestError, match="waits for its verdict"):
        await bodies(run)
    for _ in range(2):
        async with hilt.build(
            workspace=tmp_path, store=store, model=model, tools=[change], approver=VIA_SESSION
        ) as app:
            await app.sessions.open(ID)
        assert (await record_of(store)).state is SessionState.AWAITING
    kinds = [event["type"] for event in await events_of(store)]
    assert "result" not in kinds
    assert "permission.verdict" not in kinds


async def test_a_call_by_hand_that_waited_when_the_process_was_killed_is_given_up(jsonl: Store, tmp_path: Path) -> None:
    change = says("Change", read_only=False)
    model = ScriptedModel([{"text": "next"}])
    async with hilt.build(workspace=tmp_path, store=jsonl, model=model, tools=[change], approver=VIA_SESSION) as app:
        session = await app.sessions.create(id=ID)
        async with anyio.create_task_group() as group:
            waits = anyio.Event()
            session.subscribe(lambda event: waits.set() if event.body.kind == "permission.ask" else None)
            group.start_soon(session.call_tool, "Change")
            await waits.wait()
            killed = killed_copy(tmp_path)
            await session.approve(pending_id(session), "deny")
    async with hilt.build(workspace=tmp_path, store=killed, model=model, tools=[change], approver=VIA_SESSION) as app:
        session = await app.sessions.open(ID)
        assert (session.state, session.pending_ask) == (SessionState.IDLE, None)
        assert (await ended(session.prompt("go"))).final_text == "next"
        assert len(model.requests) == 1
    assert change.calls == []


async def test_a_log_that_cannot_be_read_leaves_the_ask_open_for_another_verdict(jsonl: Store, tmp_path: Path) -> None:
    change = says("Change", read_only=False)
    await await_verdict(jsonl, tmp_path, [call("Change", id_="m")], [change])
    store = Watched(jsonl)
    model = ScriptedModel([{"text": "done"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[change], approver=VIA_SESSION) as app:
        session = await app.sessions.open(ID)
        store.broken = True
        with pytest.raises(HarnessFault):
            await session.approve(pending_id(session), "allow_once")
        store.broken = False
        run = await session.approve(pending_id(session), "allow_once")
        assert run is not None
        assert (await ended(run)).final_text == "done"
        assert len(change.calls) == 1


@pytest.mark.req("DSP-70")
async def test_calls_behind_an_ask_are_taken_once_over_a_restart(jsonl: Store, tmp_path: Path) -> None:
    look, change = says("Look"), says("Change", read_only=False)
    await await_verdict(jsonl, tmp_path, [call("Change", id_="m"), call("Look", id_="r")], [look, change])
    model = ScriptedModel([{"text": "done"}])
    async with hilt.build(
        workspace=tmp_path, store=jsonl, model=model, tools=[look, change], approver=VIA_SESSION
    ) as app:
        session = await app.sessions.open(ID)
        run = await session.approve(pending_id(session), "allow_once")
        assert run is not None
        await ended(run)
    assert of_call(await events_of(jsonl), "r") == ["tool.call", "tool.start", "tool.end", "tool.result"]
