"""What a tool receives and may say of a call: text, environment, subjects, progress (catalog.md sections 1, 2)."""

import json
import logging
import threading
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

import hilt
from hilt.core.event import ToolProgress
from hilt.core.guardrail import Direction, GuardrailRule, Payload
from hilt.core.permission import Subject, Subjects
from hilt.core.schema import decode_arguments
from hilt.core.session import AssistantMessage
from hilt.core.tool import ToolCall
from hilt.engine.guardrail import Guardrail
from hilt.ports.tool import Environment
from tests.app.house import house
from tests.flows.kit import FunctionTool, allow, call, deny, run_turn, says


@dataclass
class Place:
    """A dataclass."""

    x: int
    y: int = 0


@pytest.mark.req("CAT-09")
async def test_a_tool_gets_the_models_text_uncopied_and_it_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []

    def counting(args: str) -> object:
        decoded.append(args)
        return decode_arguments(args)

    monkeypatch.setattr("hilt.engine.gate.decode_arguments", counting)
    monkeypatch.setattr("hilt.core.tool.decode_arguments", counting)
    seen: list[ToolCall] = []

    async def body(call: ToolCall, env: Environment) -> str:
        seen.append(call)
        assert call.arguments is call.arguments
        return str(call.parse_args(Place)) + str(call.parse_args(Place)) + str(call.arguments["x"])

    def subjects(call: ToolCall) -> Subjects:
        return Subjects(unnamed=(Subject(text=str(call.arguments["x"])),))

    tool = FunctionTool("Look", body)
    tool.subjects = subjects  # type: ignore[attr-defined]  # the optional member
    flow = await run_turn([tool], [call("Look", '{"x":  1}')], rules=allow("Look(1)"))
    (answer,) = [m for m in flow.agent.conversation.messages if isinstance(m, AssistantMessage) and m.calls]
    assert seen[0].args is answer.calls[0].args
    assert decoded == ['{"x":  1}']


@pytest.mark.req("CAT-26")
async def test_patterns_see_a_tools_own_subjects_or_each_top_level_argument() -> None:
    class Own(FunctionTool):
        def subjects(self, call: ToolCall) -> Subjects:
            return Subjects(unnamed=(Subject(text=f"id {call.arguments['n']}"),), named={})

    async def body(call: ToolCall, env: Environment) -> str:
        return "ok"

    own, plain = Own("Own", body), FunctionTool("Plain", body)
    rules = deny("Own(id 1)", "Own(n=2)", "Plain(n=1)", "Plain(id 2)", 'Plain(deep={"a":1})')
    calls = [call("Own", {"n": n}) for n in (1, 2)] + [call("Plain", {"n": n}) for n in (1, 2)]
    calls.append(call("Plain", {"deep": {"a": 1}}))
    flow = await run_turn([own, plain], calls, rules=rules)
    assert [result.is_error for result in flow.results] == [True, False, True, False, True]


class Clockwork:
    """A service of a host."""


@pytest.mark.req("CAT-16", "CAT-17")
async def test_a_tool_gets_its_sessions_environment_with_the_hosts_services(tmp_path: Path) -> None:
    seen: list[Environment] = []
    raised: list[str] = []

    async def body(call: ToolCall, env: Environment) -> str:
        seen.append(env)
        try:
            env.service(threading.Thread)
        except LookupError as error:
            raised.append(str(error))
        return "ok"

    clockwork = Clockwork()
    services = {Clockwork: clockwork}
    tool = FunctionTool("Look", body)
    async with house(tmp_path, tools=[tool], services=services) as home:
        one, two = await home.app.sessions.create(id="one"), await home.app.sessions.create(id="two")
        for session in (one, two):
            await home.turn(session, call("Look"))
    async with house(tmp_path, tools=[tool], services=services, enable={"shell"}) as home:
        await home.turn(await home.app.sessions.create(id="three"), call("Look"))
    assert [env.session_id for env in seen] == ["one", "two", "three"]
    assert all(env.service(Clockwork) is clockwork for env in seen)
    assert [env.workspace is not None for env in seen] == [True] * 3
    assert [env.runner is None for env in seen] == [True, True, False]
    assert len(raised) == 3
    assert "Thread" in raised[0]


@pytest.mark.req("CAT-18")
async def test_progress_names_the_running_call() -> None:
    async def body(call: ToolCall, env: Environment) -> str:
        env.progress(1, 2, "half")
        await anyio.lowlevel.checkpoint()
        env.progress(2)
        return "ok"

    flow = await run_turn([FunctionTool("Look", body)], [call("Look", id_="a"), call("Look", id_="b")])
    told = [body for body in flow.bodies if isinstance(body, ToolProgress)]
    for id_ in "ab":
        mine = [(body.done, body.total, body.text) for body in told if body.call_id == id_]
        assert mine == [(1, 2, "half"), (2, None, "")]


@pytest.mark.req("CAT-22")
@pytest.mark.parametrize("fault", [ValueError("x"), MemoryError(), SystemExit(1)])
async def test_a_raised_fault_is_one_error_result_and_the_run_goes_on(fault: BaseException) -> None:
    async def body(call: ToolCall, env: Environment) -> str:
        raise fault

    flow = await run_turn([FunctionTool("Odd", body), says("Look")], [call("Odd"), call("Look")])
    assert [result.is_error for result in flow.results] == [True, False]
    assert json.loads(flow.results[0].content)["error"] == "execution_failed"
    assert flow.agent.conversation.final_text() == "done"


@pytest.mark.req("CAT-24")
async def test_a_call_that_a_reading_tool_calls_a_change_runs_alone_and_is_asked() -> None:
    order: list[str] = []

    class Maybe(FunctionTool):
        def read_only_for(self, call: ToolCall) -> bool:
            return call.arguments.get("n") != 1

    async def body(call: ToolCall, env: Environment) -> str:
        order.append(f"+{call.id}")
        await anyio.lowlevel.checkpoint()
        order.append(f"-{call.id}")
        return "ok"

    calls = [call("Maybe", {"n": n}, id_=str(n)) for n in range(3)]
    await run_turn([Maybe("Maybe", body)], calls)
    assert order == ["+0", "-0", "+1", "-1", "+2", "-2"]
    order.clear()
    await run_turn([Maybe("Maybe", body)], [calls[0], calls[2]])
    assert order == ["+0", "+2", "-0", "-2"]


@pytest.mark.req("CAT-22", "DSP-06", "DSP-05")
@pytest.mark.parametrize("member", ["read_only_for", "targets", "subjects", "refuses", "must_ask"])
async def test_a_fault_in_what_a_tool_says_about_its_call_ends_that_call_alone(
    member: str, caplog: pytest.LogCaptureFixture
) -> None:
    def crash(call: ToolCall) -> object:
        raise KeyError(call.id)

    odd = says("Odd")
    setattr(odd, member, crash)
    with caplog.at_level(logging.ERROR):
        flow = await run_turn([odd, says("Look")], [call("Odd", id_="a"), call("Look")], rules=allow("Odd"))
    told = json.loads(flow.results[0].content)
    assert told["error"] == "execution_failed"
    assert "KeyError" in told["message"]
    assert odd.calls == []
    assert flow.results[1].content == "ok"
    assert flow.agent.conversation.final_text() == "done"
    (logged,) = [record for record in caplog.records if "tool_check_crashed" in record.getMessage()]
    assert logged.exc_info is not None


@pytest.mark.req("CAT-22")
async def test_after_a_rewrite_such_a_fault_ends_that_call_alone_too() -> None:
    class Odd(FunctionTool):
        def read_only_for(self, call: ToolCall) -> bool:
            return bool(call.arguments["n"])

    async def body(call: ToolCall, env: Environment) -> str:
        return "ok"

    @hilt.hook("PreToolUse", match=["Odd"], name="empties")
    async def empties(seen: hilt.HookInput) -> hilt.HookAnswer:
        return hilt.HookAnswer(updated_input={})

    flow = await run_turn([Odd("Odd", body), says("Look")], [call("Odd", {"n": 1}), call("Look")], hooks=[empties])
    told = json.loads(flow.results[0].content)
    assert told["error"] == "execution_failed"
    assert "empties" in told["message"]
    assert flow.results[1].content == "ok"


@pytest.mark.req("CAT-27")
async def test_a_fault_in_a_tools_own_deadline_leaves_it_the_default(caplog: pytest.LogCaptureFixture) -> None:
    def crash(call: ToolCall) -> float:
        raise ValueError

    odd = says("Odd")
    odd.deadline_s = crash  # type: ignore[attr-defined]  # the optional member
    with caplog.at_level(logging.ERROR):
        flow = await run_turn([odd], [call("Odd")])
    assert flow.results[0].content == "ok"
    assert any("deadline_crashed" in record.getMessage() for record in caplog.records)


@pytest.mark.req("CAT-07", "PRM-70", "DSP-24")
async def test_nobody_who_is_shown_the_arguments_can_change_those_that_were_decided() -> None:
    given = {"n": 1, "deep": {"list": [1, {"x": 1}]}}
    after: list[object] = []

    def change(arguments: object) -> None:
        assert isinstance(arguments, dict)
        assert arguments == given
        arguments["n"] = 5
        arguments["deep"]["list"][1]["x"] = 2

    @hilt.hook("PreToolUse")
    async def before(seen: hilt.HookInput) -> None:
        change(seen.tool_input)

    @hilt.hook("PostToolUse")
    async def behind(seen: hilt.HookInput) -> None:
        after.append(seen.tool_input)

    class Reviewer:
        async def review(self, direction: Direction, tool: str, payload: Payload) -> str | None:
            change(payload)
            return None

    async def body(call: ToolCall, env: Environment) -> str:
        change(call.arguments)
        return "ok"

    tool = FunctionTool("Look", body)
    guard = Guardrail(rule=GuardrailRule(direction="in"), reviewer=Reviewer())
    flow = await run_turn([tool], [call("Look", given)], hooks=[before, behind], guardrails=[guard])
    assert flow.results[0].content == "ok"
    assert after == [given]
    assert flow.recorder.records[0].call.arguments == given
