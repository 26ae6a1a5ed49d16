"""One argument type for schema and decoder."""

import typing
from dataclasses import dataclass
from typing import Annotated, Generic, Literal, NotRequired, Required, TypeVar

import pytest
import typing_extensions
from pydantic import BaseModel, Field

from hilt.core.args import Args, decode_as, modern
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.tool import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A part of a text."""

    first: int
    title: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchArgs:
    """Arguments of a search."""

    pattern: Annotated[str, Field(description="What to look for.")]
    path: Annotated[str, "Where to look."] = "."
    glob: Annotated[str | None, "Which files."] = None
    output: Literal["lines", "files"] = "lines"
    context: Annotated[int, Field(ge=0, le=10)] = 0
    span: Span | None = None
    either: int | str | None = None
    known: Annotated[int | None, Field(description="Kept.")] = 3


class Page(typing.TypedDict):
    size: int
    mark: NotRequired[Annotated[str, "Where the last page ended."]]


class Pages(typing.TypedDict, total=False):
    pages: Required[list[Page]]
    first: Page | None
    by_name: dict[str, Annotated[Page, "one page"]]


class Place(BaseModel):
    town: str
    span: Span


def test_the_schema_has_types_defaults_bounds_and_descriptions_and_nothing_else() -> None:
    assert Args(SearchArgs).schema == {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "What to look for."},
            "path": {"type": "string", "description": "Where to look.", "default": "."},
            "glob": {"type": "string", "description": "Which files."},
            "output": {"type": "string", "enum": ["lines", "files"], "default": "lines"},
            "context": {"type": "integer", "minimum": 0, "maximum": 10, "default": 0},
            "span": {
                "type": "object",
                "description": "A part of a text.",
                "properties": {"first": {"type": "integer"}, "title": {"type": "string", "default": "none"}},
                "required": ["first"],
                "additionalProperties": False,
            },
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "known": {
                "anyOf": [{"type": "integer"}, {"type": "null"}],
                "description": "Kept.",
                "default": 3,
            },
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }


def test_each_schema_is_a_copy_of_its_own() -> None:
    args = Args(Span)
    args.schema.clear()
    assert args.schema["required"] == ["first"]


def test_a_call_is_decoded_with_its_defaults() -> None:
    call = ToolCall("1", "Search", '{"pattern": "x", "span": {"first": 2}}')
    assert Args(SearchArgs).decode(call) == SearchArgs(pattern="x", span=Span(first=2))


@pytest.mark.req("CAT-08")
@pytest.mark.parametrize("as_type", [Page, Pages, Span, Place, SearchArgs])
def test_the_first_fault_is_told_with_its_path(as_type: type) -> None:
    with pytest.raises(ToolError) as refusal:
        decode_as(as_type, {"span": {"first": "x"}, "town": "y", "pages": [{}]})
    assert refusal.value.code is ErrorCode.INVALID_ARGUMENTS
    told = {
        Page: "size: Field required",
        Pages: "pages[0].size: Field required",
        Span: "first: Field required",
        Place: "span.first: Input should be a valid integer, unable to parse string as an integer",
        SearchArgs: "pattern: Field required",
    }
    assert refusal.value.reason == told[as_type]


@pytest.mark.req("CAT-08")
def test_arguments_become_a_dataclass_a_typed_dict_or_a_model() -> None:
    assert decode_as(Span, {"first": 1}) == Span(first=1)
    assert decode_as(Place, {"town": "x", "span": {"first": 1}}) == Place(town="x", span=Span(first=1))
    assert decode_as(Page, {"size": 4}) == {"size": 4}
    pages = {"pages": [{"size": 1, "mark": "m"}], "first": None, "by_name": {"a": {"size": 2}}}
    assert decode_as(Pages, pages) == pages


def test_texts_of_a_typed_dict_become_descriptions() -> None:
    assert Args(Page).schema["properties"] == {
        "size": {"type": "integer"},
        "mark": {"type": "string", "description": "Where the last page ended."},
    }


def test_annotations_without_old_typed_dicts_stay_the_same_objects() -> None:
    class New(typing_extensions.TypedDict):
        a: int

    for annotation in (int, list[int], Literal["a"], int | None, New, Annotated[int, "x"], SearchArgs):
        assert modern(annotation) is annotation


Item = TypeVar("Item")


class Box(BaseModel, Generic[Item]):
    item: Item


def test_a_type_with_parameters_is_read_too() -> None:
    assert decode_as(Box[int], {"item": 3}) == Box[int](item=3)
