"""The life of sessions through `hilt.build`: states, ids, closing, changes, runs and their ends (sessions.md 1)."""

import os
import re
import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

import hilt
from hilt.adapters.inmemory.store import MemoryStore
from hilt.app.stores import Store
from hilt.core.errors import ConflictError, RequestError, SessionBusyError, SessionNotFoundError
from hilt.core.mcp import McpServerSpec
from hilt.core.session import SessionId, SessionState, StopReason, ToolFilter
from hilt.core.tool import ToolCall
from hilt.engine.session import Session
from hilt.ports.tool import Environment
from hilt.testing import ManualClock, ScriptedModel
from tests.flows.kit import FunctionTool, allow, call, says
from tests.flows.session_kit import STORES, Held, contents, ended, unpaired
from tests.mcp_servers.kit import SDK_SERVER, serving


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    kind: str = request.param
    return STORES[kind](tmp_path)


def say(*texts: str) -> ScriptedModel:
    return ScriptedModel([{"text": text} for text in texts])


@pytest.mark.req("SES-01")
async def test_a_session_is_idle_runs_is_idle_again_closes_and_is_gone(store: Store, tmp_path: Path) -> None:
    held = Held()
    model = ScriptedModel([{"calls": [call("Hold")]}, {"text": "done"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[held.tool()]) as app:
        session = await app.sessions.create()
        assert (await app.sessions.show(session.id)).state is SessionState.IDLE
        async with session.prompt("go") as run:
            await held.inside.wait()
            assert (await app.sessions.show(session.id)).state is SessionState.RUNNING
            held.go.set()
            await run.finished()
        assert (await app.sessions.show(session.id)).state is SessionState.IDLE
        await session.close()
        assert (await app.sessions.show(session.id)).state is SessionState.CLOSED
        await app.sessions.delete(session.id)
        with pytest.raises(SessionNotFoundError):
            await app.sessions.show(session.id)


@pytest.mark.req("SES-01")
async def test_what_the_picture_does_not_have_is_a_conflict_and_changes_nothing(store: Store, tmp_path: Path) -> None:
    async with hilt.build(workspace=tmp_path, store=store, model=say("done")) as app:
        session = await app.sessions.create()
        before = await app.sessions.show(session.id)
        with pytest.raises(ConflictError):
            await session.approve("ask_1", "allow_once")
        await session.cancel()
        assert await app.sessions.show(session.id) == before


@pytest.mark.req("SES-01")
async def test_delete_ends_a_run_first(store: Store, tmp_path: Path) -> None:
    held = Held()
    model = ScriptedModel([{"calls": [call("Hold")]}, {"text": "done"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[held.tool()]) as app:
        session = await app.sessions.create()
        run = session.prompt("go")
        await held.inside.wait()
        await app.sessions.delete(session.id)
        result = await run.finished()
        assert result is not None
        assert result.stop_reason is StopReason.CANCELLED
        assert await store.sessions.load(SessionId(session.id)) is None
        assert await store.events.read(SessionId(session.id)) == []


@pytest.mark.req("SES-01")
async def test_close_ends_a_run_and_the_session_is_closed_not_idle(store: Store, tmp_path: Path) -> None:
    held = Held()
    model = ScriptedModel([{"calls": [call("Hold")]}, {"text": "done"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[held.tool()]) as app:
        session = await app.sessions.create()
        run = session.prompt("go")
        await held.inside.wait()
        await session.close()
        result = await run.finished()
        assert result is not None
        assert result.stop_reason is StopReason.CANCELLED
        record = await app.sessions.show(session.id)
        assert record.state is SessionState.CLOSED
        assert unpaired(record.messages) == []


@pytest.mark.req("SES-02")
async def test_a_second_prompt_is_busy_until_the_first_has_its_result(store: Store, tmp_path: Path) -> None:
    held = Held()
    model = ScriptedModel([{"calls": [call("Hold")]}, {"text": "one"}, {"text": "two"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[held.tool()]) as app:
        session = await app.sessions.create()
        run = session.prompt("go")
        with pytest.raises(SessionBusyError):
            session.prompt("at once")
        await held.inside.wait()
        with pytest.raises(SessionBusyError):
            session.prompt("while a tool runs")
        with pytest.raises(SessionBusyError):
            await session.call_tool("Hold")
        held.go.set()
        await run.finished()
        assert (await ended(session.prompt("again"))).final_text == "two"


@pytest.mark.req("SES-03")
async def test_an_id_is_made_or_given_and_a_given_one_exists_once(store: Store, tmp_path: Path) -> None:
    async with hilt.build(workspace=tmp_path, store=store, model=say()) as app:
        made = await app.sessions.create()
        assert re.fullmatch(r"ses_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}", made.id)
        longest = "é" * 128
        assert (await app.sessions.create(id=longest, title="mine")).id == longest
        with pytest.raises(ConflictError):
            await app.sessions.create(id=longest, title="other")
        assert (await app.sessions.show(longest)).title == "mine"


@pytest.mark.req("SES-03")
@pytest.mark.parametrize("bad", ["", "x" * 257, "é" * 129, "a\nb", "a\x7fb", "a\x85b", "\ud800"])
async def test_an_id_that_is_none_is_refused(tmp_path: Path, bad: str) -> None:
    async with hilt.build(workspace=tmp_path, model=say()) as app:
        with pytest.raises(RequestError):
            await app.sessions.create(id=bad)
        assert await app.sessions.list() == ([], "")


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "yolo"},
        {"profile": "root"},
        {"enable": ["shell"]},
        {"limits": {"max_turns": 10**9}},
        {"limits": {"max_mice": 1}},
    ],
)
async def test_a_session_that_cannot_be_made_leaves_no_record(tmp_path: Path, wrong: Mapping[str, object]) -> None:
    async with hilt.build(workspace=tmp_path, model=say()) as app:
        with pytest.raises(RequestError):
            await app.sessions.create(**wrong)  # type: ignore[arg-type]  # the wrong values are the test
        assert await app.sessions.list() == ([], "")
        assert app.sessions.open_sessions == []


@pytest.mark.req("SES-04", "SES-05")
async def test_closing_ends_client_servers_and_opening_again_goes_on_without_them(tmp_path: Path) -> None:
    add = {"calls": [call("mcp__far__add", {"a": 1, "b": 2})]}
    model = ScriptedModel([add, {"text": "one"}, add, {"text": "two"}])
    tools, rules = [says("Look")], allow("mcp__far__*")
    with serving([str(SDK_SERVER)], tmp_path / "log") as served:
        spec = McpServerSpec(name="far", url=served.url, connect_timeout_s=10.0)
        async with hilt.build(workspace=tmp_path, model=model, tools=tools, rules=rules) as app:
            session = await app.sessions.create(mcp_servers=[spec])
            await ended(session.prompt("add"))
            assert contents(session.record.messages)[0].startswith("3")
            with anyio.fail_after(10):
                await session.close()
                await session.close()
            record = await app.sessions.show(session.id)
            assert record.state is SessionState.CLOSED
            assert served.url not in repr(record)
            again = await app.sessions.open(session.id)
            await ended(again.prompt("add once more"))
            assert '"tool_unavailable"' in contents(again.record.messages)[-1]
            assert again.state is SessionState.IDLE


@pytest.mark.req("SES-05")
async def test_closing_twice_is_no_error_and_a_prompt_opens_it_again(store: Store, tmp_path: Path) -> None:
    async with hilt.build(workspace=tmp_path, store=store, model=say("one", "two")) as app:
        session = await app.sessions.create(mode="plan")
        await ended(session.prompt("first"))
        await session.close()
        version = session.record.version
        await session.close()
        assert session.record.version == version
        again = await app.sessions.open(session.id)
        assert again.record.state is SessionState.CLOSED
        assert (await ended(again.prompt("second"))).final_text == "two"
        assert (await app.sessions.show(session.id)).state is SessionState.IDLE
        assert again.mode == "plan"
        assert [getattr(message, "text", "") for message in again.record.messages] == ["first", "one", "second", "two"]


@pytest.mark.req("SES-07", "CAT-74")
async def test_mode_filter_and_limits_set_in_a_run_hold_from_the_next_request_on(store: Store, tmp_path: Path) -> None:
    sessions: list[Session] = []

    async def change(call: ToolCall, env: Environment) -> str:
        await sessions[0].set(mode="plan", tools=ToolFilter(deny=("Peek",)), limits={"max_turns": 2})
        return "changed"

    tools = [FunctionTool("Change", change), says("Peek"), says("Write2", read_only=False)]
    first = [call("Change"), call("Write2"), call("Peek")]
    model = ScriptedModel([{"calls": first}, {"calls": [call("Write2"), call("Peek")]}, {"text": "never"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=tools, rules=allow("Write2")) as app:
        session = await app.sessions.create()
        sessions.append(session)
        result = await ended(session.prompt("go"))
        texts = contents(session.record.messages)
        assert texts[:3] == ["changed", "ok", "ok"]
        assert "plan mode" in texts[3]
        assert "hides it" in texts[4]
        assert [sorted(spec.name for spec in request.tools) for request in model.requests] == [
            ["Change", "Peek", "ReadResult", "Write2"],
            ["Change", "ReadResult"],
        ]
        assert result.stop_reason is StopReason.MAX_TURNS
        stored = await app.sessions.show(session.id)
        assert (stored.mode, stored.tools.deny, stored.limits) == ("plan", ("Peek",), {"max_turns": 2})


async def test_a_refused_change_changes_nothing(tmp_path: Path) -> None:
    async with hilt.build(workspace=tmp_path, model=say()) as app:
        session = await app.sessions.create(title="old")
        for wrong in ({"mode": "yolo"}, {"limits": {"max_turns": 10**9}}):
            values: dict[str, object] = {"title": "new", "mode": "plan", **wrong}
            with pytest.raises(RequestError):
                await session.set(**values)  # type: ignore[arg-type]  # the wrong values are the test
        await session.set()
        assert (session.mode, session.record.title) == ("default", "old")
        await session.set(title="new")
        assert (await app.sessions.show(session.id)).title == "new"


@pytest.mark.req("SES-08")
async def test_a_session_that_was_idle_for_long_is_closed_and_one_that_runs_is_not(tmp_path: Path) -> None:
    clock, held = ManualClock(), Held()
    model = ScriptedModel([{"calls": [call("Hold")]}, {"text": "done"}])
    store = MemoryStore(clock=clock)
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[held.tool()], clock=clock) as app:
        idle = await app.sessions.create()
        clock.advance(1)
        running = await app.sessions.create()
        clock.advance(1798)
        assert await app.sessions.close_idle() == 0
        run = running.prompt("go")
        clock.advance(1)
        assert await app.sessions.close_idle() == 1
        assert (await app.sessions.show(idle.id)).state is SessionState.CLOSED
        await held.inside.wait()
        clock.advance(4000)
        assert await app.sessions.close_idle() == 0
        held.go.set()
        await run.finished()
        clock.advance(1799)
        assert await app.sessions.close_idle() == 0
        clock.advance(1)
        assert await app.sessions.close_idle() == 1
        assert app.sessions.open_sessions == []


@pytest.mark.req("SES-08")
async def test_a_session_with_a_running_job_is_not_closed_for_being_idle(tmp_path: Path) -> None:
    clock = ManualClock()
    model = ScriptedModel([{"calls": [call("shell", {"command": "cat gate", "background": True})]}, {"text": "done"}])
    os.mkfifo(tmp_path / "gate")
    options = {"enable": {"shell"}, "rules": allow("shell"), "clock": clock, "model": model}
    async with hilt.build(workspace=tmp_path, **options) as app:  # type: ignore[arg-type]  # the options of build
        session = await app.sessions.create()
        await ended(session.prompt("go"))
        clock.advance(4000)
        assert await app.sessions.close_idle() == 0
        await anyio.to_thread.run_sync((tmp_path / "gate").write_text, "open")
        with anyio.fail_after(10):
            while not session.at_rest:
                await anyio.lowlevel.checkpoint()
        assert await app.sessions.close_idle() == 0  # it has been idle since the job ended
        clock.advance(4000)
        assert await app.sessions.close_idle() == 1


@pytest.mark.req("SES-05")
async def test_one_that_is_not_open_is_closed_as_it_is_stored(store: Store, tmp_path: Path) -> None:
    async with hilt.build(workspace=tmp_path, store=store, model=say()) as app:
        await app.sessions.create(id="s", title="kept")
    record = await store.sessions.load(SessionId("s"))
    assert record is not None
    await store.sessions.save(replace(record, state=SessionState.IDLE))
    async with hilt.build(workspace=tmp_path, store=store, model=say()) as app:
        await app.sessions.close("s")
        await app.sessions.close("s")
        assert app.sessions.open_sessions == []
        shown = await app.sessions.show("s")
        assert (shown.state, shown.title) == (SessionState.CLOSED, "kept")
        with pytest.raises(SessionNotFoundError):
            await app.sessions.close("none")


@pytest.mark.req("SES-09")
async def test_a_thousand_idle_sessions_cost_under_64_kib_each(tmp_path: Path) -> None:
    async with hilt.build(workspace=tmp_path, model=say(), tools=[says("Look")], enable=["files"]) as app:
        await app.sessions.create()
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            for _ in range(1000):
                await app.sessions.create()
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert (after - before) / 1000 < 64 * 1024


@pytest.mark.req("SES-12")
async def test_with_the_memory_store_nothing_is_written_to_a_disk(tmp_path: Path, own_environment: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("one\n")
    home = sorted(own_environment.rglob("*"))
    calls = [call("Read", {"path": "a.txt"}), call("Grep", {"pattern": "one"}), call("Tell")]
    model = ScriptedModel([{"calls": calls}, {"text": "done"}])
    tools, rules = [says("Tell", read_only=False)], allow("Tell")
    async with hilt.build(
        workspace=tmp_path / "work", store="memory:", model=model, enable=["files"], tools=tools, rules=rules
    ) as app:
        session = await app.sessions.create()
        assert (await ended(session.prompt("go"))).final_text == "done"
        assert len(contents(session.record.messages)) == 3
        await session.close()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.txt", "work"]
    assert sorted(own_environment.rglob("*")) == home
