"""What is mended in arguments: one reading or none."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.errors import ToolError
from hilt.core.schema import Checked
from tests.core.checking import check_of, checked, props, refusal_of


@pytest.mark.req("DSP-35")
@pytest.mark.parametrize(
    ("kind", "came", "sent", "note"),
    [
        ("integer", "42", 42, "a: string to integer"),
        ("integer", "-7", -7, "a: string to integer"),
        ("integer", str(10**40), 10**40, "a: string to integer"),
        ("integer", 5.0, 5, "a: 5.0 to 5"),
        ("number", "2.5e1", 25.0, "a: string to number"),
        ("number", "3", 3, "a: string to number"),
        ("boolean", "true", True, "a: string to boolean"),
        ("boolean", "false", False, "a: string to boolean"),
        ("array", "[1, 2]", [1, 2], "a: string to array"),
        ("object", '{"k": 1}', {"k": 1}, "a: string to object"),
    ],
)
def test_one_reading_is_taken_and_recorded(kind: str, came: object, sent: object, note: str) -> None:
    fitting = checked(props(a={"type": kind}), a=came)
    assert fitting == Checked({"a": sent}, (note,))
    assert type(fitting.arguments["a"]) is type(sent)


@pytest.mark.req("DSP-35")
@pytest.mark.parametrize(
    ("schema", "came"),
    [
        ({"type": "integer"}, "5.0"),
        ({"type": "integer"}, "007"),
        ({"type": "integer"}, " 5"),
        ({"type": "integer"}, "५"),
        ({"type": "integer"}, 5.5),
        ({"type": "integer"}, True),
        ({"type": "integer"}, "9" * 400),
        ({"type": "number"}, "NaN"),
        ({"type": "number"}, "1e999"),
        ({"type": "boolean"}, "True"),
        ({"type": "boolean"}, "yes"),
        ({"type": "boolean"}, 1),
        ({"type": "string"}, 5),
        ({"type": "null"}, "null"),
        ({"type": "array"}, '{"a": 1}'),
        ({"type": "array"}, "[1, "),
        ({"type": "object"}, "[1]"),
        ({"type": "array"}, 5),
        ({"type": ["integer", "boolean"]}, "5"),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "5"),
        ({"type": "array", "items": {"type": "integer"}}, ["5"]),
    ],
)
def test_nothing_else_is_coerced(schema: object, came: object) -> None:
    assert refusal_of(props(a=schema), {"a": came}).startswith("a")


@pytest.mark.req("DSP-35")
@pytest.mark.parametrize(
    ("schema", "came"),
    [
        ({"type": "string"}, "5"),
        ({"type": ["integer", "string"]}, "5"),
        ({"anyOf": [{"type": "array"}, {"type": "string"}]}, "[1]"),
        ({"type": "number"}, 5.0),
        ({"type": ["integer", "null"]}, 5.0),
        ({"type": "integer"}, 1e300),
        ({}, "5"),
    ],
)
def test_a_value_that_the_schema_admits_as_it_is_stays(schema: object, came: object) -> None:
    fitting = checked(props(a=schema), a=came)
    assert fitting == Checked({"a": came})
    assert type(fitting.arguments["a"]) is type(came)


@pytest.mark.req("DSP-35")
def test_coercion_reaches_properties_through_references_lists_and_strings() -> None:
    row = {"type": "object", "properties": {"k": {"$ref": "#/$defs/N"}, "sub": {"$ref": "#/$defs/Row"}}}
    schema = {**props(rows={"type": "array", "items": row}), "$defs": {"N": {"type": "integer"}, "Row": row}}
    came: dict[str, object] = {"rows": [{"k": "1"}, {"k": 2.0, "sub": '{"k": "3"}'}]}
    before = json.dumps(came)
    fitting = check_of(schema).check(came)
    assert fitting.arguments == {"rows": [{"k": 1}, {"k": 2, "sub": {"k": 3}}]}
    assert fitting.coercions == (
        "rows[0].k: string to integer",
        "rows[1].sub: string to object",
        "rows[1].sub.k: string to integer",
        "rows[1].k: 2.0 to 2",
    )
    assert json.dumps(came) == before


@pytest.mark.req("DSP-39")
def test_strings_within_strings_cannot_pass_the_bound_on_nesting() -> None:
    inner = '{"a":' + "[" * 98 + "]" * 98 + "}"
    schema = props(a={"type": "array", "items": props(b={"type": "object"})})
    with pytest.raises(ToolError, match="deeper than 100 levels"):
        check_of(schema).check({"a": [{"b": inner}]})


_WISHED = st.sampled_from(["integer", "number", "boolean", "array", "object", "string", "null"])
_CAME = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["5", "-0", "5.0", "true", "[1]", '{"a": "7", "b": 3.0}', '"5"', "null"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.req("DSP-35", "DSP-36")
@given(
    st.dictionaries(st.sampled_from("abc"), _WISHED),
    st.lists(st.sampled_from("abc"), unique=True),
    st.dictionaries(st.sampled_from("abc"), _CAME),
)
def test_what_was_mended_once_fits_and_stays(
    wished: dict[str, str], required: list[str], came: dict[str, object]
) -> None:
    nested = props(**{name: {"type": kind} for name, kind in wished.items()})
    check = check_of({**props(**{name: {"type": k} | nested for name, k in wished.items()}), "required": required})
    before = json.dumps(came)
    first: Checked | None = None
    with contextlib.suppress(ToolError):
        first = check.check(came)
    assert json.dumps(came) == before
    assert first is None or check.check(first.arguments) == Checked(first.arguments)


@pytest.mark.req("DSP-36", "PRV-14")
def test_a_null_for_an_optional_property_is_dropped_and_one_that_is_admitted_stays() -> None:
    schema = props(
        a={"type": "string"},
        b={"type": ["string", "null"]},
        c={"enum": ["x"]},
        d=props(e={"anyOf": [{"type": "integer"}, {"type": "boolean"}]}),
        f={"$ref": "#/$defs/F"},
    )
    fitting = check_of({**schema, "$defs": {"F": {"type": "integer"}}}).check(
        {"a": None, "b": None, "c": None, "d": {"e": None, "g": None}, "f": None, "h": None}
    )
    assert fitting.arguments == {"b": None, "d": {"g": None}, "h": None}
    assert sorted(fitting.coercions) == [
        "a: null dropped", "c: null dropped", "d.e: null dropped", "f: null dropped",
    ]  # fmt: skip


@pytest.mark.req("DSP-36", "DSP-37")
def test_a_null_for_a_required_property_is_a_violation_that_says_null() -> None:
    schema = {**props(q={"type": "string"}, p={"type": "string"}), "required": ["q"]}
    assert refusal_of(schema, {"q": None, "p": None}) == 'q: expected a string, got null, for example "text"'


def test_very_large_arguments_with_too_many_faults_are_refused() -> None:
    names = [f"n{number}" for number in range(200)]
    schema = props(rows={"type": "array"}, **{name: {"type": "integer"} for name in names})
    arguments: dict[str, object] = {"rows": [0] * 6_000, **dict.fromkeys(names, "1")}
    assert refusal_of(schema, arguments).endswith(': expected an integer, got "1", for example 1')
