"""What a function returns, as a result."""

import enum
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pydantic import BaseModel

from hilt.core.content import ImagePart, StructuredPart, TextPart
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.function_tool import tool
from hilt.ports.tool import Environment


async def _result_of(value: object) -> ToolResult:
    @tool
    async def give() -> object:
        return value

    return await give.execute(ToolCall("c1", "give"), Environment())


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Size:
    width: int
    unit: str = "mm"


class Address(BaseModel):
    town: str


def _json(text: str, value: object) -> ToolResult:
    return ToolResult.with_parts("c1", text, [StructuredPart(value=value)])


_IMAGE = ImagePart(data="AA==", mime_type="image/png")
_TEXT = TextPart(text="seen")


@pytest.mark.req("CAT-88")
@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("text", ToolResult.text("c1", "text")),
        (None, ToolResult.text("c1", "")),
        (ToolResult.error("other", "no"), ToolResult.error("other", "no")),
        (_IMAGE, ToolResult.with_parts("c1", "", [_IMAGE])),
        ([_TEXT, _IMAGE, _TEXT], ToolResult.with_parts("c1", "seen\nseen", [_TEXT, _IMAGE, _TEXT])),
        (5, _json("5", 5)),
        (False, _json("false", False)),
        ([], _json("[]", [])),
        ({"ä": (1, 2)}, _json('{"ä": [1, 2]}', {"ä": [1, 2]})),
        ({1: None}, _json('{"1": null}', {"1": None})),
        (Size(2), _json('{"width": 2, "unit": "mm"}', {"width": 2, "unit": "mm"})),
        ({"c": Colour.RED}, _json('{"c": "red"}', {"c": "red"})),
        (Address(town="x"), _json('{"town": "x"}', {"town": "x"})),
    ],
)
async def test_what_a_function_returns_becomes_the_result(value: object, result: ToolResult) -> None:
    assert await _result_of(value) == result


def _endless() -> list[object]:
    loop: list[object] = []
    loop.append(loop)
    return loop


def _deep() -> object:
    value: object = 1
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.req("CAT-89")
@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (object(), "object"),
        ({"a": [threading.Event()]}, "dict"),
        (float("nan"), "float"),
        (b"\xff", "bytes"),
        (_endless(), "list"),
        (_deep(), "list"),
    ],
)
async def test_a_value_that_cannot_become_json_is_told_by_its_type(value: object, kind: str) -> None:
    with pytest.raises(ToolError) as failure:
        await _result_of(value)
    assert failure.value.code is ErrorCode.EXECUTION_FAILED
    assert failure.value.reason == f"the returned {kind} cannot become JSON"


def _counting() -> Iterator[int]:
    yield from range(3)


@pytest.mark.req("CAT-88")
async def test_an_iterator_becomes_a_list() -> None:
    assert (await _result_of(_counting())).content == "[0, 1, 2]"
