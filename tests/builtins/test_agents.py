"""The tools of the categories agents and delegation: their rows, their flags, and what rules see of a start."""

from collections.abc import Mapping

import pytest

from hilt.app.categories import CATEGORY_TOOLS
from hilt.builtins.agents import agents_tools
from hilt.builtins.delegation import delegation_tools, parallel_tools, team_tools
from hilt.builtins.delegation.branches import BRANCHES_S, COMPARING_S
from hilt.builtins.delegation.team_work import PLAN_S, REPORT_S, WORK_S
from hilt.core.child import BUDGET_POLICY
from hilt.core.defaults import builtin_defaults
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.permission import Effect, Subject
from hilt.core.rulebook import RuleBook
from hilt.core.subjects import argument_subjects
from hilt.core.tool import ToolCall
from hilt.ports.tool import Environment, Tool

ALL = (*delegation_tools(), *parallel_tools(), *team_tools(), *agents_tools())
TOOLS: dict[str, Tool] = {tool.spec.name: tool for tool in ALL}
TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
YES_NO = {"type": "boolean", "default": False}
TEXTS = {"type": "array", "items": TEXT}
WAIT = {"type": "integer", "default": 0, "minimum": 0, "maximum": 120}


def holds(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


ACCESS = holds(policy={"type": "string", "enum": ["inherit", "allow_list", "deny_list"]}, tools=TEXTS)
ROWS: dict[str, dict[str, object]] = {
    "agent_spawn": {
        "prompt": TEXT,
        "provider": TEXT,
        "model": TEXT,
        "system_prompt": TEXT,
        "tool_access": ACCESS,
        "budget": holds(max_tokens=NUMBER, max_turns=NUMBER, max_tool_calls=NUMBER),
    },
    "agent_fork": {
        "prompt": TEXT,
        "provider": TEXT,
        "model": TEXT,
        "tool_access": ACCESS,
        "budget_policy": {**TEXT, "default": "remaining", "pattern": BUDGET_POLICY},
    },
    "agent_status": {"agent_id": TEXT, "wait_secs": WAIT},
    "agent_cancel": {"agent_id": TEXT},
    "agent_list": {},
    "Subagent": {
        **dict.fromkeys(("prompt", "description", "agent", "model", "resume"), TEXT),
        "tools": TEXTS,
        **dict.fromkeys(("max_turns", "max_tool_calls", "max_run_tokens", "timeout_secs"), NUMBER),
        "output_schema": {"type": "object", "additionalProperties": True},
        "fork": YES_NO,
        "background": YES_NO,
        "mode": {**TEXT, "default": "read-only", "enum": ["read-only", "read-write"]},
    },
    "InspectSubagent": {
        "agent_id": TEXT,
        "limit": {"type": "integer", "default": 50, "minimum": 1, "maximum": 200},
        "before": NUMBER,
    },
    "SubagentStatus": {"agent_id": TEXT, "wait_secs": WAIT},
    "Parallel": {
        "tasks": {**TEXTS, "minItems": 1, "maxItems": 16},
        "shared": TEXT,
        "join": {**TEXT, "default": "all", "enum": ["all", "first", "judge", "best"]},
        "criteria": TEXT,
        "mode": {**TEXT, "default": "read-only", "enum": ["read-only", "read-write"]},
    },
    "Team": {
        "goal": TEXT,
        "members": {
            "type": "array",
            "items": {**holds(name=TEXT, role=TEXT, mutating=YES_NO), "required": ["name", "role"]},
            "minItems": 1,
            "maxItems": 8,
        },
        "max_team_tokens": NUMBER,
    },
    "InspectMember": {
        "team_id": TEXT,
        "member": TEXT,
        "limit": {"type": "integer", "default": 50, "minimum": 1, "maximum": 200},
        "before": NUMBER,
    },
}
REQUIRED = {
    **{name: ["prompt"] for name in ("agent_spawn", "agent_fork", "Subagent")},
    **{name: ["agent_id"] for name in ("agent_status", "agent_cancel", "InspectSubagent")},
    "Parallel": ["tasks"],
    "Team": ["goal", "members"],
    "InspectMember": ["team_id", "member"],
}
VALUES: dict[str, object] = {"tasks": ["x"], "members": [{"name": "x", "role": "x"}]}
MUTATING = {"agent_spawn", "agent_fork", "agent_cancel", "Team"}
STARTS = {"agent_spawn", "agent_fork"}
ASKED = {*STARTS, "Team"}
PER_MODE: dict[str, dict[str, object]] = {"Subagent": {"prompt": "x"}, "Parallel": {"tasks": ["x"]}}


def bare(node: object) -> object:
    """Return a schema without its descriptions, each of which is there."""
    if not isinstance(node, dict):
        return node
    properties = node.get("properties")
    if isinstance(properties, dict):
        assert all(one["description"] for one in properties.values())
        node = {**node, "properties": {name: bare(one) for name, one in properties.items()}}
    if "items" in node:
        node = {**node, "items": bare(node["items"])}
    return {key: value for key, value in node.items() if key != "description"}


def effect_of(name: str, **args: object) -> Effect:
    """Return what the built-in defaults say of a call."""
    call = ToolCall("a", name, arguments=args)
    own = getattr(TOOLS[name], "subjects", None)
    subjects = argument_subjects(call.arguments) if own is None else own(call)
    return RuleBook(builtin_defaults()).decide(name, subjects, read_only=name not in MUTATING).effect


def named(name: str, **args: object) -> Mapping[str, tuple[Subject, ...]]:
    """Return the named subjects of a call, and check that the unnamed one is the agent definition's name."""
    found = TOOLS[name].subjects(ToolCall("a", name, arguments=args))  # type: ignore[attr-defined]  # the optional member
    assert found.unnamed == found.named["agent"]
    return dict(found.named)


@pytest.mark.req("BLT-07", "BLT-08")
@pytest.mark.parametrize("name", ROWS)
def test_a_tool_is_its_row(name: str) -> None:
    tool = TOOLS[name]
    assert isinstance(tool, Tool)
    assert tool.read_only is (name not in MUTATING)
    schema = bare(dict(tool.spec.schema))
    required = {"required": REQUIRED[name]} if name in REQUIRED else {}
    assert schema == {"type": "object", "additionalProperties": False, "properties": ROWS[name], **required}


@pytest.mark.req("BLT-08", "BLT-67")
def test_each_start_has_its_default_and_one_that_may_write_another() -> None:
    for name, args in PER_MODE.items():
        assert effect_of(name, **args) is Effect.ALLOW
        assert effect_of(name, **args, mode="read-write") is Effect.ASK
        reads = TOOLS[name].read_only_for  # type: ignore[attr-defined]  # the optional member
        for mode, expected in (("read-only", True), ("read-write", False)):
            assert reads(ToolCall("a", name, arguments={**args, "mode": mode})) is expected
        assert reads(ToolCall("a", name, arguments=args))
    others = sorted(set(ROWS) - set(PER_MODE))
    assert {name for name in others if effect_of(name, prompt="x") is Effect.ASK} == ASKED


@pytest.mark.req("PRM-10")
def test_rules_see_the_agent_the_model_and_the_mode() -> None:
    model = (Subject(text="m"),)
    assert named("Subagent", prompt="x", agent="critic", model="m", mode="read-write") == {
        "agent": (Subject(text="critic"),),
        "model": model,
        "mode": (Subject(text="read-write"),),
    }
    assert named("Subagent", prompt="x") == {"agent": (), "model": (), "mode": (Subject(text="read-only"),)}
    for name in sorted(STARTS):
        assert named(name, prompt="x", model="m") == {"agent": (), "model": model, "mode": ()}
        assert named(name, prompt="x") == {"agent": (), "model": (), "mode": ()}


@pytest.mark.req("BLT-09")
def test_the_categories_are_these_tools() -> None:
    assert {*CATEGORY_TOOLS["agents"], *CATEGORY_TOOLS["delegation"]} == set(TOOLS)


def test_a_call_for_several_has_the_time_that_it_gives_them() -> None:
    for join, seconds in (("all", BRANCHES_S), ("first", BRANCHES_S), ("judge", BRANCHES_S + COMPARING_S)):
        call = ToolCall("a", "Parallel", arguments={"tasks": ["x"], "join": join})
        (target,) = TOOLS["Parallel"].targets(call)  # type: ignore[attr-defined]  # the optional member
        own = TOOLS["Parallel"].deadline_s(call)  # type: ignore[attr-defined]  # the optional member
        assert own > seconds
        assert TOOLS["Subagent"].deadline_s(target) >= own  # type: ignore[attr-defined]  # the optional member
    assert TOOLS["Team"].timeout_s > PLAN_S + WORK_S + 2 * REPORT_S  # type: ignore[attr-defined]  # the optional member


@pytest.mark.req("CAT-06")
@pytest.mark.parametrize("name", TOOLS)
def test_a_description_says_when_to_use_it_and_when_not(name: str) -> None:
    text = TOOLS[name].spec.description
    assert len(text) >= 100
    assert " Use " in text
    assert " Do not use " in text


@pytest.mark.parametrize("name", TOOLS)
async def test_an_agent_that_can_have_no_children_is_told_so(name: str) -> None:
    call = ToolCall("a", name, arguments={key: VALUES.get(key, "x") for key in REQUIRED.get(name, [])})
    with pytest.raises(ToolError) as refusal:
        await TOOLS[name].execute(call, Environment())
    assert refusal.value.code is ErrorCode.TOOL_UNAVAILABLE
