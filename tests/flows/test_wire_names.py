"""Names and schemas that a provider does not take: the model has its own, people and records have the catalog's."""

import json
from collections.abc import Mapping

import pytest

from hilt.core.dialect import wire_name
from hilt.core.event import AskOpened, HookRan, ToolSettled
from hilt.core.hook import HookAnswer, HookInput
from hilt.engine.function_hook import hook
from hilt.ports.model import Capabilities
from hilt.ports.permission import Verdict
from hilt.testing import ScriptedModel
from tests.flows.kit import Answering, Flow, ask, call, deny, says

NAME = "mcp__books__row.read"
WIRE = wire_name(NAME, "openai")


def model(*answers: Mapping[str, object]) -> ScriptedModel:
    """Return a model of a provider that takes no dot in a name."""
    return ScriptedModel(list(answers), capabilities=Capabilities(profile="openai"))


@pytest.mark.req("PRV-09")
async def test_people_and_records_have_the_catalogs_name_and_the_model_its_own() -> None:
    seen: list[str] = []

    @hook("PreToolUse", match=[NAME])
    def note(hook_input: HookInput) -> HookAnswer | None:
        seen.append(hook_input.tool_name)
        return None

    assert WIRE != NAME
    approver = Answering([Verdict(kind="allow_once")])
    answers: list[Mapping[str, object]] = [
        {"calls": [call(WIRE), call(WIRE, "{broken"), call(WIRE[:-1])]},
        {"text": "done"},
    ]
    flow = Flow([says(NAME)], [], model=model(*answers), rules=ask(NAME), hooks=[note], approver=approver)
    await flow.run()
    requests = flow.agent.conversation.messages
    assert len(requests) == 4
    assert [body.tool for body in flow.bodies if isinstance(body, AskOpened)] == [NAME]
    assert [one.tool for one in approver.asked] == [NAME]
    assert seen == [NAME]
    assert any(isinstance(body, HookRan) for body in flow.bodies)
    assert [body.tool for body in flow.bodies if isinstance(body, ToolSettled)][:2] == [NAME, NAME]
    assert [record.call.name for record in flow.recorder.records][:2] == [NAME, NAME]
    fine, broken, unknown = (result.content for result in flow.results)
    assert fine == "ok"
    assert f"'{WIRE}'" in json.loads(broken)["message"]
    assert f"'{WIRE}'" in json.loads(unknown)["message"]
    assert NAME not in broken + unknown


@pytest.mark.req("PRV-09")
async def test_a_rule_on_the_catalogs_name_decides_a_call_by_the_wire_name() -> None:
    tool = says(NAME)
    flow = Flow([tool], [], model=model({"calls": [call(WIRE)]}, {"text": "done"}), rules=deny("mcp__books__*"))
    await flow.run()
    assert tool.calls == []
    assert flow.recorder.records[0].detail["decision"] == "deny"


@pytest.mark.req("PRV-12")
async def test_arguments_are_held_against_the_tools_own_schema_whatever_the_wire_dropped() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "multipleOf": 5}},
        "required": ["n"],
    }
    tool = says("Step", schema=schema)
    scripted = ScriptedModel(
        [{"calls": [call("Step", {"n": 7}), call("Step", {"n": 10})]}, {"text": "done"}],
        capabilities=Capabilities(profile="gemini"),
    )
    flow = Flow([tool], [], model=scripted)
    await flow.run()
    assert "multipleOf" not in scripted.requests[0].tools[0].schema_json
    assert [result.is_error for result in flow.results] == [True, False]
    assert [one.arguments for one in tool.calls] == [{"n": 10}]


@pytest.mark.req("PRV-12")
async def test_a_schema_of_an_older_dialect_is_read_in_that_dialect() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"pair": {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}},
    }
    tool = says("Pair", schema=schema)
    calls = [call("Pair", {"pair": [1, "a"]}), call("Pair", {"pair": ["a", 1]})]
    flow = Flow([tool], [{"calls": calls}, {"text": "done"}])
    await flow.run()
    assert [result.is_error for result in flow.results] == [False, True]
