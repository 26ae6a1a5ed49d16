"""What a session is after a restart, clean or not: states, calls cut off, numbers (sessions.md 4)."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import hilt
from hilt.app.stores import Store
from hilt.core.session import SessionId, SessionState, StopReason, ToolFilter
from hilt.core.tool import ToolCall
from hilt.engine.recovery import NOT_RUN, OUTCOME_UNKNOWN
from hilt.ports.tool import Environment
from hilt.testing import ScriptedModel
from tests.flows.kit import Answer, FunctionTool, allow, call, says
from tests.flows.session_kit import (
    ID,
    STORES,
    Held,
    Watched,
    contents,
    ended,
    events_of,
    killed_copy,
    misnumbered,
    of_call,
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


@pytest.mark.req("SES-40", "CAT-75")
async def test_an_idle_session_goes_on_with_mode_filter_and_limits(store: Store, tmp_path: Path) -> None:
    tools = [says("Look"), says("Gone"), says("Change", read_only=False)]
    model = ScriptedModel([{"text": "one"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=tools) as app:
        session = await app.sessions.create(
            id=ID,
            title="mine",
            mode="plan",
            tools=ToolFilter(deny=("Gone",)),
            limits={"max_turns": 1},
            system_prompt="Be",
        )
        await ended(session.prompt("first"))
    model = ScriptedModel([{"calls": [call("Gone"), call("Change"), call("Look")]}, {"text": "never"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=tools, rules=allow("Change")) as app:
        session = await app.sessions.open(ID)
        assert (session.record.title, session.mode) == ("mine", "plan")
        assert sorted(spec.name for spec in session.specs()) == ["Look", "ReadResult"]
        result = await ended(session.prompt("second"))
        assert result.stop_reason is StopReason.MAX_TURNS
        hidden, refused, read = contents(session.record.messages)
        assert "hides it" in hidden
        assert "plan mode" in refused
        assert read == "ok"
        assert model.requests[0].system == "Be"
        assert [getattr(message, "text", "") for message in model.requests[0].messages] == ["first", "one", "second"]


@pytest.mark.req("SES-45")
async def test_todays_tools_apply_within_the_stored_filter_and_old_results_stay_readable(
    store: Store, tmp_path: Path
) -> None:
    model = ScriptedModel([{"calls": [call("Old")]}, {"text": "one"}])
    old = [says("Old", "what was read"), says("Kept")]
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=old) as app:
        session = await app.sessions.create(id=ID, tools=ToolFilter(deny=("Hidden",)))
        await ended(session.prompt("first"))
    (tmp_path / "a.txt").write_text("text\n")
    model = ScriptedModel([{"calls": [call("Old"), call("New"), call("Hidden")]}, {"text": "two"}])
    new = [says("Kept"), says("New"), says("Hidden")]
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=new, enable=["files.read"]) as app:
        session = await app.sessions.open(ID)
        names = {spec.name for spec in session.specs()}
        assert {"Kept", "New", "Read"} <= names
        assert not {"Old", "Hidden"} & names
        await ended(session.prompt("second"))
        kept, gone, found, hidden = contents(session.record.messages)
        assert (kept, found) == ("what was read", "ok")
        assert "Tool not found: Old" in gone
        assert "hides it" in hidden
        assert "what was read" in contents(model.requests[0].messages)


@pytest.mark.req("DSP-72", "DSP-73")
async def test_numbers_and_turns_of_events_go_on_after_a_restart(store: Store, tmp_path: Path) -> None:
    for _ in range(3):
        model = ScriptedModel([{"calls": [call("Look")]}, {"text": "done"}])
        async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[says("Look")]) as app:
            known = await store.sessions.load(SessionId(ID))
            session = await (app.sessions.create(id=ID) if known is None else app.sessions.open(ID))
            await ended(session.prompt("go"))
    events = await events_of(store)
    assert misnumbered(events) == []
    assert [event["type"] for event in events].count("result") == 3
    assert len({event["run"] for event in events}) == 3
    assert [event["turn"] for event in events if event["type"] == "turn.start"] == [1, 2, 3, 4, 5, 6]
    assert all(event["time"] for event in events)


@pytest.mark.req("SES-41")
async def test_before_a_change_runs_its_start_is_in_the_log_and_flushed(tmp_path: Path) -> None:
    store = Watched(STORES["jsonl"](tmp_path))
    seen: list[tuple[bool, bool]] = []

    async def body(call: ToolCall, env: Environment) -> str:
        stored = await store.events.read(SessionId(ID))
        logged = any(event["type"] == "tool.start" and event["call_id"] == call.id for event in stored)
        seen.append((logged, call.id in store.flushed))
        return "done"

    change = FunctionTool("Change", body, read_only=False)
    model = ScriptedModel([{"calls": [call("Change") for _ in range(20)]}, {"text": "done"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[change], rules=allow("Change")) as app:
        session = await app.sessions.create(id=ID)
        await ended(session.prompt("go"))
    assert seen == [(True, True)] * 20


@pytest.mark.req("SES-24", "SES-43", "SES-44", "DSP-01", "DSP-70", "DSP-73", "DSP-85")
async def test_a_run_that_a_kill_cut_off_is_paired_told_and_ended_on_the_next_opening(
    jsonl: Store, tmp_path: Path
) -> None:
    held = Held()
    tools = [says("Look"), held.tool("Change", read_only=False), says("Later", read_only=False)]
    calls = [call("Look", id_="ended"), call("Change", id_="started"), call("Later", id_="waiting")]
    model = ScriptedModel([{"calls": calls}, {"text": "never"}])
    rules = allow("Change", "Later")
    async with hilt.build(workspace=tmp_path, store=jsonl, model=model, tools=tools, rules=rules) as app:
        session = await app.sessions.create(id=ID, mode="default")
        run = session.prompt("go")
        await held.inside.wait()
        killed = killed_copy(tmp_path)
        held.go.set()
        await run.aclose()
    before = await events_of(killed)
    model = ScriptedModel([{"text": "next"}])
    async with hilt.build(workspace=tmp_path, store=killed, model=model, tools=tools, rules=rules) as app:
        session = await app.sessions.open(ID)
        assert session.state is SessionState.IDLE
        assert unpaired(session.record.messages) == []
        done, unknown, not_run = contents(session.record.messages)
        assert done == "ok"
        assert json.loads(unknown) == {"error": "tool_error", "message": OUTCOME_UNKNOWN}
        assert json.loads(not_run) == {"error": "tool_error", "message": NOT_RUN}
        events = await events_of(killed)
        assert list(events[: len(before)]) == list(before)
        assert misnumbered(events) == []
        assert of_call(events, "ended") == ["tool.call", "tool.start", "tool.end", "tool.result"]
        assert of_call(events, "started") == ["tool.call", "tool.start", "tool.end", "tool.result"]
        assert of_call(events, "waiting") == ["tool.call", "tool.result"]
        (result,) = [event for event in events if event["type"] == "result"]
        assert result == events[-1]
        assert (result["stop_reason"], result["run"]) == ("error", before[-1]["run"])
        audit = await killed.calls.read(ID)
        assert [record["call_id"] for record in audit] == ["ended", "started", "waiting"]
        assert [record["result"] for record in audit] == [done, unknown, not_run]
        assert [record.get("code") for record in audit] == [None, "tool_error", "tool_error"]
        assert (await ended(session.prompt("go on"))).final_text == "next"
        assert contents(model.requests[0].messages) == [done, unknown, not_run]


@pytest.mark.req("SES-44", "DSP-73")
async def test_a_recovery_that_is_cut_off_itself_ends_the_run_once(jsonl: Store, tmp_path: Path) -> None:
    held = Held()
    answers: list[Answer] = [{"calls": [call("Change", id_="a")]}, {"text": "never"}]
    tools, rules = [held.tool("Change", read_only=False)], allow("Change")
    model = ScriptedModel(answers)
    async with hilt.build(workspace=tmp_path, store=jsonl, model=model, tools=tools, rules=rules) as app:
        session = await app.sessions.create(id=ID)
        run = session.prompt("go")
        await held.inside.wait()
        killed = killed_copy(tmp_path)
        await run.aclose()
    stale = await record_of(killed)
    async with hilt.build(workspace=tmp_path, store=killed, model=model, tools=tools) as app:
        await app.sessions.open(ID)
    # The log was written and the record was not: it is put back to where the killed process left it.
    current = await record_of(killed)
    again = await killed.sessions.save(replace(stale, version=current.version))
    assert again.state is SessionState.RUNNING
    async with hilt.build(workspace=tmp_path, store=killed, model=model, tools=tools) as app:
        session = await app.sessions.open(ID)
        assert session.state is SessionState.IDLE
        assert unpaired(session.record.messages) == []
    events = await events_of(killed)
    assert misnumbered(events) == []
    assert [event["type"] for event in events].count("result") == 1
    assert of_call(events, "a") == ["tool.call", "tool.start", "tool.end", "tool.result"]
    assert [record["call_id"] for record in await killed.calls.read(ID)] == ["a"]


async def test_a_session_that_goes_on_in_another_workspace_is_told_of(
    jsonl: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "other").mkdir()
    model = ScriptedModel([{"text": "never"}])
    async with hilt.build(workspace=tmp_path, store=jsonl, model=model) as app:
        await app.sessions.create(id=ID)
    for place, told in ((tmp_path, 0), (tmp_path / "other", 1)):
        async with hilt.build(workspace=place, store=jsonl, model=model) as app:
            await app.sessions.open(ID)
        assert caplog.text.count("session_of_another_workspace") == told


@pytest.mark.req("DSP-86")
async def test_a_recorder_that_fails_keeps_no_session_from_being_recovered(
    jsonl: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        calls = 0

        async def tool_call(self, *_: object, **__: object) -> None:
            self.calls += 1
            raise OSError("full")

    held = Held()
    answers: list[Answer] = [{"calls": [call("Change", id_="a")]}, {"text": "never"}]
    tools, rules, broken = [held.tool("Change", read_only=False)], allow("Change"), Broken()
    model = ScriptedModel(answers)
    async with hilt.build(workspace=tmp_path, store=jsonl, model=model, tools=tools, rules=rules) as app:
        run = (await app.sessions.create(id=ID)).prompt("go")
        await held.inside.wait()
        killed = killed_copy(tmp_path)
        await run.aclose()
    async with hilt.build(workspace=tmp_path, store=killed, model=model, tools=tools, recorder=broken) as app:
        session = await app.sessions.open(ID)
        assert session.state is SessionState.IDLE
        assert unpaired(session.record.messages) == []
    assert broken.calls == 1
    assert caplog.text.count("tool_call_recorder_failed") == 1
