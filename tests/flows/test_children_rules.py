"""Child agents pass through the same funnel as their session's agent: rules, asks, hooks, guardrails, audit."""

from pathlib import Path

import anyio
import pytest

import hilt
from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.inmemory.store import MemoryStore
from hilt.app.application import VIA_SESSION
from hilt.app.config import Config
from hilt.core.errors import ConflictError
from hilt.core.event import AskClosed, AskOpened, HookRan
from hilt.core.guardrail import GuardrailRule
from hilt.core.hook import HookAnswer, HookInput
from hilt.core.session import Mode, SessionId, ToolMessage
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.guardrail import Guardrail
from hilt.engine.guardrail_patterns import PatternReviewer
from hilt.engine.session import Session
from hilt.ports.permission import Verdict
from hilt.ports.tool import Environment
from tests.flows.acting import error_of
from tests.flows.children_kit import Cast, Stage, stage, subagent
from tests.flows.kit import Answering, FunctionTool, allow, call, deny, says
from tests.flows.session_kit import pending_id

CHANGE: list[dict[str, object]] = [{"calls": [call("Change")]}, {"text": "x"}]
STARTS = allow("agent_*", "Subagent")


def last_result(cast: Cast, part: str = "child") -> ToolResult:
    """Return the last result that a part was given."""
    last = cast.seen(part)[-1].messages[-1]
    assert isinstance(last, ToolMessage)
    return last.results[-1]


@pytest.mark.req("PRM-27", "DSP-03")
@pytest.mark.parametrize("mode", list(Mode))
async def test_a_deny_holds_for_children_in_every_mode(
    tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast = Cast(child=[{"calls": [call("Look")]}, {"text": "x"}])
    look = says("Look")
    config = Config(sandboxed=True)
    rules = [*STARTS, *deny("Look")]
    async with stage(tmp_path, cast, tools=[look], rules=rules, config=config, session={"mode": mode}) as on:
        await on.play({"calls": [subagent("child")]})
        assert error_of(last_result(cast)) == "access_denied"
        assert look.calls == []


@pytest.mark.req("PRM-27", "PRM-50")
async def test_a_childs_ask_goes_to_the_parents_approver_with_its_name_and_a_grant_holds_for_all(
    tmp_path: Path,
) -> None:
    approver = Answering([Verdict(kind="allow_always"), Verdict(kind="deny", message="not that")])
    cast = Cast(child=CHANGE, other=[{"calls": [call("Other")]}, {"text": "x"}])
    tools = [says("Change", read_only=False), says("Other", read_only=False)]
    async with stage(tmp_path, cast, tools=tools, rules=STARTS, approver=approver) as on:
        await on.ended(await on.spawn("child"))
        await on.ended(await on.spawn("child"))
        assert [len(tool.calls) for tool in tools] == [2, 0]
        await on.play({"calls": [call("Change")]})
        assert [len(tool.calls) for tool in tools] == [3, 0]
        await on.ended(await on.spawn("other"))
        assert [(one.tool, one.child, one.session_id) for one in approver.asked] == [
            ("Change", "agent-1", on.session.id),
            ("Other", "agent-3", on.session.id),
        ]
        assert "the person who was asked denied it: not that" in last_result(cast, "other").content
        opened = [body for body in on.bodies if isinstance(body, AskOpened)]
        closed = [body.verdict for body in on.bodies if isinstance(body, AskClosed)]
        assert [one.child for one in opened] == ["agent-1", "agent-3"]
        assert closed == ["allow_always", "deny"]
        assert on.session.record.grants


@pytest.mark.req("PRM-27", "DSP-49")
async def test_without_an_approver_what_would_be_asked_is_denied(tmp_path: Path) -> None:
    cast = Cast(child=CHANGE)
    async with stage(tmp_path, cast, tools=[says("Change", read_only=False)], rules=STARTS) as on:
        await on.ended(await on.spawn("child"))
        assert "no approver was present" in last_result(cast).content


async def opened(on: Stage, count: int = 1) -> AskOpened:
    """Wait until so many asks were opened and return the last one."""
    while True:
        asks = [body for body in on.bodies if isinstance(body, AskOpened)]
        if len(asks) >= count:
            return asks[count - 1]
        await anyio.sleep(0.001)


@pytest.mark.req("PRM-27", "DSP-46", "DSP-50", "SES-26")
async def test_asks_of_children_wait_for_the_sessions_caller_one_at_a_time_also_between_runs(tmp_path: Path) -> None:
    cast = Cast(child=CHANGE, other=CHANGE)
    change = says("Change", read_only=False)
    store = MemoryStore(clock=FixedClock())
    options = {"tools": [change], "rules": STARTS, "approver": VIA_SESSION, "store": store}
    async with stage(tmp_path, cast, **options) as on:
        session: Session = on.session
        for part in ("child", "other"):
            await on.spawn(part)
        first = await opened(on)
        await anyio.wait_all_tasks_blocked()
        assert len([body for body in on.bodies if isinstance(body, AskOpened)]) == 1
        assert session.state == "idle"
        assert pending_id(session) == first.ask_id
        stored = await store.events.read(SessionId(session.id))
        assert [one["child"] for one in stored if one["type"] == "permission.ask"] == [first.child]
        assert (await session.approve(first.ask_id, "allow_once")) is None
        with pytest.raises(ConflictError):
            await session.approve(first.ask_id, "deny")
        second = await opened(on, 2)
        assert second.child != first.child
        run = session.prompt("main")  # a person may go on meanwhile
        cast.says("main", {"text": "done"})
        await run.finished()
        assert (await session.approve(second.ask_id, "deny", message="no")) is None
        while len([body for body in on.bodies if isinstance(body, AskClosed)]) < 2:
            await anyio.sleep(0.001)
        assert session.pending_ask is None
        assert len(change.calls) == 1


@pytest.mark.req("PRM-27", "DSP-51", "SES-01")
async def test_a_session_awaits_a_verdict_while_a_child_of_its_run_asks_and_a_cancel_retracts_it(
    tmp_path: Path,
) -> None:
    cast = Cast(child=CHANGE)
    tools = [says("Change", read_only=False)]
    async with stage(
        tmp_path, cast, tools=tools, rules=allow("agent_*", "Subagent(mode=*)"), approver=VIA_SESSION
    ) as on:
        cast.says("main", {"calls": [subagent("child", mode="read-write")]}, {"text": "done"})
        run = on.session.prompt("main")
        asked = await opened(on)
        assert on.session.state == "awaiting"
        await on.session.approve(asked.ask_id, "allow_once")
        assert (await run.finished()) is not None
        assert len(tools[0].calls) == 1
        assert on.session.state == "idle"
        run = on.session.prompt("main")
        again = await opened(on, 2)
        await on.session.cancel()
        closed = [body for body in on.bodies if isinstance(body, AskClosed)]
        assert (closed[-1].ask_id, closed[-1].verdict) == (again.ask_id, "retracted")
        assert on.session.pending_ask is None
        run = on.session.prompt("main")
        await opened(on, 3)
    assert run.result is not None  # leaving the application ended it
    assert len(tools[0].calls) == 1


@pytest.mark.req("HOK-20", "HOK-13", "HOK-19")
async def test_hooks_see_a_childs_calls_and_its_end_with_its_id_and_no_prompt_of_a_person(tmp_path: Path) -> None:
    seen: list[HookInput] = []

    def note(event: str) -> object:
        @hilt.hook(event)
        async def one(told: HookInput) -> HookAnswer | None:
            seen.append(told)
            return HookAnswer(block=True, reason="not yet") if event == "SubagentStop" and len(seen) < 7 else None

        return one

    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStop", "Stop")
    cast = Cast(child=[{"calls": [call("Look")]}, {"text": "x"}])
    hooks = [note(event) for event in events]
    async with stage(tmp_path, cast, tools=[says("Look")], hooks=hooks) as on:
        id_ = await on.spawn("child")
        await on.ended(id_)
        of_child = [(str(one.event), one.tool_name) for one in seen if one.agent_id == id_]
        assert of_child[:2] == [("PreToolUse", "Look"), ("PostToolUse", "Look")]
        assert {event for event, _ in of_child[2:]} == {"SubagentStop"}
        assert {one.agent_id for one in seen} == {"", id_}
        assert all(one.session_id == on.session.id for one in seen)
        assert not [one for one in seen if one.agent_id and one.event in ("SessionStart", "UserPromptSubmit", "Stop")]
        told = [body for body in on.bodies if isinstance(body, HookRan)]
        assert len(told) == len(seen)


@pytest.mark.req("HOK-02", "HOK-20")
async def test_a_hook_stops_a_childs_call(tmp_path: Path) -> None:
    @hilt.hook("PreToolUse", match=["Look"])
    async def no(seen: HookInput) -> HookAnswer:
        return HookAnswer(block=bool(seen.agent_id), reason="not you")

    cast = Cast(child=[{"calls": [call("Look")]}, {"text": "x"}])
    async with stage(tmp_path, cast, tools=[says("Look")], hooks=[no]) as on:
        (mine,) = await on.play({"calls": [call("Look")]})
        assert mine.content == "ok"
        await on.ended(await on.spawn("child"))
        assert "not you" in last_result(cast).content


@pytest.mark.req("HOK-30", "DSP-03")
async def test_guardrails_see_a_childs_results(tmp_path: Path) -> None:
    cast = Cast(child=[{"calls": [call("Look")]}, {"text": "x"}])
    token = "ghp_" + "a1B2" * 9
    guard = Guardrail(
        rule=GuardrailRule(direction="out", match=("Look",), reviewer="patterns"), reviewer=PatternReviewer()
    )
    async with stage(tmp_path, cast, tools=[says("Look", token)], guardrails=[guard]) as on:
        await on.ended(await on.spawn("child"))
        assert error_of(last_result(cast)) == "access_denied"
        assert token not in str(cast.seen("child"))


@pytest.mark.req("DSP-85", "SES-25")
async def test_each_call_of_a_child_is_in_the_audit_of_its_session_with_its_id(tmp_path: Path) -> None:
    cast = Cast(child=[{"calls": [call("Look", id_="same"), call("Nope")]}, {"text": "x"}])
    store = MemoryStore(clock=FixedClock())
    async with stage(tmp_path, cast, tools=[says("Look")], store=store, recorder=None) as on:
        await on.play({"calls": [call("Look", id_="same"), subagent("child", background=True)]})
        await on.play({"calls": [call("SubagentStatus", {"wait_secs": 0})]})
        child = on.children.children()[0]
        await on.ended(child.id)
        records = await store.calls.read(on.session.id)
        ids = [str(one["call_id"]) for one in records]
        assert len(ids) == len(set(ids))
        theirs = [(one["tool"], one["agent_id"], one.get("code", "")) for one in records if "agent_id" in one]
        assert theirs == [("Look", child.id, ""), ("Nope", child.id, "tool_not_found")]
        assert {one["session_id"] for one in records} == {on.session.id}


@pytest.mark.req("SES-41")
async def test_that_a_childs_change_starts_is_stored_before_it_does(tmp_path: Path) -> None:
    store = MemoryStore(clock=FixedClock())
    before: list[str] = []

    async def change(call: ToolCall, env: Environment) -> str:
        stored = await store.events.read(SessionId(env.session_id))
        before.extend(str(event.get("text", "")) for event in stored if event.get("topic") == "child_call")
        return "ok"

    cast = Cast(child=CHANGE)
    tools = [FunctionTool("Change", change, read_only=False)]
    async with stage(tmp_path, cast, tools=tools, store=store) as on:
        id_ = await on.spawn("child")
        await on.ended(id_)
        assert before == [f"agent-1 ({id_}) starts Change, call call_1_1_2."]
