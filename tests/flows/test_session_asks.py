"""Asks that a session's caller answers by `approve`: verdicts, conflicts, cancels, grants (dispatch.md 5)."""

import json
from pathlib import Path

import anyio
import pytest

import hilt
from hilt import VIA_SESSION
from hilt.app.stores import Store
from hilt.core.errors import ConflictError, RequestError, SessionBusyError
from hilt.core.event import AskClosed, AskOpened
from hilt.core.session import SessionId, SessionState, StopReason
from hilt.engine.session import Session
from hilt.ports.permission import Ask, Verdict
from hilt.testing import ScriptedModel
from tests.app.places import Machine
from tests.flows.kit import ask, call, says
from tests.flows.session_kit import STORES, asked, bodies, contents, ended, pending_id, unpaired


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    kind: str = request.param
    return STORES[kind](tmp_path)


def wanting(*calls: object) -> ScriptedModel:
    return ScriptedModel([{"calls": list(calls)}, {"text": "done"}])


@pytest.mark.req("DSP-45", "SES-01")
async def test_an_ask_waits_in_the_session_and_its_verdict_goes_on_with_the_run(store: Store, tmp_path: Path) -> None:
    tool = says("Change", read_only=False)
    model = wanting(call("Change", {"at": "x"}, id_="a"))
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[tool], approver=VIA_SESSION) as app:
        session = await app.sessions.create()
        run = session.prompt("go")
        opened = (await asked(run))[-1].body
        assert isinstance(opened, AskOpened)
        assert (opened.call_id, opened.tool, opened.ask_id) == ("a", "Change", pending_id(session))
        assert opened.reason
        assert json.loads(opened.arguments) == {"at": "x"}
        stored = await app.sessions.show(session.id)
        assert stored.state is SessionState.AWAITING
        assert stored.pending is not None
        assert (stored.pending.ask_id, dict(stored.pending.arguments)) == (opened.ask_id, {"at": "x"})
        with pytest.raises(SessionBusyError):
            session.prompt("meanwhile")
        assert tool.calls == []
        assert await session.approve(opened.ask_id, "allow_once") is None
        rest = await bodies(run)
        assert AskClosed(ask_id=opened.ask_id, call_id="a", verdict="allow_once") in rest
        assert len(tool.calls) == 1
        stored = await app.sessions.show(session.id)
        assert (stored.state, stored.pending, stored.grants) == (SessionState.IDLE, None, ())


@pytest.mark.req("DSP-47")
@pytest.mark.parametrize("unknown", ["allow", "ALLOW_ONCE", "yes", ""])
async def test_an_unknown_verdict_is_its_senders_error_and_the_ask_stays_open(tmp_path: Path, unknown: str) -> None:
    tool = says("Change", read_only=False)
    async with hilt.build(workspace=tmp_path, model=wanting(call("Change")), tools=[tool], approver=VIA_SESSION) as app:
        session = await app.sessions.create()
        run = session.prompt("go")
        await asked(run)
        with pytest.raises(RequestError, match="allow_always, allow_once, deny"):
            await session.approve(pending_id(session), unknown)
        assert session.state is SessionState.AWAITING
        await session.approve(pending_id(session), "allow_once")
        await bodies(run)
        assert len(tool.calls) == 1


@pytest.mark.req("DSP-48")
async def test_a_denial_takes_the_message_to_the_model_and_the_other_call_is_asked_next(tmp_path: Path) -> None:
    tool = says("Change", read_only=False)
    model = wanting(call("Change", {"n": 1}), call("Change", {"n": 2}))
    async with hilt.build(workspace=tmp_path, model=model, tools=[tool], approver=VIA_SESSION) as app:
        session = await app.sessions.create()
        run = session.prompt("go")
        await asked(run)
        await session.approve(pending_id(session), "deny", message="not on Fridays")
        await asked(run)
        await session.approve(pending_id(session), "allow_once")
        await bodies(run)
        denied, allowed = contents(session.record.messages)
        assert json.loads(denied)["error"] == "access_denied"
        assert "not on Fridays" in denied
        assert allowed == "ok"


@pytest.mark.req("DSP-46")
async def test_one_ask_of_a_run_is_open_at_a_time_in_the_order_of_the_calls(tmp_path: Path) -> None:
    calls = [call("Look", {"n": n}, id_=f"c{n}") for n in range(3)]
    async with hilt.build(
        workspace=tmp_path, model=wanting(*calls), tools=[says("Look")], rules=ask("Look"), approver=VIA_SESSION
    ) as app:
        session = await app.sessions.create()
        order: list[str] = []
        async with session.prompt("go") as run:
            async for event in run:
                if isinstance(event.body, AskOpened):
                    order.append(f"+{event.body.call_id}")
                    await session.approve(event.body.ask_id, "allow_once")
                elif isinstance(event.body, AskClosed):
                    order.append(f"-{event.body.call_id}")
        assert order == ["+c0", "-c0", "+c1", "-c1", "+c2", "-c2"]


@pytest.mark.req("DSP-50")
async def test_the_first_verdict_counts_and_a_second_or_one_for_an_unknown_ask_is_a_conflict(tmp_path: Path) -> None:
    tool = says("Change", read_only=False)
    async with hilt.build(workspace=tmp_path, model=wanting(call("Change")), tools=[tool], approver=VIA_SESSION) as app:
        session = await app.sessions.create()
        run = session.prompt("go")
        await asked(run)
        first = pending_id(session)
        with pytest.raises(ConflictError):
            await session.approve("ask_unknown", "allow_once")
        await session.approve(first, "deny")
        with pytest.raises(ConflictError):
            await session.approve(first, "allow_once")
        await bodies(run)
        with pytest.raises(ConflictError):
            await session.approve(first, "allow_once")
        assert tool.calls == []


@pytest.mark.req("DSP-51", "SES-01")
async def test_a_cancel_retracts_the_open_ask_and_a_late_verdict_is_a_conflict(store: Store, tmp_path: Path) -> None:
    tool = says("Change", read_only=False)
    model = wanting(call("Change", id_="a"))
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[tool], approver=VIA_SESSION) as app:
        session = await app.sessions.create()
        run = session.prompt("go")
        await asked(run)
        ask_id = pending_id(session)
        with anyio.fail_after(5):
            await session.cancel()
        rest = await bodies(run)
        assert AskClosed(ask_id=ask_id, call_id="a", verdict="retracted") in rest
        assert run.result is not None
        assert run.result.stop_reason is StopReason.CANCELLED
        stored = await app.sessions.show(session.id)
        assert (stored.state, stored.pending) == (SessionState.IDLE, None)
        assert unpaired(stored.messages) == []
        with pytest.raises(ConflictError):
            await session.approve(ask_id, "allow_once")
        assert tool.calls == []
        assert len(model.requests) == 1


@pytest.mark.req("DSP-49")
async def test_a_session_without_an_approver_denies_at_once(tmp_path: Path) -> None:
    tool = says("Change", read_only=False)
    async with hilt.build(workspace=tmp_path, model=wanting(call("Change")), tools=[tool]) as app:
        session = await app.sessions.create()
        await ended(session.prompt("go"))
        assert "no approver was present" in contents(session.record.messages)[0]
        assert tool.calls == []


@pytest.mark.req("DSP-45", "DSP-50")
async def test_one_call_by_hand_is_asked_about_too(tmp_path: Path) -> None:
    tool = says("Change", read_only=False)
    async with hilt.build(workspace=tmp_path, model=wanting(), tools=[tool], approver=VIA_SESSION) as app:
        session = await app.sessions.create()
        waits = anyio.Event()
        session.subscribe(lambda event: waits.set() if isinstance(event.body, AskOpened) else None)
        async with anyio.create_task_group() as group:

            async def answer(session: Session) -> None:
                await waits.wait()
                await session.approve(pending_id(session), "allow_once")

            group.start_soon(answer, session)
            result = await session.call_tool("Change", '{"n": 1}')
        assert result.content == "ok"
        assert len(tool.calls) == 1


@pytest.mark.req("PRM-50", "PRM-54")
async def test_always_is_stored_with_the_session_and_holds_when_it_is_opened_again(
    store: Store, tmp_path: Path
) -> None:
    tool = says("Change", read_only=False)
    same, other = call("Change", {"n": 1}), call("Change", {"n": 2})
    model = ScriptedModel([{"calls": [same]}, {"text": "one"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[tool], approver=VIA_SESSION) as app:
        session = await app.sessions.create()
        run = session.prompt("go")
        await asked(run)
        await session.approve(pending_id(session), "allow_always")
        await bodies(run)
    model = ScriptedModel([{"calls": [same, other]}, {"text": "two"}])
    async with hilt.build(workspace=tmp_path, store=store, model=model, tools=[tool], approver=VIA_SESSION) as app:
        session = await app.sessions.open(session.id)
        assert len(session.record.grants) == 1
        run = session.prompt("again")
        (*_, opened) = await asked(run)
        assert isinstance(opened.body, AskOpened)
        assert json.loads(opened.body.arguments) == {"n": 2}
        await session.approve(pending_id(session), "deny")
        await bodies(run)
        assert len(tool.calls) == 2


@pytest.mark.req("PRM-52")
async def test_a_verdict_to_keep_is_written_to_the_local_settings_and_loads_as_the_same_rule(tmp_path: Path) -> None:
    machine = Machine.below(tmp_path)
    local = machine.local("# mine\npermissions:\n  allow:\n    - Peek  # first\n")
    tool = says("Change", read_only=False)
    model = ScriptedModel([{"calls": [call("Change", {"n": "1"})]}, {"text": "one"}])
    config = machine.load()
    async with hilt.build(config=config, model=model, tools=[tool], approver=VIA_SESSION) as app:
        session = await app.sessions.create()
        run = session.prompt("go")
        await asked(run)
        await session.approve(pending_id(session), "allow_always", persist=True)
        await bodies(run)
        (granted,) = session.record.grants
    text = local.read_text()
    assert text.startswith("# mine\npermissions:\n  allow:\n    - Peek  # first\n")
    model = ScriptedModel([{"calls": [call("Change", {"n": "1"}), call("Change", {"n": "2"})]}, {"text": "two"}])
    machine.user(f"trust:\n  projects: [{machine.root}]\n")
    async with hilt.build(config=machine.load(), model=model, tools=[tool]) as app:
        session = await app.sessions.create()
        await ended(session.prompt("again"))
        first, second = contents(session.record.messages)
        assert first == "ok"
        assert "no approver was present" in second
    assert granted in text


@pytest.mark.req("PRM-35")
async def test_a_session_keeps_the_rules_of_its_creation_and_an_error_then_fails_the_next_one(tmp_path: Path) -> None:
    machine = Machine.below(tmp_path)
    machine.user("permissions:\n  deny: [Look]\n")
    model = ScriptedModel([{"calls": [call("Look")]}, {"text": "one"}, {"calls": [call("Look")]}, {"text": "two"}])
    async with hilt.build(config=machine.load(), model=model, tools=[says("Look")], store="memory:") as app:
        old = await app.sessions.create()
        machine.user("permissions:\n  allow: [Look]\n")
        new = await app.sessions.create()
        await ended(old.prompt("go"))
        await ended(new.prompt("go"))
        assert "access_denied" in contents(old.record.messages)[0]
        assert contents(new.record.messages) == ["ok"]
        machine.user("permissions:\n  allow: [Look]\n  deny: Look\n")
        with pytest.raises(hilt.ConfigError) as caught:
            await app.sessions.create(id="never")
        assert (caught.value.source, caught.value.key) == ("~/.config/hilt/settings.yaml", "permissions.deny")
        machine.user("permissions:\n  deny: ['Look(']\n")
        with pytest.raises(hilt.ConfigError, match=r"settings\.yaml:2.*Look\("):
            await app.sessions.create(id="never")
        assert await app.store.sessions.load(SessionId("never")) is None


@pytest.mark.req("DSP-45")
async def test_the_arguments_that_wait_with_a_session_are_cut_like_those_of_the_event(tmp_path: Path) -> None:
    model = wanting(call("Change", {"at": "é" * 5000}))
    tools = [says("Change", read_only=False)]
    async with hilt.build(workspace=tmp_path, model=model, tools=tools, approver=VIA_SESSION) as app:
        session = await app.sessions.create()
        async with session.prompt("go") as run:
            opened = (await asked(run))[-1].body
            assert isinstance(opened, AskOpened)
            assert len(opened.arguments.encode()) <= 4096
            assert session.pending_ask is not None
            assert session.pending_ask.arguments == {"cut": opened.arguments}


@pytest.mark.req("SES-01")
async def test_an_approver_of_the_host_answers_while_the_session_awaits(tmp_path: Path) -> None:
    states: list[SessionState] = []

    class Host:
        async def decide(self, ask: Ask) -> Verdict:
            (session,) = app.sessions.open_sessions
            states.append(session.state)
            with pytest.raises(ConflictError):
                await session.approve(ask.ask_id, "allow_once")
            return Verdict(kind="allow_once")

    tool = says("Change", read_only=False)
    async with hilt.build(workspace=tmp_path, model=wanting(call("Change")), tools=[tool], approver=Host()) as app:
        session = await app.sessions.create()
        await ended(session.prompt("go"))
        assert states == [SessionState.AWAITING]
        assert len(tool.calls) == 1
