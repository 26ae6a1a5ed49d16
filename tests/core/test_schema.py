"""What a schema must be, what of it cannot be asked, and schemas as servers send them."""

import json
import re
import time

import pytest

from hilt.core.errors import InvalidSpecError, ToolError
from hilt.core.schema import ArgumentCheck, Checked, check_schema, decode_arguments
from tests.core.checking import Schema, check_of, checked, props, refusal_of, served


@pytest.mark.req("CAT-04")
@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"properties": {"a": {"type": 5}}}, "2020-12 at properties.a.type: "),
        ({"type": "object", "required": "a"}, "2020-12 at required: "),
        (
            {"type": "object", "properties": {"a": {"anyOf": [{"minLength": -1}]}}},
            "properties.a.anyOf[0].minL",
        ),
        ({"type": "objekt"}, "the root of the schema is not an object: type is 'objekt'"),
        ({"type": "string"}, "the root of the schema is not an object"),
        ({"type": ["string", "null"]}, "the root of the schema is not an object"),
        ({"properties": {"a": {"default": {1, 2}}}}, "the schema is not JSON: "),
        ({"properties": {"a": {"default": float("nan")}}}, "the schema is not JSON: "),
        ({"properties": {"a": {"default": "\ud800"}}}, "the schema is not JSON: "),
        ({"properties": {"a": {"items": [{}]}}}, "2020-12 at properties.a.items: "),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "required": 1},
            "draft-07/schema# at required",
        ),
    ],
)
def test_a_schema_that_is_none_is_refused_with_the_path_of_the_fault(schema: Schema, told: str) -> None:
    with pytest.raises(InvalidSpecError, match=re.escape(told)) as refusal:
        check_schema("Odd", schema)
    assert refusal.value.key == "Odd"


@pytest.mark.req("CAT-04")
def test_a_fault_at_the_root_is_told_as_such() -> None:
    deep: dict[str, object] = {}
    for _ in range(300):
        deep = {"properties": {"a": deep}}
    with pytest.raises(InvalidSpecError, match="deeper than 200 levels"):
        check_schema("Deep", deep)


@pytest.mark.req("CAT-04")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"properties": {"a": True, "b": False}},
        {"type": ["object", "null"], "x-note": ["free", {"words": (1, 2)}]},
        {"oneOf": [{"type": "object"}, {"required": ["a"]}]},
        {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"items": [{}, {}]}}},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {}},
        {"$schema": "https://schemas.example.invalid/own", "properties": {}},
        {"properties": {"a": {"$ref": "http://schemas.example.invalid/x"}, "b": {"pattern": "("}}},
    ],
)
def test_a_schema_legal_in_its_dialect_is_accepted_and_nothing_is_fetched(schema: Schema) -> None:
    check_schema("Legal", schema)


def test_a_schema_in_the_dialect_that_it_declares_is_checked_there() -> None:
    draft7 = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        **props(a={"items": [{"type": "string"}]}),
    }
    assert checked(draft7, a=["x", 1]).arguments == {"a": ["x", 1]}
    assert refusal_of(draft7, {"a": [1]}).startswith("a[0]: expected a string, got 1")


@pytest.mark.req("DSP-41")
@pytest.mark.parametrize(
    "reference",
    [
        "http://127.0.0.1:9/x.json",
        "http://127.0.0.1:9/x.json#/definitions/a",
        "http://127.0.0.1:9/x.json#name",
        "file:///etc/passwd",
        "other.json",
        "#/$defs/missing",
        "#/$defs/List/anyOf/5",
        "#nobody",
        "urn:example:x",
        "::::",
    ],
)
def test_a_reference_that_leads_out_or_nowhere_accepts_anything_and_is_reported_once(reference: str) -> None:
    schema = {
        **props(a={"$ref": reference}, b={"$ref": "#/$defs/List/anyOf/0"}, c={"$ref": "#named"}),
        "$defs": {"List": {"anyOf": [{"type": "boolean"}]}, "N": {"$anchor": "named", "type": "boolean"}},
    }
    check = check_of(schema)
    (warning,) = check.warnings
    assert warning.startswith("t: the reference ")
    assert warning.endswith(" leads out of the schema or nowhere: anything is accepted there")
    assert check.check({"a": object.__name__, "b": True}).arguments == {"a": "object", "b": True}
    assert refusal_of(schema, {"b": 1}).startswith("b: expected true or false")
    assert refusal_of(schema, {"c": 1}).startswith("c: expected true or false")


@pytest.mark.req("DSP-41")
@pytest.mark.parametrize("place", ["root", "inside"])
def test_a_dialect_of_somebodys_own_is_not_fetched(place: str) -> None:
    own = {
        "$schema": "http://127.0.0.1:9/dialect",
        "type": "object",
        "properties": {"n": {"type": "integer"}},
    }
    check = check_of(own if place == "root" else props(a=own))
    assert check.warnings == ()
    with pytest.raises(ToolError):
        check.check({"n": "x"} if place == "root" else {"a": {"n": "x"}})


def test_a_reference_among_values_is_no_reference() -> None:
    schema = props(a={"const": {"$ref": "#/no"}}, b={"$ref": "#/no"}, **{"$ref": {"type": "integer"}})
    check = check_of(schema)
    assert len(check.warnings) == 1
    assert check.check({"a": {"$ref": "#/no"}, "$ref": 4}).coercions == ()


@pytest.mark.req("PRV-23")
def test_a_pattern_that_cannot_be_compiled_is_skipped_and_reported() -> None:
    schema = {
        **props(a={"pattern": "(", "type": "string"}, b={"pattern": "^b"}),
        "patternProperties": {"[": {"type": "integer"}},
        "additionalProperties": False,
    }
    check = check_of(schema)
    assert sorted(check.warnings) == [
        "t: the pattern '(' cannot be compiled",
        "t: the pattern '[' cannot be compiled",
    ]
    assert check.check({"a": "x", "[": "kept"}).arguments == {"a": "x", "[": "kept"}
    assert refusal_of(schema, {"a": 1}).startswith("a: expected a string")
    assert refusal_of(schema, {"b": "x"}).startswith("b: expected text that matches the pattern ^b")


def test_a_schema_that_cannot_be_used_at_all_accepts_any_object_and_says_so() -> None:
    check = check_of({"$id": "::bad", "required": ["a"]})
    assert check.warnings[0].startswith("t: the schema cannot be used and any object is accepted: ")
    assert check.check({"x": 1}).arguments == {"x": 1}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_references_that_double_at_every_step_cost_no_time_and_accept_any_object(keyword: str) -> None:
    doubled = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    schema = {**props(a={"$ref": "#/$defs/d0"}), "$defs": {**doubled, "d60": {"type": "integer"}}}
    started = time.thread_time()
    check = check_of(schema)
    assert check.check({"a": "x"}).arguments == {"a": "x"}
    assert time.thread_time() - started < 1.0
    assert check.warnings == (
        "t: the schema cannot be used and any object is accepted: its references multiply without bound",
    )


def test_a_schema_of_many_choices_and_of_parts_that_contain_themselves_is_used() -> None:
    row = {
        "if": {"required": ["k"]},
        "then": props(k={"type": "integer"}),
        "not": {"required": ["z"]},
        "dependentSchemas": {"k": {"$ref": "#/$defs/row"}},
        "anyOf": [{"$ref": "#/$defs/row"}, *({"const": number} for number in range(1_000)), {"type": "object"}],
    }
    check = check_of({**props(row={"$ref": "#/$defs/row"}), "$defs": {"row": row}})
    assert check.warnings == ()
    assert check.check({"row": {"k": 1}}).coercions == ()
    with pytest.raises(ToolError, match="row: expected not to hold"):
        check.check({"row": {"z": 1}})


_ENDLESS = r"^((a|aa)+)\1b$"


@pytest.mark.req("DSP-42", "PRV-23")
@pytest.mark.parametrize(
    "schema",
    [
        props(a={"pattern": _ENDLESS}),
        props(a={"anyOf": [{"pattern": _ENDLESS}, {"type": "null"}]}),
        props(a={"oneOf": [{"pattern": _ENDLESS}, {"type": "string"}]}),
        props(a={"not": {"pattern": _ENDLESS}}),
        props(a={"if": {"pattern": _ENDLESS}, "then": False}),
        {"patternProperties": {_ENDLESS: False}, "additionalProperties": False},
        {"propertyNames": {"anyOf": [{"pattern": _ENDLESS}, {"enum": ["a", "rows"]}]}},
        props(rows={"type": "array", "items": {"pattern": _ENDLESS}}),
    ],
)
def test_a_pattern_that_backtracks_without_end_ends_within_a_second_and_refuses_nothing(
    schema: Schema,
) -> None:
    text = "a" * 10_000 + "!"
    arguments: dict[str, object] = {"a": text, text: 1, "rows": ["a" * 30 + "!"] * 300}
    check = ArgumentCheck("t", json.dumps(schema), strict_keys=False)
    # Processor time of this thread: other work on the machine does not count.
    started = time.thread_time()
    assert check.check(arguments).arguments == arguments
    assert time.thread_time() - started < 1.0


@pytest.mark.req("DSP-42")
def test_a_pattern_that_only_looks_endless_is_asked_and_answers() -> None:
    text = "a" * 10_000 + "!"
    started = time.thread_time()
    told = refusal_of(props(a={"pattern": "^(a+)+$"}), {"a": text})
    assert told.startswith("a: expected text that matches")
    assert time.thread_time() - started < 1.0


@pytest.mark.req("PRV-23")
def test_a_pattern_that_backtracks_without_end_is_skipped_with_a_warning_and_stays_so() -> None:
    check = ArgumentCheck("t", json.dumps(props(a={"pattern": _ENDLESS}, n={"type": "integer"})), strict_keys=True)
    warning = f"t: the pattern {_ENDLESS!r} backtracks too long and is skipped"
    arguments: dict[str, object] = {"a": "a" * 10_000}
    # Nothing else runs meanwhile, so this is how long other calls wait.
    started = time.thread_time()
    assert check.check(arguments) == Checked(arguments, (), (warning,))
    assert time.thread_time() - started < 0.1
    assert check.warnings == (warning,)
    assert check.check(arguments) == Checked(arguments)
    with pytest.raises(ToolError, match="n: expected an integer"):
        check.check({"n": "x"})


@pytest.mark.req("CAT-04", "DSP-34")
def test_boolean_sub_schemas_cost_no_tool() -> None:
    any_value = served("a1_boolean.json", "any_value")
    check_schema("any_value", any_value)
    assert checked(any_value, payload=[1]).arguments == {"payload": [1]}
    assert refusal_of(any_value, {"payload": 1, "unused": 2}).startswith("unused: expected nothing here")


@pytest.mark.req("DSP-34")
def test_references_to_definitions_are_followed() -> None:
    schema = served("a2_defs.json", "book_room")
    check_schema("book_room", schema)
    told = refusal_of(schema, {"slot": {"day": "2024-05-06", "hall": "east"}})
    assert told == 'slot.hall: expected one of "north", "south", got "east", for example "north"'
    assert refusal_of(schema, {"slot": "x"}) == (
        'slot: expected an object, got "x", for example {"day": "2024-05-06", "hall": "north"}'
    )


@pytest.mark.req("CAT-04", "DSP-34")
def test_a_schema_that_contains_itself_checks_trees() -> None:
    outline, value = (served("a3_recursive.json", name) for name in ("save_outline", "save_value"))
    check_schema("save_outline", outline)
    check_schema("save_value", value)
    tree = {"title": "1", "parts": [{"title": "2", "parts": [{"title": "3"}]}]}
    assert checked(outline, root=tree).arguments == {"root": tree}
    assert refusal_of(outline, {"root": {"title": "1", "parts": [{}]}}).startswith("root.parts[0].title: required")
    assert checked(value, v=[1, ["a"]]).arguments == {"v": [1, ["a"]]}
    assert refusal_of(value, {"v": {}}) == ('v: expected a string or a number or a list, got {}, for example "text"')


def test_references_that_only_lead_to_one_another_end() -> None:
    schema = {
        **props(a={"$ref": "#/$defs/A"}, b={"type": "object", "required": ["a"], "properties": {}}),
        "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}},
        "required": ["a"],
    }
    assert refusal_of(schema, {}) == 'a: required, expected a value, got nothing, for example "text"'


def test_decoding_and_checking_go_together() -> None:
    check = check_of({**props(path={"type": "string"}, first={"type": "integer"}), "required": ["path"]})
    decoded = decode_arguments('{"path": "a.txt", "first": "3"}')
    assert check.check(decoded.arguments).arguments == {"path": "a.txt", "first": 3}
