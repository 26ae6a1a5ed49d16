"""Child agents as values: limits, parts of a budget, models, notices, what was lost, answers, and pages."""

import json

import pytest

from hilt.core.child import (
    STARTED,
    Child,
    ChildLimits,
    Room,
    lost,
    lost_notice,
    model_name,
    narrowed,
    notice,
    share,
    split_model,
)
from hilt.core.child_answer import json_answer
from hilt.core.child_page import MESSAGE_MAX_CHARS, PAGE_MAX_BYTES, page
from hilt.core.errors import ToolError
from hilt.core.session import AssistantMessage, Limits, Message, SummaryMessage, ToolMessage, UserMessage
from hilt.core.tool import ToolCall, ToolResult

ROOM = Room(turns=10, calls=20, tokens=100_000, seconds=60.0)
CHILD = Child(id="agent_1", name="agent-1")


@pytest.mark.req("BLT-64")
@pytest.mark.parametrize(
    ("asked", "room", "limits"),
    [
        (ChildLimits(), ROOM, (10, 20, 100_000, 60.0)),
        (ChildLimits(max_turns=3, max_tool_calls=4, max_tokens=50_000, max_seconds=5), ROOM, (3, 4, 50_000, 5)),
        (
            ChildLimits(max_turns=99, max_tool_calls=99, max_tokens=999_999, max_seconds=99),
            ROOM,
            (10, 20, 100_000, 60.0),
        ),
        (ChildLimits(max_turns=0, max_tool_calls=0, max_tokens=0, max_seconds=0), ROOM, (10, 20, 100_000, 60.0)),
        (ChildLimits(max_tokens=1), ROOM, (10, 20, 25_000, 60.0)),
        (ChildLimits(max_tokens=1), Room(turns=1, calls=0, tokens=9_000), (1, 0, 9_000, None)),
        (ChildLimits(max_tokens=1), Room(turns=1, calls=1), (1, 1, 25_000, None)),
        (ChildLimits(), Room(turns=1, calls=1), (1, 1, None, None)),
    ],
)
def test_limits_are_those_asked_for_and_at_most_what_the_parent_has_left(
    asked: ChildLimits, room: Room, limits: tuple[int, int, int | None, float | None]
) -> None:
    turns, calls, tokens, seconds = limits
    expected = Limits(
        max_turns=turns, max_tool_calls=calls, max_consecutive_failures=3, max_tokens=tokens, max_seconds=seconds
    )
    assert narrowed(asked, room, Limits(max_consecutive_failures=3)) == expected


@pytest.mark.req("BLT-64")
@pytest.mark.parametrize(
    ("policy", "tokens", "part"),
    [
        ("remaining", 90_000, 90_000),
        ("remaining", None, None),
        ("equal", 90_000, 22_500),
        ("equal", None, None),
        ("proportional", 90_000, 10_000),
        ("proportional", 3, 1),
        ("fixed:7", None, 7),
        ("fixed:7", 3, 7),
    ],
)
def test_a_policy_divides_what_is_left(policy: str, tokens: int | None, part: int | None) -> None:
    assert share(policy, tokens, running=2, places=8) == part


@pytest.mark.parametrize(
    ("provider", "model", "name"),
    [
        ("", "", "anthropic/a"),
        ("", "b", "anthropic/b"),
        ("openai", "b", "openai/b"),
        ("", "openai/b", "openai/b"),
        ("", "scripted:b/c", "scripted:b/c"),
        ("scripted", "b/c", "scripted:b/c"),
    ],
)
def test_a_model_is_named_whole_or_by_halves(provider: str, model: str, name: str) -> None:
    assert model_name(provider, model, parents="anthropic/a") == name
    halves = split_model(name)
    assert model_name(*halves, parents="x/y") == name


def test_a_provider_alone_names_no_model() -> None:
    with pytest.raises(ToolError, match="provider: name the model too"):
        model_name("openai", "", parents="anthropic/a")


def turn(name: str, content: str, *, error: bool = False) -> list[Message]:
    """Return an answer with one call and its result."""
    call = ToolCall(f"c{len(content)}", name)
    return [AssistantMessage(calls=(call,)), ToolMessage(results=(ToolResult(call.id, content, error),))]


def started(id_: str) -> str:
    """Return the JSON result of a start."""
    return json.dumps({"agent_id": id_, "message": f"{STARTED}. More."})


@pytest.mark.req("SES-46")
def test_lost_are_the_children_that_were_started_and_whose_end_was_not_told() -> None:
    signed = f"{STARTED}. More.\n\nagent_id: agent_b"
    messages = [
        *turn("agent_spawn", started("agent_aa")),
        *turn("Subagent", signed),
        *turn("agent_fork", started("agent_ccc")),
        UserMessage(
            text=notice(Child(id="agent_aa", name="x", state="failed", error="no", description="d")), notice=True
        ),
        UserMessage(text=lost_notice("agent_ccc"), notice=True),
    ]
    assert lost(messages) == ["agent_b"]
    assert (
        lost([*messages, UserMessage(text=notice(Child(id="agent_b", name="y", state="completed")), notice=True)]) == []
    )
    assert lost([*messages, *turn("Subagent", signed), UserMessage(text=lost_notice("agent_b"), notice=True)]) == [
        "agent_b"
    ]


@pytest.mark.req("SES-46")
@pytest.mark.parametrize(
    ("tool", "content", "error"),
    [
        ("Look", started("agent_a"), False),
        ("agent_spawn", started("agent_a"), True),
        ("agent_spawn", f"{STARTED} {{", False),
        ("agent_spawn", f'{{"message": "{STARTED}', False),
        ("agent_spawn", json.dumps([STARTED]), False),
        ("agent_spawn", json.dumps({"agent_id": 1, "message": STARTED}), False),
        ("agent_spawn", json.dumps({"agent_id": "a", "message": f"x {STARTED}"}), False),
        ("Subagent", f"{STARTED} and names nobody", False),
        ("Subagent", "an answer\n\nagent_id: agent_a", False),
    ],
)
def test_no_other_result_tells_of_a_start(tool: str, content: str, error: bool) -> None:
    assert lost(turn(tool, content, error=error)) == []


@pytest.mark.req("BLT-68")
@pytest.mark.parametrize(
    ("text", "schema", "told"),
    [
        ("4", {"type": "integer"}, ""),
        ("  4\n", {"type": "integer"}, ""),
        ("```\n[4]\n```", {"type": "array"}, ""),
        ("four", {"type": "integer"}, "it is not JSON: Expecting value"),
        ("NaN", {"type": "number"}, "NaN is not JSON"),
        ('{"a": 1} and more', {}, "it is not JSON: Extra data"),
        ("[" * 100_000, {}, "it is not JSON"),
        ("4", {"type": "string"}, 'its root: the value is not of type "string"'),
        ("4", {"$defs": {"n": {"type": "string"}}, "$ref": "#/$defs/n"}, "its root: "),
    ],
)
def test_an_answer_is_json_that_fits_its_schema_or_says_what_does_not(
    text: str, schema: dict[str, object], told: str
) -> None:
    found = json_answer(text, schema)
    if told:
        assert told in found.violations[0]
    else:
        assert found.violations == []
        assert isinstance(json.loads(found.text), int | list)


def test_five_violations_are_told_at_most() -> None:
    schema = {"properties": {name: {"type": "string"} for name in "abcdefgh"}}
    found = json_answer(json.dumps(dict.fromkeys("abcdefgh", 1)), schema)
    assert len(found.violations) == 5


@pytest.mark.req("BLT-72")
def test_a_page_cuts_long_texts_and_holds_no_more_than_it_can() -> None:
    long = "x" * (MESSAGE_MAX_CHARS + 7)
    one = AssistantMessage(text=long, calls=(ToolCall("c", "Look", long),))
    results = ToolMessage(results=(ToolResult("c", long), ToolResult("d", "no", True)))
    messages: list[Message] = [SummaryMessage(text="so far"), UserMessage(text="a notice", notice=True), one, results]
    shown = page(CHILD, messages, limit=50)
    assert shown.count("[... 7 more characters ...]") == 3
    assert "#1 summary of earlier turns\nso far\n\n#2 notice\na notice\n\n#3 answer\n" in shown
    assert shown.endswith("\nerror [d]: no")
    many = [UserMessage(text=f"{number} {long}") for number in range(40)]
    first = page(CHILD, many, limit=200)
    assert len(first.encode()) < PAGE_MAX_BYTES + 500
    assert "messages 32 to 40 of 40" in first
    assert first.endswith("Older ones: before=32.")
    huge = [ToolMessage(results=tuple(ToolResult(str(number), long) for number in range(20)))]
    assert "messages 1 to 1 of 1." in page(CHILD, huge, limit=1)
    assert page(CHILD, [], limit=5) == "agent-1 (agent_1), running: no messages here; it has 0."
