"""Runs of a session through `hilt.build`: their events and ends, leaving early, faults, single calls."""

import asyncio
from pathlib import Path

import anyio
import pytest

import hilt
from hilt.app.stores import Store
from hilt.core.errors import HarnessFault, RequestError
from hilt.core.event import Event, RunResult, RunStart, ToolSettled
from hilt.core.session import SessionId, SessionState, StopReason, ToolFilter
from hilt.core.tool import ToolCall
from hilt.ports.tool import Environment
from hilt.testing import ScriptedModel
from tests.flows.kit import Answering, FunctionTool, call, says
from tests.flows.session_kit import STORES, Failing, Held, bodies, ended, unpaired


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    kind: str = request.param
    return STORES[kind](tmp_path)


def say(*texts: str) -> ScriptedModel:
    return ScriptedModel([{"text": text} for text in texts])


async def test_the_events_of_a_run_are_complete_and_end_with_its_result(store: Store, tmp_path: Path) -> None:
    model = ScriptedModel([{"calls": [call("Look")]}, {"text": "done"}])
    told: list[Event] = []
    async with hilt.build(
        workspace=tmp_path, store=store, model=model, tools=[says("Look")], on_event=told.append
    ) as app:
        session = await app.sessions.create()
        run = session.prompt("go")
        result = await run.finished()
        events = [event async for event in run]
        assert events[0].body == RunStart(prompt="go", mode="default", model="scripted:test")
        assert events[-1].body == result
        assert events == told
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert {event.run for event in events} == {events[0].run}
        stored = await store.events.read(SessionId(session.id))
        assert [(event["seq"], event["type"]) for event in stored] == [(event.seq, event.body.kind) for event in events]
        assert [event async for event in run] == []


@pytest.mark.req("DSP-73")
async def test_leaving_a_run_early_cancels_it_and_its_result_says_so(store: Store, tmp_path: Path) -> None:
    held = Held()
    model = ScriptedModel([{"calls": [call("Hold")]}, {"text": "done"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[held.tool()]) as app:
        session = await app.sessions.create()
        with anyio.fail_after(5):
            async with session.prompt("go") as run:
                async for event in run:
                    if event.body.kind == "tool.start":
                        break
        assert run.result is not None
        assert run.result.stop_reason is StopReason.CANCELLED
        assert session.state is SessionState.IDLE
        assert unpaired(session.record.messages) == []
        stored = await store.events.read(SessionId(session.id))
        assert [event["type"] for event in stored].count("result") == 1
        assert stored[-1]["type"] == "result"
        assert (await ended(session.prompt("again"))).final_text == "done"


async def test_a_run_that_is_left_before_it_began_asks_no_model(store: Store, tmp_path: Path) -> None:
    model = say("first")
    async with hilt.build(workspace=tmp_path, store=store, model=model) as app:
        session = await app.sessions.create()
        with anyio.fail_after(5):
            async with session.prompt("never mind"):
                pass
        assert model.requests == []
        assert session.state is SessionState.IDLE
        assert (await ended(session.prompt("go"))).final_text == "first"


async def test_a_cancel_from_elsewhere_ends_the_run_for_its_reader(store: Store, tmp_path: Path) -> None:
    held = Held()
    model = ScriptedModel([{"calls": [call("Hold")]}, {"text": "done"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[held.tool()]) as app:
        session = await app.sessions.create()
        seen: list[object] = []
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:

                async def read() -> None:
                    seen.extend(await bodies(session.prompt("go")))

                group.start_soon(read)
                await held.inside.wait()
                await session.cancel()
                assert session.state is SessionState.IDLE
        assert isinstance(seen[-1], RunResult)
        assert seen[-1].stop_reason is StopReason.CANCELLED


async def test_a_store_that_fails_before_a_run_is_the_readers_exception_and_no_hang(tmp_path: Path) -> None:
    store = Failing()
    async with hilt.build(workspace=tmp_path, store=store, model=say("one")) as app:
        session = await app.sessions.create()
        store.broken = True
        run = session.prompt("go")
        with anyio.fail_after(5), pytest.raises(HarnessFault, match="disk is full"):
            await bodies(run)
        assert await run.finished() is None
        store.broken = False
        assert (await ended(session.prompt("again"))).final_text == "one"


async def test_a_store_that_fails_in_a_run_is_told_after_its_last_event(tmp_path: Path) -> None:
    store = Failing()

    async def break_(call: ToolCall, env: Environment) -> str:
        store.broken = True
        return "ok"

    model = ScriptedModel([{"calls": [call("Break")]}, {"text": "never"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[FunctionTool("Break", break_)]) as app:
        session = await app.sessions.create()
        kinds: list[str] = []
        session.subscribe(lambda event: kinds.append(event.body.kind))
        with anyio.fail_after(5), pytest.raises(HarnessFault, match="disk is full"):
            await bodies(session.prompt("go"))
        assert kinds[-1] == "result"
        assert kinds.count("result") == 1
        store.broken = False


async def test_leaving_the_application_ends_its_runs_and_leaves_no_task(store: Store, tmp_path: Path) -> None:
    held = Held()
    model = ScriptedModel([{"calls": [call("Hold")]}, {"text": "done"}])
    tasks = asyncio.all_tasks()
    with anyio.fail_after(10):
        async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[held.tool()]) as app:
            session = await app.sessions.create()
            run = session.prompt("go")
            await held.inside.wait()
        result = await run.finished()
    assert result is not None
    assert result.stop_reason is StopReason.CANCELLED
    assert asyncio.all_tasks() == tasks
    record = await store.sessions.load(SessionId(session.id))
    assert record is not None
    assert record.state is SessionState.CLOSED
    assert unpaired(record.messages) == []


async def test_an_application_that_is_cancelled_leaves_no_task_and_a_paired_session(
    store: Store, tmp_path: Path
) -> None:
    held = Held()
    model = ScriptedModel([{"calls": [call("Hold")]}, {"text": "done"}])
    ids: list[str] = []
    tasks = asyncio.all_tasks()
    with anyio.fail_after(10):
        with anyio.CancelScope() as scope:
            async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[held.tool()]) as app:
                session = await app.sessions.create()
                ids.append(session.id)
                run = session.prompt("go")
                await held.inside.wait()
                scope.cancel()
                await run.finished()
        assert scope.cancelled_caught
    assert asyncio.all_tasks() == tasks
    record = await store.sessions.load(SessionId(ids[0]))
    assert record is not None
    assert record.state is SessionState.CLOSED
    assert [event["type"] for event in await store.events.read(record.id)][-1] == "result"
    assert unpaired(record.messages) == []


async def test_one_call_goes_through_the_funnel_without_a_model(store: Store, tmp_path: Path) -> None:
    model = say()
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[says("Look"), says("No")]) as app:
        session = await app.sessions.create()
        await session.set(tools=ToolFilter(deny=("No",)))
        assert (await session.call_tool("Look")).content == "ok"
        assert (await session.call_tool("No")).is_error
        stored = await store.events.read(SessionId(session.id))
        kinds = [event["type"] for event in stored]
        assert kinds.count("tool.result") == kinds.count("result") == 2
        assert model.requests == []


async def test_one_call_can_be_cancelled(store: Store, tmp_path: Path) -> None:
    held = Held()
    async with hilt.build(workspace=tmp_path, store=store, model=say(), tools=[held.tool()]) as app:
        session = await app.sessions.create()
        seen: list[object] = []
        session.subscribe(lambda event: seen.append(event.body))
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:

                async def call_it() -> None:
                    with pytest.raises(RequestError, match="cancelled"):
                        await session.call_tool("Hold")

                group.start_soon(call_it)
                await held.inside.wait()
                await session.cancel()
        assert session.state is SessionState.IDLE
        (settled,) = [body for body in seen if isinstance(body, ToolSettled)]
        assert "cancelled" in settled.result.content
        last = seen[-1]
        assert isinstance(last, RunResult)
        assert last.stop_reason is StopReason.CANCELLED


async def test_a_store_that_fails_while_a_call_is_asked_about_is_the_callers_exception(tmp_path: Path) -> None:
    store = Failing()
    tool = says("Change", read_only=False)
    kinds: list[str] = []
    async with hilt.build(workspace=tmp_path, store=store, model=say(), tools=[tool], approver=Answering([])) as app:
        session = await app.sessions.create()

        def break_(event: Event) -> None:
            kinds.append(event.body.kind)
            store.broken = True

        session.subscribe(break_)
        with anyio.fail_after(5), pytest.raises(HarnessFault, match="disk is full"):
            await session.call_tool("Change")
        store.broken = False
    assert kinds == ["run.start", "tool.call", "tool.result", "result"]
    assert tool.calls == []
