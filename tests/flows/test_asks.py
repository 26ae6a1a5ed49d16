"""Asks: what a person is told, what an answer does, and what happens with nobody there (dispatch.md section 5)."""

import json
from dataclasses import replace

import anyio
import pytest

from hilt.core.event import AskClosed, AskOpened, ToolStart
from hilt.core.hook import HookAnswer, HookInput
from hilt.core.permission import Scope
from hilt.core.session import StopReason
from hilt.engine.function_hook import hook
from hilt.ports.permission import Ask, Verdict
from tests.flows.kit import Answering, Flow, allow, ask, call, deny, run_turn, says

ONCE = Verdict(kind="allow_once")
ALWAYS = Verdict(kind="allow_always")
NO = Verdict(kind="deny", message="not on Fridays")


@pytest.mark.req("DSP-45")
async def test_an_ask_tells_ids_tool_reason_rule_and_arguments() -> None:
    approver = Answering([ONCE])
    flow = await run_turn([says("Look")], [call("Look", {"at": "x"}, id_="a")], rules=ask("Look"), approver=approver)
    (opened,) = [body for body in flow.bodies if isinstance(body, AskOpened)]
    assert (opened.call_id, opened.tool, opened.rule) == ("a", "Look", "Look")
    assert opened.ask_id
    assert opened.reason
    assert json.loads(opened.arguments) == {"at": "x"}
    assert not flow.results[0].is_error


@pytest.mark.req("DSP-45")
async def test_the_arguments_of_an_ask_have_at_most_4096_bytes() -> None:
    approver = Answering([ONCE])
    await run_turn([says("Look")], [call("Look", {"at": "é" * 5000})], rules=ask("Look"), approver=approver)
    assert len(approver.asked[0].arguments.encode()) <= 4096


@pytest.mark.req("DSP-46")
async def test_asks_are_open_one_at_a_time_in_the_order_of_the_calls() -> None:
    open_now = highest = 0
    order: list[str] = []

    class Counting:
        async def decide(self, ask: Ask) -> Verdict:
            nonlocal open_now, highest
            open_now += 1
            highest = max(highest, open_now)
            order.append(ask.call_id)
            await anyio.lowlevel.checkpoint()
            open_now -= 1
            return ONCE

    calls = [call("Look", id_=id_) for id_ in "abc"]
    await run_turn([says("Look")], calls, rules=ask("Look"), approver=Counting())
    assert order == ["a", "b", "c"]
    assert highest == 1


@pytest.mark.req("DSP-48", "DSP-67")
async def test_a_denial_tells_the_persons_message_and_the_other_calls_go_on() -> None:
    approver = Answering([NO, ONCE])
    flow = await run_turn(
        [says("Look")], [call("Look", {"n": 1}), call("Look", {"n": 2})], rules=ask("Look"), approver=approver
    )
    denied, allowed = flow.results
    told = json.loads(denied.content)
    assert told["error"] == "access_denied"
    assert "person" in told["message"]
    assert "not on Fridays" in told["message"]
    assert allowed.content == "ok"


@pytest.mark.req("DSP-49")
async def test_with_nobody_to_ask_a_call_is_denied_at_once_and_told_so() -> None:
    tool = says("Change", read_only=False)
    flow = await run_turn([tool], [call("Change")])
    told = json.loads(flow.results[0].content)
    assert told["error"] == "access_denied"
    assert "no approver was present" in told["message"]
    assert tool.calls == []


@pytest.mark.req("DSP-51", "DSP-59")
async def test_a_cancel_while_an_ask_is_open_retracts_it_and_ends_the_run() -> None:
    asked = anyio.Event()

    class Never:
        async def decide(self, ask: Ask) -> Verdict:
            asked.set()
            await anyio.sleep_forever()
            raise AssertionError

    flow = Flow([says("Look")], [{"calls": [call("Look", id_="a")]}], rules=ask("Look"), approver=Never())
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:

            async def stop() -> None:
                await asked.wait()
                flow.agent.cancel()

            group.start_soon(stop)
            result = await flow.run()
    assert result.stop_reason is StopReason.CANCELLED
    (closed,) = [body for body in flow.bodies if isinstance(body, AskClosed)]
    assert closed.verdict == "retracted"
    assert "not run" in flow.results[0].content


@pytest.mark.req("DSP-25", "DSP-24", "HOK-09")
async def test_a_call_is_asked_once_with_its_final_arguments() -> None:
    @hook("PreToolUse")
    def rewrite(seen: HookInput) -> HookAnswer:
        return HookAnswer(updated_input={"n": 2}, permission="ask", reason="look twice")

    approver = Answering([ONCE])
    tool = says("Look")
    await run_turn([tool], [call("Look", {"n": 1})], rules=ask("Look"), hooks=[rewrite], approver=approver)
    assert len(approver.asked) == 1
    assert json.loads(approver.asked[0].arguments) == {"n": 2}
    assert tool.calls[0].arguments == {"n": 2}


@pytest.mark.req("HOK-09")
async def test_a_hook_that_asks_without_an_approver_denies() -> None:
    @hook("PreToolUse")
    def asks(seen: HookInput) -> HookAnswer:
        return HookAnswer(permission="ask", reason="who knows")

    tool = says("Look")
    flow = await run_turn([tool], [call("Look")], hooks=[asks])
    assert tool.calls == []
    assert "no approver" in flow.results[0].content


@pytest.mark.req("PRM-50", "PRM-51")
async def test_always_grants_exactly_this_call_and_answers_later_asks_of_it() -> None:
    approver = Answering([ALWAYS, NO])
    same, other = call("Look", {"n": 1}), call("Look", {"n": 2})
    flow = Flow(
        [says("Look")],
        [{"calls": [same, same]}, {"calls": [same]}, {"calls": [other]}, {"text": "done"}],
        rules=ask("Look"),
        approver=approver,
    )
    await flow.run()
    assert len(approver.asked) == 2
    assert [result.is_error for result in flow.results] == [False, False, False, True]


@pytest.mark.req("PRM-51")
async def test_a_grant_never_answers_a_deny_or_a_managed_ask() -> None:
    approver = Answering([ALWAYS])
    rules = [*ask("Look"), *deny("Gone")]
    rules += [replace(rule, scope=Scope.MANAGED) for rule in ask("Kept")]
    calls = [call("Kept"), call("Kept"), call("Gone")]
    flow = Flow(
        [says("Look"), says("Kept"), says("Gone")],
        [{"calls": calls}, {"text": "done"}],
        rules=rules,
        approver=approver,
    )
    await flow.run()
    assert len(approver.asked) == 2
    assert [result.is_error for result in flow.results] == [False, False, True]


@pytest.mark.req("DSP-21", "DSP-22", "DSP-05")
async def test_all_calls_of_a_phase_are_decided_before_one_executes_and_a_refused_one_never_does() -> None:
    approver = Answering([ONCE, NO])
    look, peek = says("Look"), says("Peek")
    flow = await run_turn(
        [look, peek], [call("Look"), call("Peek"), call("Peek")], rules=ask("Peek"), approver=approver
    )
    first_start = next(i for i, body in enumerate(flow.bodies) if isinstance(body, ToolStart))
    last_verdict = max(i for i, body in enumerate(flow.bodies) if isinstance(body, AskClosed))
    assert last_verdict < first_start
    assert len(peek.calls) == 1


@pytest.mark.req("PRM-20", "PRM-23")
async def test_allow_runs_unasked_deny_does_not_run_and_no_rule_asks() -> None:
    approver = Answering([NO])
    good, bad, open_ = says("mcp__s__good"), says("mcp__s__bad"), says("mcp__s__open")
    flow = await run_turn(
        [good, bad, open_],
        [call("mcp__s__good"), call("mcp__s__bad"), call("mcp__s__open")],
        rules=[*allow("mcp__s__good"), *deny("mcp__s__bad")],
        approver=approver,
    )
    assert [len(tool.calls) for tool in (good, bad, open_)] == [1, 0, 0]
    assert [one.tool for one in approver.asked] == ["mcp__s__open"]
    assert [result.is_error for result in flow.results] == [False, True, True]


@pytest.mark.req("DSP-48", "DSP-01")
async def test_an_approver_that_fails_denies_the_call_and_the_run_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        async def decide(self, ask: Ask) -> Verdict:
            raise OSError("terminal gone")

    flow = await run_turn([says("Look")], [call("Look")], rules=ask("Look"), approver=Broken())
    assert "approver failed" in flow.results[0].content
    assert "terminal gone" not in flow.results[0].content
    assert flow.agent.conversation.final_text() == "done"
    assert any("approver_failed" in record.message for record in caplog.records)
