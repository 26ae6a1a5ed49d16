"""What a tool is, what is asked of it, what comes back."""

import json
import subprocess
import sys
import typing
from dataclasses import FrozenInstanceError, dataclass

import pytest
from pydantic import BaseModel

from hilt.core.content import TextPart
from hilt.core.errors import ErrorCode, InvalidSpecError, ToolError
from hilt.core.tool import ToolCall, ToolResult, ToolSpec

_SCHEMA = {"type": "object", "properties": {"b": {"type": "string"}, "a": True}, "required": ["b"]}


# ---------------------------------------------------------------- specs


@pytest.mark.req("CAT-01")
def test_a_spec_cannot_be_changed_not_even_through_its_schema() -> None:
    given = json.loads(json.dumps(_SCHEMA))
    spec = ToolSpec("Look", "Looks.", given)
    given["properties"]["c"] = True
    spec.schema["type"] = "array"
    with pytest.raises(FrozenInstanceError):
        spec.name = "Other"  # type: ignore[misc]  # what is tested
    assert (spec.name, spec.description, spec.schema) == ("Look", "Looks.", _SCHEMA)


@pytest.mark.req("CAT-01")
def test_specs_with_the_same_content_are_equal() -> None:
    assert ToolSpec("Look", "", _SCHEMA) == ToolSpec("Look", "", dict(reversed(_SCHEMA.items())))
    assert len({ToolSpec("Look"), ToolSpec("Look"), ToolSpec("Look", "x")}) == 2


def test_a_spec_under_another_name_is_otherwise_the_same() -> None:
    spec = ToolSpec("Look", "Looks.", _SCHEMA)
    assert spec.renamed("mcp__s__Look") == ToolSpec("mcp__s__Look", "Looks.", _SCHEMA)
    assert json.loads(spec.to_json()) == {"name": "Look", "description": "Looks.", "schema": _SCHEMA}


@pytest.mark.req("CAT-02")
def test_input_schema_is_a_second_spelling_of_schema() -> None:
    spec = ToolSpec("Look", "Looks.", input_schema=_SCHEMA)
    assert spec == ToolSpec("Look", "Looks.", schema=_SCHEMA)
    assert spec.input_schema == spec.schema == _SCHEMA


@pytest.mark.req("CAT-03")
@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("", "1 to 256 bytes"),
        ("a" * 257, "1 to 256 bytes"),
        ("é" * 129, "1 to 256 bytes"),
        (" a", "no white space at its ends"),
        ("a\u00a0", "no white space at its ends"),
        ("a\nb", "no control character"),
        ("a\x7fb", "no control character"),
        ("a\x9bb", "no control character"),
    ],
)
def test_a_name_that_breaks_a_rule_is_refused_by_that_rule(name: str, rule: str) -> None:
    with pytest.raises(InvalidSpecError, match=rule):
        ToolSpec(name)


@pytest.mark.req("CAT-03")
@pytest.mark.parametrize("name", ["a", "a" * 256, "row.read/now", "two words", "mcp__x__y", "größe"])
def test_any_other_name_is_a_name(name: str) -> None:
    assert ToolSpec(name).name == name


@pytest.mark.req("CAT-04")
@pytest.mark.parametrize("schema", [None, {}])
def test_a_missing_or_empty_schema_is_an_object_without_properties(schema: dict[str, object] | None) -> None:
    assert ToolSpec("Look", "", schema).schema == {"type": "object", "properties": {}}


@pytest.mark.req("CAT-04")
@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (
            {"properties": {"a": {"type": "text"}}},
            "Look: the schema is not valid JSON Schema 2020-12 at prop",
        ),
        ({"type": "array"}, "Look: the root of the schema is not an object"),
        (["a"], "Look: a schema is a JSON object"),
        (True, "Look: a schema is a JSON object"),
    ],
)
def test_a_schema_that_is_none_is_refused_with_the_path_of_the_fault(schema: object, told: str) -> None:
    with pytest.raises(InvalidSpecError, match=told):
        ToolSpec("Look", "", schema)  # type: ignore[arg-type]  # what is tested


_PRINT_SPEC = """
from hilt.core.tool import ToolSpec
properties = {name: {"type": "string", "enum": sorted(set("xyz"))} for name in {"b", "a", "c", "é"}}
print(ToolSpec("Look", "Looks.", {"type": "object", "properties": properties}).to_json())
"""


@pytest.mark.req("CAT-05")
def test_a_spec_serialises_to_the_same_bytes_in_every_process() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", _PRINT_SPEC],
            env={"PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
            capture_output=True,
            check=True,
            timeout=30,
        ).stdout
        for seed in ("1", "2", "3")
    }
    (text,) = printed
    value = json.loads(text)
    assert list(value) == ["description", "name", "schema"]
    assert list(value["schema"]["properties"]) == ["a", "b", "c", "é"]
    assert b'": ' not in text
    assert b", " not in text


# ---------------------------------------------------------------- calls


@pytest.mark.req("CAT-07")
def test_a_call_carries_id_name_and_raw_arguments_and_cannot_be_changed() -> None:
    call = ToolCall("1", "Look", '{"a":  1}')
    assert (call.id, call.name, call.args) == ("1", "Look", '{"a":  1}')
    assert ToolCall("1", "Look").args == "{}"
    with pytest.raises(AttributeError, match="immutable"):
        call.args = "{}"
    with pytest.raises(AttributeError, match="immutable"):
        del call.name


@pytest.mark.req("CAT-07")
def test_calls_are_compared_by_what_they_carry() -> None:
    assert ToolCall("1", "Look") == ToolCall("1", "Look", "{}", arguments={})
    assert len({ToolCall("1", "Look"), ToolCall("1", "Look"), ToolCall("2", "Look")}) == 2
    assert ToolCall("1", "Look") != "Look"
    assert repr(ToolCall("1", "Look")) == "ToolCall(id='1', name='Look', args='{}')"


@dataclass(frozen=True)
class LookArgs:
    where: list[int]


class LookModel(BaseModel):
    where: list[int]


class LookDict(typing.TypedDict):
    where: list[int]


@pytest.mark.req("CAT-08")
def test_arguments_are_parsed_as_the_type_that_is_asked_for() -> None:
    call = ToolCall("1", "Look", '{"where": [1, 2]}')
    assert call.parse_args(LookArgs) == LookArgs([1, 2])
    assert call.parse_args(LookModel) == LookModel(where=[1, 2])
    assert call.parse_args(LookDict) == {"where": [1, 2]}


@pytest.mark.req("CAT-08")
@pytest.mark.parametrize("as_type", [LookArgs, LookModel, LookDict])
def test_arguments_that_do_not_fit_the_type_are_told_with_the_path(as_type: type) -> None:
    with pytest.raises(ToolError, match=r"^where\[1\]: ") as refusal:
        ToolCall("1", "Look", '{"where": [1, "x"]}').parse_args(as_type)
    assert refusal.value.code is ErrorCode.INVALID_ARGUMENTS


class CountingText(str):
    """Argument text that counts how often it is read."""

    reads = 0
    __slots__ = ()

    def isspace(self) -> bool:
        CountingText.reads += 1
        return super().isspace()


@pytest.mark.req("CAT-09")
def test_the_text_is_not_copied_and_decoded_once_however_often_arguments_are_read() -> None:
    text = CountingText('{"where": [1]}')
    call = ToolCall("1", "Look", text)
    assert call.args is text
    CountingText.reads = 0
    assert call.arguments is call.arguments
    call.parse_args(LookArgs)
    call.parse_args(LookModel)
    assert CountingText.reads == 1


@pytest.mark.req("CAT-09")
def test_a_call_with_arguments_beside_its_text_does_not_read_the_text() -> None:
    call = ToolCall("1", "Look", "not json").with_arguments({"where": [2]})
    assert call.args == "not json"
    assert call.parse_args(LookArgs) == LookArgs([2])
    assert call.with_arguments({}, args="{}").args == "{}"


def test_arguments_that_are_no_object_are_told_when_they_are_read() -> None:
    with pytest.raises(ToolError, match="expected a JSON object"):
        _ = ToolCall("1", "Look", "[]").arguments


# ---------------------------------------------------------------- results


@pytest.mark.req("CAT-10", "CAT-11")
def test_of_the_ways_to_make_a_result_only_error_sets_is_error() -> None:
    part = TextPart(text="x")
    assert ToolResult.text("1", "t") == ToolResult("1", "t", is_error=False, parts=())
    assert ToolResult.error("1", "t") == ToolResult("1", "t", is_error=True, parts=())
    assert ToolResult.with_parts("1", "t", [part]) == ToolResult("1", "t", is_error=False, parts=(part,))


@pytest.mark.req("CAT-12")
def test_success_is_text() -> None:
    assert ToolResult.success("1", "t") == ToolResult.text("1", "t")


@pytest.mark.req("CAT-13")
def test_a_result_without_parts_serialises_without_the_key() -> None:
    assert json.dumps(ToolResult.text("1", "t").to_json()) == ('{"call_id": "1", "content": "t", "is_error": false}')
    assert ToolResult.with_parts("1", "t", []).to_json() == ToolResult.text("1", "t").to_json()
    assert ToolResult.with_parts("1", "t", [TextPart(text="x")]).to_json()["parts"] == [{"kind": "text", "text": "x"}]


@pytest.mark.req("CAT-14")
def test_errors_that_a_tool_raises_have_their_codes_and_texts() -> None:
    invalid, missing = ToolError.invalid_arguments("q: wrong"), ToolError.not_found("Lok", ("Look",))
    assert json.loads(invalid.content("Look")) == {
        "error": "invalid_arguments",
        "message": "Invalid arguments for tool 'Look': q: wrong",
    }
    assert json.loads(missing.content("Look")) == {
        "error": "tool_not_found",
        "message": "Tool not found: Lok. Did you mean 'Look'?",
    }
