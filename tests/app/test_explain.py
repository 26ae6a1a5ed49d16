"""Explaining and linting rules for tools that a host brings: targets, subjects that refuse, words to choose from."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from hilt.app.build import build
from hilt.app.explain import Desk, lint_rules, replay
from hilt.app.flags import Flags
from hilt.core.errors import ConfigError, ToolError
from hilt.core.permission import Effect, Subject, Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment
from tests.app.places import Machine

SCHEMA = {
    "type": "object",
    "properties": {"kind": {"enum": ["a", "b"]}, "count": {"type": "integer"}, "more": {"type": "string"}},
    "required": ["kind", "count"],
}


class Chooser:
    """A tool whose subjects are its kind."""

    read_only = True
    spec = ToolSpec("Chooser", "Chooses.", SCHEMA)

    def subjects(self, call: ToolCall) -> Subjects:
        """Show the kind, which must be one of the words."""
        kind = str(call.arguments["kind"])
        if kind not in ("a", "b"):
            raise ToolError.invalid_arguments("kind")
        return Subjects(unnamed=(Subject(text=kind),), named={"kind": (Subject(text=kind),)})

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Answer."""
        return ToolResult.text(call.id, "done")


class Moody(Chooser):
    """A tool that shows nothing of a made-up call."""

    spec = ToolSpec("Moody", "Refuses.", {"type": "object", "properties": {"kind": {}}, "required": ["kind"]})


class Proxy:
    """A tool that acts for Chooser."""

    read_only = True
    spec = ToolSpec("Proxy", "Acts for another.", {"type": "object", "properties": {}})

    def targets(self, call: ToolCall) -> Sequence[ToolCall]:
        """Name the other call."""
        return [ToolCall(call.id, "Chooser", '{"kind": "b", "count": 1}')]

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Answer."""
        return ToolResult.text(call.id, "done")


@pytest.mark.req("PRM-75", "PRM-15")
async def test_a_tool_that_acts_for_another_is_explained_with_its_target(tmp_path: Path) -> None:
    config = Machine.below(tmp_path).load(Flags(deny=("Chooser(b)",)))
    async with build(config=config, tools=[Chooser(), Proxy()]) as app:
        desk = await Desk.of(app)
        explained = await desk.why("Proxy", "{}")
        (target,) = explained.targets
        assert explained.decision is not None
        assert (explained.decision.effect, target.tool) == (Effect.DENY, "Chooser")
        assert target.decision is not None
        assert target.decision.rule is not None
        assert target.decision.rule.body == "b"


@pytest.mark.req("PRM-76")
async def test_lint_asks_tools_what_they_show(tmp_path: Path) -> None:
    rules = ("Chooser(a)", "Chooser(kind=a)", "Chooser(other=a)", "Moody(a)", "Moody(kind=a)", "Proxy(a)")
    config = Machine.below(tmp_path).load(Flags(ask=rules))
    async with build(config=config, tools=[Chooser(), Moody(), Proxy()]) as app:
        findings = lint_rules(app, await Desk.of(app))
        assert [(one.kind, one.rule.tool, one.rule.body) for one in findings] == [
            ("no_such_key", "Chooser", "other=a"),
            ("no_unnamed_subject", "Proxy", "a"),
        ]


@pytest.mark.req("PRM-77")
async def test_replay_knows_a_verdict_for_an_ask(tmp_path: Path) -> None:
    machine = Machine.below(tmp_path)
    text = (
        '{"type": "tool_call", "tool": "Write", "args": {"path": "a", "content": ""}, "decision": "allow_once"}\n\n'
        '{"type": "tool_call", "tool": "Write", "args": "raw", "code": "invalid_arguments", "mode": "default"}\n'
        '{"type": "tool_call", "tool": "Gone", "args": {}, "decision": "allow"}\n'
    )
    async with build(config=machine.load(Flags(tools="files"))) as app:
        found = await replay(await Desk.of(app), text, source="x")
        assert (found.calls, [(one.line, one.before, one.after) for one in found.changes]) == (
            3,
            [(4, "allow", "tool_not_found")],
        )
        for broken in ("{", '{"type": "event"}', '{"type": "tool_call", "tool": 3}'):
            with pytest.raises(ConfigError, match="x:1: is no record"):
                await replay(await Desk.of(app), broken, source="x")
