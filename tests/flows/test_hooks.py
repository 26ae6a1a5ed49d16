"""Hooks over whole turns: what they see, what they may change, in which order they run (section 9)."""

import json
from pathlib import Path

import anyio
import pytest

from hilt.adapters.execution_asyncio import AsyncioExecution
from hilt.app.flags import Flags
from hilt.core.content import ImagePart, StructuredPart
from hilt.core.event import HookRan
from hilt.core.hook import HookAnswer, HookEvent, HookInput, ResultRewrite
from hilt.core.rulebook import RuleBook
from hilt.core.session import UserMessage
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.catalog import Catalog
from hilt.engine.conversation import Conversation
from hilt.engine.emitter import Emitter
from hilt.engine.function_hook import hook
from hilt.engine.funnel import Parts, build_funnel
from hilt.ports.permission import Verdict
from hilt.ports.tool import Environment
from hilt.testing import ManualClock, ScriptedModel
from tests.app.house import house
from tests.app.places import Machine
from tests.flows.kit import Answering, Flow, FunctionTool, allow, ask, call, deny, run_turn, says

ONCE = Verdict(kind="allow_once")
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def hooks_ran(flow: Flow) -> list[HookRan]:
    """Return the hook events in order."""
    return [body for body in flow.bodies if isinstance(body, HookRan)]


@pytest.mark.req("HOK-02")
async def test_a_hook_that_denies_stops_its_call_alone() -> None:
    @hook("PreToolUse", match=["Look"], name="guard")
    def guard(seen: HookInput) -> HookAnswer | None:
        return HookAnswer(permission="deny", reason="not two") if (seen.tool_input or {}).get("n") == 2 else None

    tool = says("Look")
    calls = [call("Look", {"n": n}) for n in (1, 2, 3)]
    flow = await run_turn([tool, says("Other")], [*calls, call("Other")], hooks=[guard])
    assert [result.is_error for result in flow.results] == [False, True, False, False]
    told = json.loads(flow.results[1].content)
    assert told["error"] == "access_denied"
    assert "guard" in told["message"]
    assert "not two" in told["message"]
    assert [one.arguments["n"] for one in tool.calls] == [1, 3]


@pytest.mark.req("HOK-03", "DSP-24")
async def test_a_hook_rewrites_the_arguments_and_what_it_wrote_is_validated() -> None:
    @hook("PreToolUse")
    def rewrite(seen: HookInput) -> HookAnswer:
        return HookAnswer(updated_input={"n": {1: "7", 2: "no number", 3: 9}[(seen.tool_input or {})["n"]]})  # type: ignore[index]  # n is a number

    tool = says("Count", schema=NUMBER)
    flow = await run_turn(
        [tool], [call("Count", {"n": n}) for n in (1, 2, 3)], hooks=[rewrite], rules=deny("Count(n=9)")
    )
    assert [one.arguments for one in tool.calls] == [{"n": 7}]
    good, invalid, denied = flow.results
    assert good.content == "ok"
    assert json.loads(invalid.content)["error"] == "invalid_arguments"
    assert "rewrite" in invalid.content
    assert json.loads(denied.content)["error"] == "access_denied"
    assert "rewritten by hook rewrite" in _notes(flow)


def _notes(flow: Flow) -> list[object]:
    notes = flow.recorder.records[0].detail["coercions"]
    assert isinstance(notes, list)
    return notes


@pytest.mark.req("HOK-04")
async def test_hooks_can_keep_an_audit_of_every_call(tmp_path: Path) -> None:
    seen: list[HookInput] = []

    @hook("PreToolUse", name="before")
    def before(one: HookInput) -> None:
        seen.append(one)

    @hook("PostToolUse", name="after")
    def after(one: HookInput) -> None:
        seen.append(one)

    picture = ImagePart(data="AAAA", mime_type="image/png")

    async def show(call: ToolCall, env: Environment) -> ToolResult:
        return ToolResult.with_parts(call.id, "shown " + "x" * 100_000, [picture])

    tool = FunctionTool("Show", show)
    async with house(tmp_path, tools=[tool], hooks=[before, after]) as home:
        session = await home.app.sessions.create(id="s1")
        await home.turn(session, call("Show", {"a": 1}, id_="c1"))
    for one in seen:
        assert (one.session_id, one.call_id, one.tool_name) == ("s1", "c1", "Show")
        assert one.tool_input == {"a": 1}
    assert [one.event for one in seen] == [HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE]
    assert seen[0].tool_response is None
    assert seen[1].tool_response == ToolResult("c1", "shown " + "x" * 100_000, False, (picture,))


@pytest.mark.req("HOK-05")
async def test_a_rewrite_of_the_text_keeps_the_other_parts() -> None:
    parts = (ImagePart(data="AAAA", mime_type="image/png"), StructuredPart(value={"a": 1}))

    async def show(call: ToolCall, env: Environment) -> ToolResult:
        return ToolResult.with_parts(call.id, "shown", parts)

    seen: list[ToolResult | None] = []

    @hook("PostToolUse", match=["Text"])
    def text(one: HookInput) -> HookAnswer:
        seen.append(one.tool_response)
        return HookAnswer(updated_result=ResultRewrite(content="masked"))

    @hook("PostToolUse", match=["Parts"])
    def drop(one: HookInput) -> HookAnswer:
        return HookAnswer(updated_result=ResultRewrite(parts=(), is_error=True))

    flow = await run_turn(
        [FunctionTool("Text", show), FunctionTool("Parts", show)],
        [call("Text", id_="a"), call("Parts", id_="b")],
        hooks=[text, drop],
    )
    assert seen == [ToolResult("a", "shown", False, parts)]
    assert flow.results == [ToolResult("a", "masked", False, parts), ToolResult("b", "shown", True, ())]


@pytest.mark.req("HOK-06")
async def test_hooks_of_one_event_run_python_first_then_by_scope_then_as_written(tmp_path: Path) -> None:
    machine = Machine.below(tmp_path)

    def lines(*names: str) -> str:
        each = "".join(f"    - command: echo {name} >> order.txt\n" for name in names)
        return f"hooks:\n  PreToolUse:\n{each}"

    machine.local(lines("local"))
    machine.shared(lines("shared"))
    machine.user(lines("user 1", "user 2"))
    machine.managed.write_text(lines("managed"))
    flag = machine.file("flag.yaml", lines("flag"))
    order = machine.root / "order.txt"

    @hook("PreToolUse")
    def python(seen: HookInput) -> None:
        order.write_text("python\n")

    config = machine.load(Flags(trust_project=True, permission_config=(flag,)))
    async with house(machine.root, config=config, tools=[says("Look")], hooks=[python]) as home:
        session = await home.app.sessions.create()
        assert [result.content for result in await home.turn(session, call("Look"))] == ["ok"]
    scopes = ["managed", "flag", "user 1", "user 2", "shared", "local"]
    assert order.read_text().splitlines() == ["python", *scopes]


@pytest.mark.req("HOK-07")
async def test_a_later_hook_sees_what_earlier_ones_wrote_and_the_first_deny_ends_the_chain() -> None:
    seen: list[object] = []

    def step(name: str, answer: HookAnswer) -> object:
        @hook("PreToolUse", name=name)
        def one(told: HookInput) -> HookAnswer:
            seen.append((name, dict(told.tool_input or {})))
            return answer

        return one

    tool = says("Look")
    chain = [
        step("first", HookAnswer(updated_input={"n": 2})),
        step("second", HookAnswer(updated_input={"n": 3}, permission="deny", reason="no")),
        step("third", HookAnswer(updated_input={"n": 4})),
    ]
    flow = await run_turn([tool], [call("Look", {"n": 1})], hooks=chain)
    assert seen == [("first", {"n": 1}), ("second", {"n": 2})]
    assert tool.calls == []
    assert "second" in flow.results[0].content
    seen.clear()
    flow = await run_turn([tool], [call("Look", {"n": 1})], hooks=[chain[0], chain[2]])
    assert seen == [("first", {"n": 1}), ("third", {"n": 2})]
    assert tool.calls[0].arguments == {"n": 4}


@pytest.mark.req("HOK-07")
async def test_post_hooks_see_the_rewritten_result_in_turn() -> None:
    @hook("PostToolUse")
    def first(told: HookInput) -> HookAnswer:
        assert told.tool_response is not None
        return HookAnswer(updated_result=ResultRewrite(content=told.tool_response.content + "1"))

    @hook("PostToolUse")
    def second(told: HookInput) -> HookAnswer:
        assert told.tool_response is not None
        return HookAnswer(updated_result=ResultRewrite(content=told.tool_response.content + "2"))

    flow = await run_turn([says("Look")], [call("Look")], hooks=[first, second])
    assert flow.results[0].content == "ok12"


@pytest.mark.req("HOK-08")
async def test_a_hook_that_allows_lifts_neither_a_deny_nor_an_ask() -> None:
    @hook("PreToolUse")
    def allows(told: HookInput) -> HookAnswer:
        return HookAnswer(permission="allow", reason="trust me")

    approver = Answering([Verdict(kind="deny")])
    tools = [says("Denied"), says("Asked"), says("Change", read_only=False)]
    flow = await run_turn(
        tools,
        [call(tool.spec.name) for tool in tools],
        hooks=[allows],
        rules=[*deny("Denied"), *ask("Asked")],
        approver=approver,
    )
    assert [tool.calls for tool in tools] == [[], [], []]
    assert [one.tool for one in approver.asked] == ["Asked", "Change"]
    assert all(json.loads(result.content)["error"] == "access_denied" for result in flow.results)


@pytest.mark.req("HOK-09")
async def test_a_hook_and_a_rule_that_both_ask_are_one_ask() -> None:
    @hook("PreToolUse", name="careful")
    def asks(told: HookInput) -> HookAnswer:
        return HookAnswer(permission="ask", reason="look twice")

    approver = Answering([ONCE])
    tool = says("Look")
    await run_turn([tool], [call("Look")], hooks=[asks, asks], rules=ask("Look"), approver=approver)
    assert len(approver.asked) == 1
    await run_turn([tool], [call("Look")], hooks=[asks], rules=allow("Look"), approver=approver)
    assert len(approver.asked) == 2
    assert "careful" in approver.asked[1].reason
    assert "look twice" in approver.asked[1].reason
    assert len(tool.calls) == 2


@pytest.mark.req("HOK-10")
async def test_a_post_hook_that_blocks_withholds_the_result_of_a_call_that_ran() -> None:
    @hook("PostToolUse", name="leak", match=["Look"])
    def block(told: HookInput) -> HookAnswer:
        return HookAnswer(block=True, reason="a secret", additional_context="more")

    look = says("Look", "the secret")
    flow = await run_turn([look, says("Other")], [call("Look"), call("Other")], hooks=[block])
    told = json.loads(flow.results[0].content)
    assert told["error"] == "access_denied"
    assert "withheld" in told["message"]
    assert "ran" in told["message"]
    assert "the secret" not in flow.results[0].content
    assert "more" not in flow.results[0].content
    assert len(look.calls) == 1
    assert flow.results[1].content == "ok"
    assert flow.recorder.records[0].detail["code"] == "access_denied"


@pytest.mark.req("HOK-19")
async def test_each_run_of_a_hook_is_one_event_with_name_outcome_and_duration() -> None:
    clock = ManualClock()

    @hook("PreToolUse", name="slow")
    async def slow(told: HookInput) -> HookAnswer:
        clock.advance(1.5)
        return HookAnswer(updated_input={"n": 2})

    @hook("PreToolUse", name="asks")
    async def asks(told: HookInput) -> HookAnswer:
        return HookAnswer(permission="ask", reason="hm")

    @hook("PostToolUse", name="broken")
    async def broken(told: HookInput) -> HookAnswer:
        raise ValueError

    @hook("PostToolUse", name="adds")
    async def adds(told: HookInput) -> HookAnswer:
        return HookAnswer(additional_context="note")

    @hook("Stop", name="stop")
    async def stop(told: HookInput) -> None:
        return None

    flow = await run_turn(
        [says("Look")],
        [call("Look", {"n": 1}, id_="a")],
        hooks=[slow, asks, broken, adds, stop],
        clock=clock,
        approver=Answering([ONCE]),
    )
    told = [(e.hook, e.event, e.outcome, e.rewrote, e.call_id, e.duration_ms) for e in hooks_ran(flow)]
    assert told == [
        ("slow", "PreToolUse", "allow", True, "a", 1500.0),
        ("asks", "PreToolUse", "ask", False, "a", 0.0),
        ("broken", "PostToolUse", "failed", False, "a", 0.0),
        ("adds", "PostToolUse", "context", False, "a", 0.0),
        ("stop", "Stop", "allow", False, "", 0.0),
    ]


@pytest.mark.req("HOK-20")
async def test_hooks_run_for_the_calls_of_a_child_agent_with_its_id() -> None:
    seen: list[HookInput] = []

    def note(event: str) -> object:
        @hook(event)
        async def one(told: HookInput) -> None:
            seen.append(told)

        return one

    events = ("PreToolUse", "PostToolUse", "SubagentStop", "Stop")
    catalog = Catalog()
    catalog.register(says("Look"))
    parts = Parts(
        catalog=catalog,
        model=ScriptedModel([{"calls": [call("Look")]}, {"text": "done"}]),
        env=Environment(),
        execution=AsyncioExecution(),
        rules=RuleBook(allow("Look")),
        hooks=[note(event) for event in events],  # type: ignore[misc]  # hooks, made above
        agent_id="agent_7",
    )
    funnel = build_funnel(parts, emitter=Emitter(), session_id="s1")
    await funnel.loop.run(Conversation(), UserMessage(text="go"))
    told = [(str(one.event), one.agent_id, one.session_id) for one in seen]
    assert told == [(event, "agent_7", "s1") for event in events[:3]]
    flow = await run_turn([says("Look")], [call("Look")], hooks=[note("PreToolUse")])
    assert seen[-1].agent_id == ""
    assert flow.results[0].content == "ok"


@pytest.mark.req("DSP-23")
async def test_hooks_of_the_calls_of_a_phase_run_together_and_those_of_one_call_in_order() -> None:
    inside = 0
    together = anyio.Event()
    order: list[tuple[str, str]] = []

    @hook("PreToolUse", name="first")
    async def first(told: HookInput) -> None:
        nonlocal inside
        inside += 1
        if inside == 3:
            together.set()
        with anyio.fail_after(5):
            await together.wait()
        order.append(("first", told.call_id))

    @hook("PreToolUse", name="second")
    async def second(told: HookInput) -> None:
        order.append(("second", told.call_id))

    await run_turn([says("Look")], [call("Look", id_=id_) for id_ in "abc"], hooks=[first, second])
    for id_ in "abc":
        assert [name for name, mine in order if mine == id_] == ["first", "second"]


@pytest.mark.parametrize(
    ("match", "for_it"),
    [((), True), (("L??k",), True), (("Other", "L*"), True), (("[L]ook",), False), (("look",), False)],
)
async def test_the_globs_of_a_hook_are_those_of_rules(match: tuple[str, ...], for_it: bool) -> None:
    @hook("PreToolUse", match=match)
    async def block(told: HookInput) -> HookAnswer:
        return HookAnswer(block=True)

    flow = await run_turn([says("Look")], [call("Look")], hooks=[block])
    assert flow.results[0].is_error is for_it
