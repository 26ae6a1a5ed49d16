"""A tool is sent to each provider in a form that it takes, keyword by keyword, or withheld alone."""

import json
import re
import time
import tracemalloc
from collections.abc import Iterator, Mapping

import jsonschema_rs
import pytest

from bench.search_sets import load_tools
from hilt.core.dialect_key import turned_back, wire_key
from hilt.core.dialect_refs import resolved
from hilt.core.dialect_table import DIALECTS, PROFILES, Act, dialect_of
from hilt.core.dialect_tool import TOLD_MAX_CHARS, FittedTool, fit
from hilt.core.errors import InvalidSpecError
from hilt.core.tool import ToolSpec

TEXT: Mapping[str, object] = {"type": "string"}
# Keyword → an example of a property that holds it.
EXAMPLES: Mapping[str, Mapping[str, object]] = {
    "$comment": {"$comment": "x", "type": "string"},
    "$anchor": {"$anchor": "here", "type": "string"},
    "oneOf": {"oneOf": [TEXT, {"type": "integer"}]},
    "anyOf": {"anyOf": [TEXT, {"type": "integer"}]},
    "allOf": {"allOf": [{"type": "string"}, {"maxLength": 3}]},
    "const": {"const": "a"},
    "type": {"type": ["string", "null"], "minLength": 1},
    "types": {"type": ["string", "integer", "null"], "minLength": 1, "minimum": 2, "description": "Either."},
    "one type": {"type": ["string"]},
    "properties": {"type": "string", "properties": {"a": TEXT}, "required": ["a"]},
    "enum": {"enum": ["a", "b"]},
    "enum of numbers": {"enum": [1, 2]},
    "const number": {"const": 1.5},
    "boolean": {"type": "object", "properties": {"any": True, "none": False}},
    "additionalProperties": {"type": "object", "additionalProperties": TEXT},
    "closed": {"type": "object", "properties": {"a": TEXT}, "additionalProperties": False},
    "minLength": {"type": "string", "minLength": 1},
    "maxLength": {"type": "string", "maxLength": 9},
    "pattern": {"type": "string", "pattern": "^a+$"},
    "look-around": {"type": "string", "pattern": "^(?!x)a"},
    "format": {"type": "string", "format": "date"},
    "odd format": {"type": "string", "format": "phone"},
    "minimum": {"type": "integer", "minimum": 1, "maximum": 2},
    "minItems": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 2},
    "exclusiveMinimum": {"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 3, "multipleOf": 0.5},
    "uniqueItems": {"type": "array", "uniqueItems": True, "contains": TEXT, "minContains": 1, "maxContains": 2},
    "prefixItems": {"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "items": False},
    "minProperties": {"type": "object", "minProperties": 1, "maxProperties": 2},
    "patternProperties": {"type": "object", "patternProperties": {"^x": TEXT, "^y": False}},
    "propertyNames": {"type": "object", "propertyNames": {"maxLength": 3}},
    "unevaluatedProperties": {"type": "object", "unevaluatedProperties": False},
    "unevaluatedItems": {"type": "array", "unevaluatedItems": False},
    "not": {"not": {"type": "string"}},
    "if": {"if": TEXT, "then": {"maxLength": 3}, "else": {"type": "integer"}},
    "dependentRequired": {"type": "object", "dependentRequired": {"a": ["b"]}},
    "dependentSchemas": {"type": "object", "dependentSchemas": {"a": {"required": ["b"]}}},
    "default": {"type": "string", "default": "x"},
    "title": {"type": "string", "title": "X"},
    "examples": {"type": "string", "examples": ["x"]},
    "deprecated": {"type": "string", "deprecated": True},
    "x-order": {"type": "string", "x-order": 3},
    "items": {"type": "array", "items": {"type": "array", "items": {"oneOf": [TEXT]}}},
    "$ref": {"$ref": "#/$defs/Part", "description": "A part."},
    "cycle": {"$ref": "#/$defs/Tree"},
    "whole": {"type": "array", "items": {"$ref": "#"}},
    "anchored": {"$ref": "#named"},
    "outside": {"$ref": "https://example.com/schema.json"},
    "nowhere": {"$ref": "#/$defs/Missing/0", "type": "string"},
}
DEFS: Mapping[str, object] = {
    "Part": {"type": "object", "title": "Part", "properties": {"x": {"const": 1}}},
    "Tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}},
    "Named": {"$anchor": "named", "type": "string", "format": "phone"},
    "Odd": {"type": "string"},
}
_NAMED = {"properties", "$defs", "patternProperties", "dependentSchemas"}
_SCHEMAS = {"items", "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties"}


def spec_of(schema: Mapping[str, object], description: str = "Does it.", name: str = "mcp__srv__tool") -> ToolSpec:
    return ToolSpec(name, description, schema)


def of_property(example: Mapping[str, object], **root: object) -> ToolSpec:
    return spec_of({"type": "object", "properties": {"p": example}, "$defs": DEFS, **root})


def sent(fitted: FittedTool) -> ToolSpec:
    assert fitted.spec is not None, fitted.repairs
    return fitted.spec


def nodes(schema: object) -> Iterator[Mapping[str, object]]:
    """Return every schema object inside a schema."""
    if isinstance(schema, Mapping):
        yield schema
        for keyword, value in schema.items():
            if keyword in _NAMED and isinstance(value, Mapping):
                for below in value.values():
                    yield from nodes(below)
            elif keyword in _SCHEMAS or isinstance(value, list):
                for below in value if isinstance(value, list) else [value]:
                    yield from nodes(below)


def assert_legal(tool: ToolSpec, profile: str, *, strict: bool) -> None:
    schema = tool.schema
    jsonschema_rs.meta.validate(schema)
    assert schema["type"] == "object"
    assert not schema.keys() & {"oneOf", "anyOf", "allOf"}
    dialect = dialect_of(profile if strict or profile != "openai-strict" else "openai")
    kept = {Act.KEEP, Act.ALONE, Act.CLOSED, Act.NULLABLE, Act.KNOWN}
    for node in nodes(schema):
        for keyword, value in node.items():
            if keyword in ("$defs", "nullable"):
                continue
            act = dialect.act(keyword)
            beside = keyword == "properties" and node.get("type", "object") == "object"
            texts = keyword == "enum" and isinstance(value, list) and all(isinstance(one, str) for one in value)
            types = keyword == "type" and isinstance(value, str)
            assert act in kept or beside or texts or types, f"{keyword} in {node}"
            if keyword == "type" and act is not Act.KEEP:
                assert isinstance(value, str)
            if keyword == "$ref":
                assert isinstance(value, str)
                assert resolved(schema, value) is not None
                assert act is not Act.ALONE or set(node) == {"$ref"}
        if dialect.strict and node.get("type") == "object":
            properties = node.get("properties")
            assert isinstance(properties, dict)
            assert (node["required"], node["additionalProperties"]) == (list(properties), False)


@pytest.mark.req("PRV-01", "PRV-02")
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("keyword", EXAMPLES)
def test_every_keyword_is_kept_or_rewritten_as_the_table_says(keyword: str, profile: str) -> None:
    example = EXAMPLES[keyword]
    for spec in (
        of_property(example),
        of_property(example, required=["p"]),
        of_property({"type": "array", "items": example}),
        of_property({"type": "object", "properties": {"in": example}}),
        spec_of({"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": DEFS, "oneOf": [
            {"type": "object", "properties": {"p": example}, "required": ["p"]}, {"$ref": "#/$defs/Part"}]}),
    ):  # fmt: skip
        fitted = fit(spec, profile)
        assert_legal(sent(fitted), profile, strict=fitted.strict)


def wire(schema: Mapping[str, object], profile: str) -> Mapping[str, object]:
    schema_ = sent(fit(of_property(schema), profile)).schema
    properties = schema_["properties"]
    assert isinstance(properties, dict)
    found: Mapping[str, object] = properties["p"]
    return found


@pytest.mark.req("PRV-01")
@pytest.mark.parametrize(
    ("profile", "keyword", "expected"),
    [
        ("openai", "oneOf", {"oneOf": [TEXT, {"type": "integer"}]}),
        ("gemini", "oneOf", {"anyOf": [TEXT, {"type": "integer"}]}),
        ("gemini", "allOf", {"type": "string", "maxLength": 3}),
        ("gemini", "type", {"type": "string", "nullable": True, "minLength": 1}),
        (
            "gemini",
            "types",
            {
                "anyOf": [{"type": "string", "minLength": 1}, {"type": "integer", "minimum": 2}],
                "nullable": True,
                "description": "Either.",
            },
        ),
        ("generic", "type", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ("generic", "one type", {"type": "string"}),
        ("generic", "const", {"enum": ["a"]}),
        ("generic", "const number", {"type": "number"}),
        ("gemini-json", "const number", {"enum": [1.5]}),
        ("generic", "enum of numbers", {"type": "integer"}),
        ("generic", "properties", {"type": "string"}),
        ("generic", "boolean", {"type": "object", "properties": {"any": {}}}),
        ("generic", "outside", {}),
        ("anthropic", "nowhere", {"type": "string"}),
        ("generic", "$ref", {"type": "object", "description": "A part.", "properties": {"x": {"type": "integer"}}}),
        ("gemini-json", "$ref", {"$ref": "#/$defs/Part"}),
        ("anthropic", "$ref", {"$ref": "#/$defs/Part", "description": "A part."}),
        (
            "generic",
            "cycle",
            {"type": "object", "properties": {"kids": {"type": "array", "items": {"type": "object"}}}},
        ),
    ],
)
def test_what_is_rewritten_keeps_its_meaning(profile: str, keyword: str, expected: Mapping[str, object]) -> None:
    assert wire(EXAMPLES[keyword], profile) == expected


@pytest.mark.req("PRV-28")
def test_strict_mode_closes_objects_and_makes_optional_properties_nullable_or_gives_way_for_one_tool() -> None:
    schema: Mapping[str, object] = {
        "type": "object",
        "properties": {
            "a": TEXT,
            "b": {"type": "integer"},
            "c": {"enum": ["x"]},
            "d": {"type": ["string", "null"]},
        },
        "required": ["a"],
    }
    fitted = fit(spec_of(schema), "openai-strict")
    assert fitted.strict
    assert sent(fitted).schema == {
        "type": "object",
        "properties": {
            "a": TEXT,
            "b": {"type": ["integer", "null"]},
            "c": {"anyOf": [{"enum": ["x"]}, {"type": "null"}]},
            "d": {"type": ["string", "null"]},
        },
        "required": ["a", "b", "c", "d"],
        "additionalProperties": False,
    }
    lost = fit(of_property(EXAMPLES["patternProperties"]), "openai-strict")
    assert not lost.strict
    assert sent(lost).schema == sent(fit(of_property(EXAMPLES["patternProperties"]), "openai")).schema
    assert lost.repairs[0].rule == "strict"


@pytest.mark.req("PRV-15", "PRV-22")
@pytest.mark.parametrize("profile", PROFILES)
def test_a_root_union_becomes_one_object_and_the_alternatives_are_told(profile: str) -> None:
    schema: Mapping[str, object] = {
        "properties": {"common": TEXT},
        "required": ["common"],
        "anyOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "n": TEXT}, "required": ["kind", "n"]},
            {"type": "object", "properties": {"kind": {"const": "b"}, "n": {"type": "integer"}}, "required": ["kind"]},
            {"type": "string"},
        ],
        "allOf": [{"properties": {"more": TEXT}, "required": ["more"]}],
    }
    tool = sent(fit(spec_of(schema), profile))
    properties, required = tool.schema["properties"], tool.schema["required"]
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    assert list(properties) >= ["common", "kind", "more", "n"]
    if profile != "openai-strict":
        assert sorted(required) == ["common", "kind", "more"]
        assert properties["kind"] == {"enum": ["a", "b"]}
    assert tool.description.startswith("Does it.\n\nNot in the schema: ")
    assert "give one of these sets: (kind, n) or (kind)" in tool.description


@pytest.mark.req("PRV-16", "PRV-26")
@pytest.mark.parametrize(
    "schema",
    [{"anyOf": [{"type": "string"}, {"type": "array"}]}, {"allOf": [{"type": "string"}]}, {"oneOf": [True]}],
)
def test_a_root_that_no_branch_makes_an_object_is_withheld(schema: Mapping[str, object]) -> None:
    fitted = fit(spec_of(schema), "openai")
    assert fitted.spec is None
    assert fitted.withheld is not None
    assert (fitted.withheld.kind, fitted.withheld.rule) == ("withheld", "root")


@pytest.mark.req("PRV-13")
def test_property_keys_that_do_not_fit_are_sent_under_others_and_turned_back() -> None:
    schema: Mapping[str, object] = {
        "type": "object",
        "properties": {"a b": {"type": "array", "items": {"type": "object", "properties": {"Ä": TEXT}}}, "fine": TEXT},
        "required": ["a b"],
    }
    fitted = fit(spec_of(schema), "generic")
    out = sent(fitted).schema
    key = wire_key("a b")
    assert re.fullmatch(r"a_b_[0-9a-f]{8}", key)
    assert out["required"] == [key]
    arguments = {key: [{wire_key("Ä"): "x"}], "fine": "y"}
    assert turned_back(arguments, fitted.keys) == {"a b": [{"Ä": "x"}], "fine": "y"}
    assert sent(fit(spec_of(schema), "openai")).schema == schema
    assert wire_key("k" * 65).startswith("k" * 55 + "_")


@pytest.mark.req("PRV-21")
def test_an_empty_description_becomes_a_sentence_where_the_provider_wants_text() -> None:
    spec = spec_of({"type": "object", "properties": {}}, " ")
    assert sent(fit(spec, "bedrock")).description == "The tool tool of the server srv."
    assert sent(fit(spec, "openai")) is spec
    assert sent(fit(ToolSpec("Read"), "generic")).description == "The tool Read."


@pytest.mark.req("PRV-22")
def test_what_was_dropped_is_told_in_one_form_of_at_most_five_hundred_characters() -> None:
    tool = sent(fit(of_property({"type": "string", "maxLength": 9, "format": "phone"}), "generic"))
    assert tool.description == "Does it.\n\nNot in the schema: p: format phone; p: maxLength 9."
    many = {f"p{n}": {"type": "string", "pattern": "x" * 50} for n in range(50)}
    long = sent(fit(spec_of({"type": "object", "properties": many}), "generic")).description
    assert len(long) == len("Does it.") + TOLD_MAX_CHARS
    assert long.endswith("…")
    alone = sent(fit(spec_of({"properties": {"p": {"maxLength": 1}}}, ""), "gemini-json")).description
    assert alone == "Not in the schema: p: maxLength 1."


@pytest.mark.req("PRV-17", "PRV-19")
@pytest.mark.parametrize("profile", PROFILES)
def test_a_schema_that_contains_itself_or_grows_without_bound_stays_small(profile: str) -> None:
    union: Mapping[str, object] = {
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/N"}},
        "$defs": {"N": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "array", "items": {"$ref": "#/$defs/N"}}, TEXT]}},
    }
    bomb: Mapping[str, object] = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/d0"}},
        "$defs": {
            f"d{n}": {
                "type": "object",
                "properties": {f"p{m}": {"$ref": f"#/$defs/d{n + 1}"} for m in range(10)} if n < 19 else {},
            }
            for n in range(20)
        },
    }
    for schema, most in ((union, 20_000), (bomb, 64 * 1024)):
        spec = spec_of(schema)
        begun = time.process_time()
        fitted = fit.__wrapped__(spec, profile)
        assert time.process_time() - begun < 0.5  # 0.03 s where nothing measures it
        assert len(sent(fitted).schema_json) < most
        if schema is bomb and profile in ("gemini", "generic"):
            assert '"p9"' in sent(fitted).schema_json
        assert_legal(sent(fitted), profile, strict=fitted.strict)
        tracemalloc.start()
        fit.__wrapped__(spec, profile)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10 * 2**20


@pytest.mark.req("PRV-18")
@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_too_large_is_withheld_and_what_is_too_deep_is_a_stub(profile: str) -> None:
    large = {f"p{n}": {"type": "string", "description": "x" * 900} for n in range(300)}
    fitted = fit(spec_of({"type": "object", "properties": large}), profile)
    assert fitted.withheld is not None
    assert fitted.withheld.rule == "too-large"
    wide = dict(list(large.items())[:100])
    cut = fit(spec_of({"type": "object", "properties": wide}), profile)
    assert len(sent(cut).schema_json) <= 64 * 1024
    assert "stub" in {repair.rule for repair in cut.repairs}
    deep: dict[str, object] = {"type": "string", "title": "bottom"}
    for _ in range(40):
        deep = {"type": "object", "properties": {"in": deep}}
    found = fit(spec_of(deep), profile)
    assert sent(found).schema_json.count('"in"') <= 51
    assert "more of the same inside" in sent(found).description


@pytest.mark.req("PRV-20")
@pytest.mark.parametrize("profile", PROFILES)
def test_a_reference_that_leads_out_or_nowhere_is_open_and_reported(profile: str) -> None:
    for name in ("outside", "nowhere"):
        fitted = fit(of_property(EXAMPLES[name]), profile)
        assert "$ref" not in sent(fitted).schema_json
        assert any(repair.rule == "ref-nowhere" and repair.pointer == "/properties/p/$ref" for repair in fitted.repairs)


@pytest.mark.req("PRV-11", "PRV-24", "PRV-25")
def test_real_tools_are_fitted_quickly_the_same_each_time_and_stay_unchanged() -> None:
    specs = []
    for item in load_tools("steps"):
        try:
            specs.append(ToolSpec(f"mcp__{item.server}__{item.name}", item.description, item.schema))
        except InvalidSpecError:
            continue
    assert len(specs) > 520
    before = [spec.to_json() for spec in specs]
    for profile in PROFILES:
        begun = time.process_time()
        first = [fit.__wrapped__(spec, profile) for spec in specs]
        assert time.process_time() - begun < 1.0
        assert first == [fit.__wrapped__(spec, profile) for spec in specs]
        for fitted in first:
            assert_legal(sent(fitted), profile, strict=fitted.strict)
    assert [spec.to_json() for spec in specs] == before


def test_an_unknown_profile_is_generic() -> None:
    assert set(DIALECTS) == set(PROFILES)
    assert dialect_of("unheard of").name == "generic"


def test_a_tool_that_fits_is_sent_as_it_is() -> None:
    spec = spec_of({"type": "object", "properties": {"a": TEXT}, "required": ["a"]})
    for profile in set(PROFILES) - {"openai-strict"}:
        assert sent(fit(spec, profile)) is spec
    assert json.loads(sent(fit(spec, "openai-strict")).schema_json)["additionalProperties"] is False
