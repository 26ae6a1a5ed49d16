"""Plain functions as tools."""

import contextvars
import enum
import json
import threading
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import anyio
import anyio.to_thread
import pytest
from pydantic import BaseModel, Field

from hilt.core.content import StructuredPart
from hilt.core.errors import ErrorCode, InvalidSpecError, ToolError
from hilt.core.schema import ArgumentCheck
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.function_tool import tool
from hilt.ports.tool import Environment, Tool


def _call(**arguments: object) -> ToolCall:
    return ToolCall("c1", "tool", json.dumps(arguments))


async def _run(made: Tool, **arguments: object) -> ToolResult:
    return await made.execute(_call(**arguments), Environment())


@tool(read_only=True)
def word_count(text: str, unit: Literal["words", "lines"] = "words") -> int:
    """Count the words or lines of a text.

    Args:
        text: what to count
    """
    return len(text.split() if unit == "words" else text.splitlines())


# ---------------------------------------------------------------- what the model sees


@pytest.mark.req("CAT-81", "CAT-82", "CAT-83")
def test_name_description_and_schema_come_from_the_function() -> None:
    assert isinstance(word_count, Tool)
    assert word_count.read_only is True
    assert word_count.spec.name == "word_count"
    assert word_count.spec.description == "Count the words or lines of a text."
    assert word_count.spec.schema == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "what to count"},
            "unit": {"type": "string", "enum": ["words", "lines"], "default": "words"},
        },
        "required": ["text"],
        "additionalProperties": False,
    }


@pytest.mark.req("CAT-83")
def test_a_name_may_be_given_and_a_tool_changes_things_unless_it_says_otherwise() -> None:
    @tool(name="Other", timeout_s=5, idle_timeout_s=2)
    def plain() -> None: ...

    @tool
    def bare() -> None: ...

    assert (plain.spec.name, plain.spec.description, plain.read_only) == ("Other", "", False)
    assert (plain.timeout_s, plain.idle_timeout_s) == (5, 2)
    assert (bare.spec.name, bare.read_only) == ("bare", False)
    assert (bare.timeout_s, bare.idle_timeout_s) == (None, None)


def test_a_name_that_breaks_a_rule_is_refused() -> None:
    with pytest.raises(InvalidSpecError, match="white space"):
        tool(name=" x")(lambda: None)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Size:
    width: int
    unit: str = "mm"


class Row(typing.TypedDict):
    key: str
    note: typing.NotRequired[str]


class Address(BaseModel):
    town: str


@tool
def order(
    colour: Colour,
    size: Size,
    rows: list[Row],
    address: Address | None = None,
    schema: Annotated[int, "How many.", Field(ge=1)] = 1,
    _tags: Annotated[list[str], Field(description="Its own.")] = ["new"],  # noqa: B006 - what is tested
) -> dict[str, object]:
    """Order something.

    Args:
        schema: not this, the annotation comes first
        _tags: not this either
    """
    return {
        "colour": colour,
        "size": size,
        "rows": rows,
        "address": address,
        "schema": schema,
        "_tags": _tags,
    }


@pytest.mark.req("CAT-81", "CAT-82")
def test_enums_dataclasses_typed_dicts_and_models_have_schemas() -> None:
    assert order.spec.schema["properties"] == {
        "colour": {"$ref": "#/$defs/Colour"},
        "size": {"$ref": "#/$defs/Size"},
        "rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
        "address": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}], "default": None},
        "schema": {"type": "integer", "minimum": 1, "default": 1, "description": "How many."},
        "_tags": {
            "type": "array",
            "items": {"type": "string"},
            "default": ["new"],
            "description": "Its own.",
        },
    }
    definitions = order.spec.schema["$defs"]
    assert isinstance(definitions, dict)
    assert definitions["Colour"] == {"enum": ["red", "blue"], "type": "string"}
    assert [definitions[name]["type"] for name in ("Size", "Row", "Address")] == ["object"] * 3
    assert order.spec.schema["required"] == ["colour", "size", "rows"]


@pytest.mark.req("CAT-81")
async def test_the_function_receives_values_of_its_own_types() -> None:
    arguments = {"colour": "red", "size": {"width": 3}, "rows": [{"key": "k"}], "address": {"town": "Oslo"}}
    check = ArgumentCheck.of("order", order.spec.schema_json, strict_keys=True)
    assert check.check(dict(arguments)).coercions == ()
    result = await _run(order, **arguments)
    (part,) = result.parts
    assert part == StructuredPart(
        value={
            "colour": "red",
            "size": {"width": 3, "unit": "mm"},
            "rows": [{"key": "k"}],
            "address": {"town": "Oslo"},
            "schema": 1,
            "_tags": ["new"],
        }
    )
    assert json.loads(result.content) == part.value


async def test_arguments_that_do_not_fit_are_told_with_the_path() -> None:
    with pytest.raises(ToolError, match=r"^size\.width: ") as refusal:
        await _run(order, colour="red", size={"width": "wide"}, rows=[])
    assert refusal.value.code is ErrorCode.INVALID_ARGUMENTS


# ---------------------------------------------------------------- parameters


@pytest.mark.req("CAT-84")
async def test_parameters_for_environment_and_call_receive_them_and_are_not_in_the_schema() -> None:
    seen: list[object] = []

    @tool
    async def look(where: str, /, env: Environment, *, call: Annotated[ToolCall, "the call"]) -> str:
        seen.extend([env, call])
        return where

    env, call = Environment(), _call(where="here")
    assert await look.execute(call, env) == ToolResult.text("c1", "here")
    assert seen == [env, call]
    assert look.spec.schema["properties"] == {"where": {"type": "string"}}


def _bare(x) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001 - what is tested


def _many(*rest: int) -> None: ...


def _named(**rest: int) -> None: ...


def _callback(hook: Callable[[], None]) -> None: ...


def _lock(lock: threading.Event) -> None: ...


def _unknown(x: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821 - what is tested


@pytest.mark.req("CAT-85")
@pytest.mark.parametrize(
    ("function", "told"),
    [
        (_bare, r"_bare\(\): the parameter 'x' needs an annotation"),
        (_many, r"_many\(\): the parameter '\*rest' takes any number of values"),
        (_named, r"_named\(\): the parameter '\*\*rest' takes any number of values"),
        (_callback, r"_callback\(\): a parameter has a type without a schema"),
        (_lock, r"_lock\(\): a parameter has a type without a schema"),
        (_unknown, r"_unknown\(\): an annotation cannot be read: name 'Nowhere' is not defined"),
    ],
)
def test_a_parameter_without_a_schema_is_refused_at_decoration(function: Callable[..., None], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        tool(function)


# ---------------------------------------------------------------- running


@pytest.mark.req("CAT-87")
async def test_the_decorated_function_is_still_that_function() -> None:
    assert word_count("a b\nc") == 3
    assert word_count("a b\nc", unit="lines") == 2
    assert word_count.__name__ == "word_count"
    assert word_count.__wrapped__("a") == 1

    @tool
    async def later(n: int) -> int:
        return n + 1

    assert await later(1) == 2


_WHO: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


@pytest.mark.req("CAT-86")
async def test_a_plain_function_runs_in_a_thread_with_the_callers_context() -> None:
    @tool
    def who() -> list[str]:
        return [_WHO.get(), threading.current_thread().name]

    _WHO.set("somebody")
    name, thread = json.loads((await _run(who)).content)
    assert name == "somebody"
    assert thread != threading.current_thread().name


@pytest.mark.req("CAT-86")
async def test_the_loop_answers_while_a_plain_function_blocks() -> None:
    release = threading.Event()

    @tool
    def block() -> str:
        return "released" if release.wait(10) else "gave up"

    results: list[ToolResult] = []

    async def run() -> None:
        results.append(await _run(block))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await anyio.lowlevel.checkpoint()
            release.set()
    assert results == [ToolResult.text("c1", "released")]


@pytest.mark.req("CAT-86")
async def test_abandoned_threads_hold_no_place() -> None:
    release, started = threading.Event(), threading.Semaphore(0)

    @tool
    def hang() -> None:
        started.release()
        release.wait(30)

    async def start_and_leave() -> None:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(_run, hang)
                await anyio.to_thread.run_sync(started.acquire)
                scope.cancel()

    try:
        with anyio.fail_after(20):
            # More than the threads that the default limiter lends.
            for _ in range(45):
                await start_and_leave()
            assert (await _run(word_count, text="a b")).content == "2"
    finally:
        release.set()


@pytest.mark.parametrize(
    ("raised", "met"), [(SystemExit(3), SystemExit), (StopIteration(), RuntimeError), (KeyError("k"), KeyError)]
)
async def test_what_a_plain_function_raises_reaches_the_caller(raised: BaseException, met: type[BaseException]) -> None:
    @tool
    def fail() -> None:
        raise raised

    with pytest.raises(met):
        await _run(fail)
