"""Guardrails over whole turns: what they see, what they stop (permissions-hooks.md section 10)."""

import json
from pathlib import Path

import pytest

from hilt.app.flags import Flags
from hilt.core.content import ImagePart, Part, StructuredPart
from hilt.core.event import HookRan
from hilt.core.guardrail import Direction, GuardrailMode, GuardrailRule, Payload
from hilt.core.hook import HookAnswer, HookInput, OnFailure
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.function_hook import hook
from hilt.engine.guardrail import Guardrail
from hilt.engine.guardrail_patterns import PatternReviewer
from hilt.ports.tool import Environment
from tests.app.house import house, remote, script_server
from tests.app.places import Machine
from tests.flows.kit import Flow, FunctionTool, allow, call, run_turn, says

KEY = "AKIA" + "A" * 16


class Says:
    """A reviewer that says the same of whatever holds a word, and keeps what it saw."""

    def __init__(self, finding: str | None, *, of: str = "") -> None:
        self._finding = finding
        self._of = of
        self.saw: list[tuple[Direction, str, Payload]] = []

    async def review(self, direction: Direction, tool: str, payload: Payload) -> str | None:
        """See `Reviewer.review`."""
        self.saw.append((direction, tool, payload))
        return self._finding if self._of in str(payload) else None


class Crashes:
    """A reviewer that fails."""

    async def review(self, direction: Direction, tool: str, payload: Payload) -> str | None:
        """Fail."""
        raise RuntimeError("down")


def guard(
    reviewer: Says | Crashes | PatternReviewer,
    direction: Direction,
    *,
    mode: GuardrailMode = "block",
    on_failure: OnFailure = "block",
    match: tuple[str, ...] = (),
) -> Guardrail:
    """Return a guardrail named after its direction."""
    rule = GuardrailRule(
        match=match, direction=direction, mode=mode, on_failure=on_failure, reviewer=f"guard-{direction}"
    )
    return Guardrail(rule=rule, reviewer=reviewer)


def findings(flow: Flow) -> list[tuple[str, str, str, str]]:
    """Return the hook events as name, event, outcome and message."""
    return [(b.hook, b.event, b.outcome, b.message) for b in flow.bodies if isinstance(b, HookRan)]


class Source:
    """One tool of a source."""

    read_only_tools = frozenset({"Sourced"})

    def tools(self) -> list[ToolSpec]:
        """Return its spec."""
        return [ToolSpec("Sourced", "For tests.")]

    async def dispatch(self, call: ToolCall) -> ToolResult:
        """Answer."""
        return ToolResult.text(call.id, "sourced")


@pytest.mark.req("HOK-30")
async def test_arguments_are_reviewed_before_and_results_after_for_the_tools_of_every_source(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    inward, outward = Says(None), Says(None)
    async with house(
        tmp_path / "work",
        enable={"files"},
        tools=[says("Look")],
        sources=[Source()],
        mcp_servers=[script_server(tmp_path, "far", [remote("look")])],
        rules=allow("mcp__*"),
        guardrails=[guard(inward, "in"), guard(outward, "out")],
    ) as home:
        session = await home.app.sessions.create(mcp_servers=[script_server(tmp_path, "own", [remote("look")])])
        tools = ["ListDir", "Look", "Sourced", "mcp__far__look", "mcp__own__look"]
        results = await home.turn(session, *(call(name) for name in tools))
    assert [result.is_error for result in results] == [False] * 5
    assert [(direction, tool) for direction, tool, _ in inward.saw] == [("in", name) for name in tools]
    assert [(direction, tool) for direction, tool, _ in outward.saw] == [("out", name) for name in tools]
    shown = [payload.content for _, _, payload in outward.saw if isinstance(payload, ToolResult)]
    assert shown[1:] == ["ok", "sourced", "far look", "own look"]


@pytest.mark.req("HOK-30")
async def test_a_reviewer_of_arguments_sees_the_final_ones_and_before_the_tool() -> None:
    @hook("PreToolUse")
    async def rewrite(seen: HookInput) -> HookAnswer:
        return HookAnswer(updated_input={"n": 2})

    look = says("Look")

    class Before(Says):
        async def review(self, direction: Direction, tool: str, payload: Payload) -> str | None:
            assert look.calls == []
            return await super().review(direction, tool, payload)

    reviewer = Before(None)
    await run_turn([look], [call("Look", {"n": 1})], hooks=[rewrite], guardrails=[guard(reviewer, "in")])
    assert reviewer.saw == [("in", "Look", {"n": 2})]
    assert len(look.calls) == 1


# ---------------------------------------------------------------- off until configured

RULES = "guardrails:\n  - {name: net, direction: in, reviewer: patterns}\n"


@pytest.mark.req("HOK-31")
async def test_guardrails_are_off_until_the_user_configures_them(tmp_path: Path) -> None:
    machine = Machine.below(tmp_path)

    async def outcome() -> bool:
        config = machine.load(Flags(trust_project=True))
        async with house(machine.root, config=config, tools=[says("Look")]) as home:
            session = await home.app.sessions.create()
            (result,) = await home.turn(session, call("Look", {"key": KEY}))
        return result.is_error

    assert not await outcome()
    machine.user(RULES)
    assert await outcome()


@pytest.mark.req("HOK-31")
@pytest.mark.parametrize("which", ["shared", "local"])
async def test_a_projects_file_neither_configures_nor_weakens_guardrails(tmp_path: Path, which: str) -> None:
    machine = Machine.below(tmp_path)
    write = machine.shared if which == "shared" else machine.local

    async def outcome() -> bool:
        config = machine.load(Flags(trust_project=True))
        async with house(machine.root, config=config, tools=[says("Look")]) as home:
            session = await home.app.sessions.create()
            (result,) = await home.turn(session, call("Look", {"key": KEY}))
        return result.is_error

    write(RULES)
    assert not await outcome()
    machine.user(RULES)
    for text in (
        "guardrails: []\n",
        RULES.replace("in,", "in, mode: advisory,"),
        RULES.replace("in,", "in, match: [Other],"),
        RULES.replace("in,", "in, on_failure: allow,"),
    ):
        write(text)
        assert await outcome()


# ---------------------------------------------------------------- what a finding does


@pytest.mark.req("HOK-32")
async def test_a_blocked_call_is_denied_unexecuted_and_its_siblings_go_on() -> None:
    look = says("Look")
    calls = [call("Look", {"n": "bad"}), call("Look", {"n": "good"})]
    flow = await run_turn([look], calls, guardrails=[guard(Says("a bad word", of="bad"), "in")])
    told = json.loads(flow.results[0].content)
    assert told["error"] == "access_denied"
    assert "guard-in" in told["message"]
    assert "a bad word" in told["message"]
    assert flow.results[1].content == "ok"
    assert [one.arguments for one in look.calls] == [{"n": "good"}]


@pytest.mark.req("HOK-32")
async def test_a_blocked_result_is_withheld_and_the_call_is_not_run_again() -> None:
    @hook("PostToolUse")
    async def adds(seen: HookInput) -> HookAnswer:
        return HookAnswer(additional_context="it was the secret")

    look = says("Look", "the secret")
    flow = await run_turn(
        [look], [call("Look")], hooks=[adds], guardrails=[guard(Says("a secret", of="secret"), "out")]
    )
    told = json.loads(flow.results[0].content)
    assert told["error"] == "access_denied"
    assert "withheld" in told["message"]
    assert "ran" in told["message"]
    assert "the secret" not in flow.results[0].content
    assert len(look.calls) == 1
    assert flow.recorder.records[0].detail["code"] == "access_denied"
    assert "the secret" not in flow.recorder.records[0].result.content


@pytest.mark.req("HOK-33")
async def test_advice_changes_nothing_and_tells_the_finding() -> None:
    both = [guard(Says("odd"), "in", mode="advisory"), guard(Says("odd too"), "out", mode="advisory")]
    plain = await run_turn([says("Look")], [call("Look", {"n": 1}, id_="a")])
    advised = await run_turn([says("Look")], [call("Look", {"n": 1}, id_="a")], guardrails=both)
    assert advised.results == plain.results
    assert advised.agent.conversation.messages == plain.agent.conversation.messages
    assert findings(advised) == [
        ("guard-in", "guardrail.in", "finding", "odd"),
        ("guard-out", "guardrail.out", "finding", "odd too"),
    ]


@pytest.mark.req("HOK-34")
@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize(("mode", "on_failure", "blocks"), [("block", "block", True), ("block", "allow", False)])
async def test_a_reviewer_that_fails_blocks_unless_on_failure_says_otherwise(
    direction: Direction, mode: GuardrailMode, on_failure: OnFailure, blocks: bool
) -> None:
    look = says("Look", "the outcome")
    one = guard(Crashes(), direction, mode=mode, on_failure=on_failure)
    flow = await run_turn([look], [call("Look")], guardrails=[one])
    (result,) = flow.results
    assert result.is_error is blocks
    assert len(look.calls) == (0 if blocks and direction == "in" else 1)
    if blocks:
        assert json.loads(result.content)["error"] == "access_denied"
        assert "down" not in result.content
        assert "the outcome" not in result.content


@pytest.mark.req("HOK-35")
async def test_a_reviewer_sees_typed_parts_and_the_full_text_before_it_is_cut() -> None:
    parts: list[Part] = [ImagePart(data="AAAA", mime_type="image/png"), StructuredPart(value={"a": [1, None]})]
    text = "x" * 60_000 + " the very end"

    async def show(call: ToolCall, env: Environment) -> ToolResult:
        return ToolResult.with_parts(call.id, text, parts)

    reviewer = Says("found at the end", of="the very end")
    flow = await run_turn(
        [FunctionTool("Show", show)],
        [call("Show", id_="a")],
        guardrails=[guard(reviewer, "out", mode="advisory")],
    )
    assert reviewer.saw == [("out", "Show", ToolResult("a", text, False, tuple(parts)))]
    assert findings(flow)[0][2] == "finding"
    assert len(flow.results[0].content) < 30_000
    blocked = await run_turn([FunctionTool("Show", show)], [call("Show")], guardrails=[guard(reviewer, "out")])
    assert blocked.results[0].is_error
    assert blocked.results[0].parts == ()
