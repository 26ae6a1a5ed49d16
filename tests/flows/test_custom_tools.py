"""Tools of the host over whole turns: classes, functions, sources (catalog.md sections 1, 2, 7)."""

import contextvars
import json
import threading
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal, TypedDict

import anyio
import pytest
from pydantic import BaseModel

import hilt
from hilt.core.content import ImagePart, StructuredPart, TextPart
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment
from tests.app.house import house
from tests.flows.kit import Flow, Recorder, allow, call, deny, run_turn, says


class Ping:
    """The tool of catalog.md section 7."""

    spec = hilt.ToolSpec("Ping", "Answers pong. Use it to check that the catalog is reachable. No arguments.")
    read_only = True

    async def execute(self, call: hilt.ToolCall, env: hilt.Environment) -> hilt.ToolResult:
        """Answer."""
        return hilt.ToolResult.text(call.id, "pong")


@hilt.tool(read_only=True)
def word_count(text: str, unit: Literal["words", "lines"] = "words") -> int:
    """Count the words or lines of a text.

    Args:
        text: what to count
    """
    return len(text.split() if unit == "words" else text.splitlines())


@pytest.mark.req("CAT-80")
async def test_a_class_given_to_build_answers_the_models_call(tmp_path: Path) -> None:
    async with house(tmp_path, tools=[Ping(), word_count], enable={"files"}) as home:
        session = await home.app.sessions.create()
        results = await home.turn(session, call("Ping"), call("word_count", {"text": "one two"}))
        assert "Ping" in home.listed()
    assert [result.content for result in results] == ["pong", "2"]
    assert not any(result.is_error for result in results)


@pytest.mark.req("CAT-80")
async def test_a_class_on_a_catalog_given_to_an_agent_answers_the_models_call() -> None:
    flow = await run_turn([Ping()], [call("Ping")])
    assert [(result.content, result.is_error) for result in flow.results] == [("pong", False)]


class Colour(Enum):
    """An enumeration."""

    RED = "red"
    BLUE = "blue"


class Size(TypedDict):
    """A typed dict."""

    width: int


@dataclass
class Place:
    """A dataclass."""

    x: int
    y: int = 0


class Person(BaseModel):
    """A model."""

    name: str


@hilt.tool(read_only=True)
def draw(colour: Colour, size: Size, at: Place, by: Person, fill: Literal["yes", "no"] = "no") -> str:
    """Draw a shape."""
    return f"{colour.name} {size['width']} {at.x},{at.y} {by.name} {fill}"


@pytest.mark.req("CAT-81", "CAT-82")
async def test_the_model_sees_the_signature_as_a_schema_and_the_function_gets_its_own_types() -> None:
    flow = Flow([draw], [{"calls": [call("draw", given)]} for given in GIVEN] + [{"text": "done"}])
    await flow.run()
    (listed,) = flow.model.requests[0].tools
    schema = listed.schema
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert schema["required"] == ["colour", "size", "at", "by"]
    assert properties["fill"] == {"type": "string", "enum": ["yes", "no"], "default": "no"}
    assert [result.is_error for result in flow.results] == [False, True, True, True]
    assert flow.results[0].content == "RED 3 1,0 Ann no"
    for result in flow.results[1:]:
        assert json.loads(result.content)["error"] == "invalid_arguments"


GOOD: dict[str, object] = {"colour": "red", "size": {"width": 3}, "at": {"x": 1}, "by": {"name": "Ann"}}
GIVEN: list[dict[str, object]] = [GOOD, {**GOOD, "colour": "green"}, {**GOOD, "by": {}}, {"colour": "red"}]


@hilt.tool(name="Note", read_only=True)
def note(text: Annotated[str, "what to keep"], times: int = 2, *, env: Environment, call: ToolCall) -> str:
    """Keep a note.

    Use it to remember something.

    Args:
        times: how often
    """
    return f"{text * times} {call.id} {env.session_id}"


@pytest.mark.req("CAT-82", "CAT-83", "CAT-84", "CAT-87")
async def test_names_texts_and_injected_objects_of_a_function(tmp_path: Path) -> None:
    async with house(tmp_path, tools=[note]) as home:
        session = await home.app.sessions.create(id="s1")
        (result,) = await home.turn(session, call("Note", {"text": "ab"}, id_="c1"))
        spec = next(spec for spec in home.model.requests[0].tools if spec.name == "Note")
    assert result.content == "abab c1 s1"
    assert spec.description == "Keep a note.\n\nUse it to remember something."
    assert spec.schema["properties"] == {
        "text": {"type": "string", "description": "what to keep"},
        "times": {"type": "integer", "description": "how often", "default": 2},
    }
    assert note("x", 3, env=Environment(session_id="me"), call=ToolCall("c", "Note")) == "xxx c me"


@pytest.mark.req("CAT-83")
async def test_a_function_changes_things_unless_it_says_otherwise() -> None:
    @hilt.tool
    def change() -> str:
        """Change something."""
        return "changed"

    flow = await run_turn([change], [call("change")])
    assert "no approver" in flow.results[0].content
    flow = await run_turn([change], [call("change")], rules=allow("change"))
    assert flow.results[0].content == "changed"


WHO = contextvars.ContextVar("WHO", default="nobody")


@pytest.mark.req("CAT-86")
async def test_the_loop_answers_while_a_plain_function_blocks_in_a_thread_with_the_callers_context() -> None:
    go_on = threading.Event()
    ticks = 0

    @hilt.tool(read_only=True)
    def block() -> str:
        """Block until the event loop has answered."""
        assert threading.current_thread() is not threading.main_thread()
        return f"{go_on.wait(5)} {WHO.get()}"

    async def tick() -> None:
        nonlocal ticks
        for _ in range(20):
            await anyio.sleep(0.001)
            ticks += 1
        go_on.set()

    WHO.set("caller")
    flow = Flow([block], [{"calls": [call("block"), call("block")]}, {"text": "done"}])
    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        await flow.run()
    assert ticks == 20
    assert [result.content for result in flow.results] == ["True caller"] * 2


IMAGE = ImagePart(data="AAAA", mime_type="image/png")


@pytest.mark.req("CAT-88")
@pytest.mark.parametrize(
    ("returned", "content", "parts"),
    [
        ("text", "text", ()),
        (None, "", ()),
        (IMAGE, "", (IMAGE,)),
        ([IMAGE, TextPart(text="a")], "", (IMAGE, TextPart(text="a"))),
        ({"a": [1, None]}, '{"a": [1, null]}', (StructuredPart(value={"a": [1, None]}),)),
        (7, "7", (StructuredPart(value=7),)),
        (Place(x=1), '{"x": 1, "y": 0}', (StructuredPart(value={"x": 1, "y": 0}),)),
    ],
)
async def test_what_a_function_returns_becomes_a_result(
    returned: object, content: str, parts: tuple[object, ...]
) -> None:
    @hilt.tool(read_only=True)
    def give() -> object:
        """Give it."""
        return returned

    flow = await run_turn([give], [call("give", id_="a")])
    (result,) = flow.results
    assert (result.call_id, result.is_error, result.parts) == ("a", False, parts)
    if parts and isinstance(parts[0], StructuredPart):
        assert json.loads(result.content) == json.loads(content)
    elif not parts:
        assert result.content == content


@pytest.mark.req("CAT-88")
async def test_a_result_that_a_function_returns_is_passed_on() -> None:
    @hilt.tool(read_only=True)
    def give(call: ToolCall) -> ToolResult:
        """Give it."""
        return ToolResult.error(call.id, "I could not")

    flow = await run_turn([give], [call("give", id_="a")])
    assert flow.results == [ToolResult("a", "I could not", True)]


@pytest.mark.req("CAT-89")
async def test_a_value_that_cannot_become_json_names_its_type() -> None:
    @hilt.tool(read_only=True)
    def give() -> object:
        """Give it."""
        return threading.Lock()

    flow = await run_turn([give, says("Look")], [call("give"), call("Look")])
    told = json.loads(flow.results[0].content)
    assert told["error"] == "execution_failed"
    assert "lock" in told["message"]
    assert flow.results[1].content == "ok"


class Source:
    """Two tools behind one function."""

    read_only_tools = frozenset({"lookup"})

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []

    def tools(self) -> list[ToolSpec]:
        """Return both specs."""
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        return [ToolSpec("lookup", "Looks up.", schema), ToolSpec("store", "Stores.", schema)]

    async def dispatch(self, call: ToolCall) -> ToolResult:
        """Run one."""
        self.calls.append(call)
        return ToolResult.text(call.id, f"{call.name} {call.arguments['n']}")


@pytest.mark.req("CAT-90", "CAT-91")
async def test_the_tools_of_a_source_get_the_same_dispatch_gate_and_audit(tmp_path: Path) -> None:
    source, recorder = Source(), Recorder()
    calls = [
        call("lookup", {"n": "7"}, id_="a"),
        call("lookup", {"n": "x"}, id_="b"),
        call("store", {"n": 1}, id_="c"),
        call("lookup", {"n": 3}, id_="d"),
    ]
    async with house(tmp_path, sources=[source], recorder=recorder, rules=deny("lookup(n=3)")) as home:
        assert {"lookup", "store"} <= home.app.catalog.names
        session = await home.app.sessions.create()
        results = await home.turn(session, *calls)
        plan = await home.app.sessions.create(mode="plan")
        await home.turn(plan, call("lookup", {"n": 5}))
        assert "lookup" in home.listed()
        assert "store" not in home.listed()
    assert results[0].content == "lookup 7"
    codes = [json.loads(result.content)["error"] for result in results[1:]]
    assert codes == ["invalid_arguments", "access_denied", "access_denied"]
    assert "no approver" in results[2].content
    assert [one.id for one in source.calls][:1] == ["a"]
    assert len(source.calls) == 2
    assert [record.call.id for record in recorder.records][:4] == ["a", "b", "c", "d"]
    assert recorder.records[3].detail["decision"] == "deny"
