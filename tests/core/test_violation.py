"""What a model reads when its arguments break a schema, and arguments that do not."""

import pytest

from hilt.core.schema import Checked
from tests.core.checking import check_of, checked, props, refusal_of


@pytest.mark.req("DSP-34")
def test_arguments_that_fit_are_given_back_as_they_are() -> None:
    arguments: dict[str, object] = {"a": 1, "rest": [1.5]}
    fitting = check_of(props(a={"type": "integer"})).check(arguments)
    assert fitting.arguments is arguments
    assert fitting == Checked(arguments)


def test_a_tool_without_parameters_takes_any_object() -> None:
    assert checked(props(), anything=1).arguments == {"anything": 1}


def test_a_check_is_prepared_once_for_a_name_and_a_text() -> None:
    assert check_of(props(a=True)) is check_of(props(a=True))
    assert check_of(props(a=True)) is not check_of(props(a=True), strict_keys=True)


@pytest.mark.req("DSP-34", "DSP-37")
@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        ({"type": "string"}, 5, "a: expected a string, got 5, for example \"text\""),
        ({"type": ["integer", "null"]}, "x", 'a: expected an integer or null, got "x", for example 1'),
        ({"enum": ["n", 1]}, "s", 'a: expected one of "n", 1, got "s", for example "n"'),
        ({"const": 4}, 5, "a: expected 4, got 5, for example 4"),
        ({"type": "integer", "minimum": 3}, 1, "a: expected at least 3, got 1, for example 3"),
        ({"type": "number", "exclusiveMaximum": 3}, 4, "a: expected less than 3, got 4, for example 2"),
        ({"type": "integer", "multipleOf": 4}, 5, "a: expected a multiple of 4, got 5, for example 4"),
        ({"minLength": 6}, "x", 'a: expected at least 6 characters, got "x", for example "textxx"'),
        ({"maxLength": 2}, "xyz", 'a: expected at most 2 characters, got "xyz", for example "te"'),
        (
            {"pattern": "^[A-Z]{3}-[0-9]+$"},
            "x",
            'a: expected text that matches the pattern ^[A-Z]{3}-[0-9]+$, got "x", for example "ABC-123"',
        ),
        ({"pattern": "^qqq$"}, "x", 'a: expected text that matches the pattern ^qqq$, got "x"'),
        ({"minItems": 1, "type": "array", "items": {"type": "boolean"}}, [], "a: expected at least 1 items, "
         "got []"
         ", for example [true]"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "q", 'a: expected an integer or null, got "q"'
         ", for example 1"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 1, "a: expected exactly one of these to fit: "
         "an integer or a number, got 1, for example 1"),
        (False, 1, "a: expected nothing here, got 1"),
        ({"type": "array", "uniqueItems": True}, [1, 1], "a: expected uniqueItems to hold (the value has "
         "non-unique elements), got [1, 1], for example []"),
        ({"type": "boolean"}, 1, "a: expected true or false, got 1, for example true"),
        ({"type": "null"}, 1, "a: expected null, got 1, for example null"),
        ({"type": "string", "examples": ["e.g."]}, 1, 'a: expected a string, got 1, for example "e.g."'),
        ({"type": "string", "default": "d"}, 1, 'a: expected a string, got 1, for example "d"'),
        ({"type": "string", "format": "date"}, 1, 'a: expected a string, got 1, for example "2024-05-06"'),
        (
            {**props(k={"allOf": [{"enum": [7]}]}, f=False), "required": ["k", "f"]},
            1,
            'a: expected an object, got 1, for example {"k": 7}',
        ),
        ({"type": "array", "items": True}, 1, "a: expected a list, got 1, for example []"),
    ],
)  # fmt: skip
def test_a_violation_names_path_expectation_what_came_and_an_example(schema: object, value: object, told: str) -> None:
    assert refusal_of(props(a=schema), {"a": value}) == told


@pytest.mark.req("DSP-37")
def test_what_came_is_cut_to_a_hundred_characters() -> None:
    told = refusal_of(props(a={"type": "integer"}), {"a": "x" * 500})
    assert told == f'a: expected an integer, got "{"x" * 98}…, for example 1'


@pytest.mark.req("DSP-37")
def test_a_missing_key_is_told_with_what_it_should_hold() -> None:
    schema = {**props(q={"type": "integer"}), "required": ["q", "free"]}
    assert refusal_of(schema, {}) == (
        "(1) q: required, expected an integer, got nothing, for example 1; "
        '(2) free: required, expected a value, got nothing, for example "text"'
    )


@pytest.mark.req("DSP-37")
def test_up_to_five_violations_are_told_at_once_and_the_rest_counted() -> None:
    schema = props(**{name: {"type": "integer"} for name in "abcdefg"})
    told = refusal_of(schema, dict.fromkeys("abcdefg", "x"))
    assert [line.split(":")[0] for line in told.split("; ")] == [
        "(1) a", "(2) b", "(3) c", "(4) d", "(5) e", "and 2 more",
    ]  # fmt: skip


@pytest.mark.req("DSP-37")
def test_of_very_large_arguments_the_first_violation_is_told() -> None:
    schema = {**props(a={"type": "array", "items": {"type": "integer"}}), "required": ["b"]}
    told = refusal_of(schema, {"a": ["x"] * 20_000})
    assert told.startswith(("b: required", "a[0]: expected an integer"))
    assert "; " not in told


def test_large_arguments_are_mended_too() -> None:
    rows = list(range(10_000))
    fitting = checked(props(a={"type": "array"}, n={"type": "integer"}), a=rows, n="5")
    assert fitting == Checked({"a": rows, "n": 5}, ("n: string to integer",))


@pytest.mark.req("DSP-38")
@pytest.mark.parametrize("open_schema", [True, False])
def test_an_unknown_key_of_a_builtin_names_the_nearest_known_one(open_schema: bool) -> None:
    schema = props(path={"type": "string"}, limit={"type": "integer"})
    if not open_schema:
        schema["additionalProperties"] = False
    told = refusal_of(schema, {"pth": "x"}, strict_keys=True)
    assert told == 'pth: unknown key, expected a known one like "path", got "x"'


@pytest.mark.req("DSP-38")
def test_keys_from_the_parts_of_a_combined_schema_are_known() -> None:
    schema = {"$ref": "#/$defs/A", "$defs": {"A": props(path=True)}, "allOf": [props(limit=True), True]}
    assert check_of(schema, strict_keys=True).check({"path": 1, "limit": 2}).coercions == ()
    told = refusal_of(schema, {"limt": 1}, strict_keys=True)
    assert told == 'limt: unknown key, expected a known one like "limit", got 1'
    assert refusal_of({"allOf": [{"type": "object"}]}, {"x": 1}, strict_keys=True) == (
        "x: unknown key, expected no keys at all, got 1"
    )


def test_other_tools_accept_keys_that_their_schema_does_not_speak_of() -> None:
    assert checked(props(a=True), zz=1).arguments == {"zz": 1}


def test_text_that_no_encoding_can_carry_is_refused() -> None:
    assert "surrogate" in refusal_of(props(a={"type": "string", "pattern": "x"}), {"a": "\ud800"})
