"""The wire form of a list: refused tools, keys turned back, names of the whole catalog."""

import json

import pytest

from hilt.core.dialect_key import wire_key
from hilt.core.errors import ModelError
from hilt.core.tool import ToolCall, ToolSpec
from hilt.engine.wire import WireList

SPECS = [ToolSpec("alpha", "x"), ToolSpec("alpha-two", "x"), ToolSpec("be.ta", "x")]


@pytest.mark.req("PRV-29")
@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("Invalid schema for function 'alpha-two': no", "alpha-two"),
        ("tools.0.custom.input_schema: bad", "alpha"),
        ("tools[2].function.parameters is not valid", "be.ta"),
    ],
)
def test_a_tool_that_a_refusal_names_is_withheld(text: str, gone: str) -> None:
    names = WireList("openai")
    names.specs(SPECS)
    assert names.refused(ModelError(text, status=400))
    left = [names.catalog_names.get(spec.name, spec.name) for spec in names.specs(SPECS)]
    assert left == [spec.name for spec in SPECS if spec.name != gone]


@pytest.mark.parametrize(
    ("text", "status"),
    [("alpha failed", 500), ("something is wrong", 400), ("tools[9] is wrong", 422), ("alpha", None)],
)
def test_any_other_error_withholds_nothing(text: str, status: int | None) -> None:
    names = WireList("openai")
    names.specs(SPECS)
    assert not names.refused(ModelError(text, status=status))
    assert len(names.specs(SPECS)) == 3


@pytest.mark.req("PRV-08")
def test_names_of_tools_that_are_not_listed_are_mapped_back_too() -> None:
    names = WireList("openai")
    names.specs(SPECS[:1], ["hid/den", "alpha"])
    assert list(names.catalog_names.values()) == ["hid/den"]


@pytest.mark.req("PRV-13")
def test_keys_are_turned_back_in_a_call_that_has_them() -> None:
    spec = ToolSpec("alpha", "x", {"type": "object", "properties": {"a b": {"type": "string"}}})
    names = WireList("generic")
    sent = ToolCall("c", "alpha", json.dumps({wire_key("a b"): "x"}))
    assert json.loads(names.canonical(sent, spec).args) == {"a b": "x"}
    for args in ("{}", f'{{"{wire_key("a b")}": '):
        call = ToolCall("c", "alpha", args)
        assert names.canonical(call, spec) is call
