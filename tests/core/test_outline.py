"""Reading JSON for its shape, and what a model is told of it."""

import json
import random
import tracemalloc

import jq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.json_pieces import PIECE_CHARS
from hilt.core.json_reader import read_shape
from hilt.core.json_shape import Merger, Shape
from hilt.core.json_value import json_text, parse_json
from hilt.core.outline import OUTLINE_MAX_BYTES, example_filter, outline

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def shape_of(value: object) -> Shape:
    shape = Shape()
    Merger().add(value, shape, 1)
    return shape


def read(value: object, **how: object) -> object:
    shape = read_shape(json.dumps(value, **how))  # type: ignore[arg-type]  # keywords of dumps
    assert shape is not None
    return json.loads(outline(shape))


def grown(source: random.Random, levels: int) -> object:
    """Return a value of random form, large on some level."""
    kind = source.choice(("list", "dict", "text", "number", "rows")) if levels else source.choice(("text", "number"))
    match kind:
        case "list":
            return [grown(source, levels - 1) for _ in range(source.choice((0, 1, 2, 4)))]
        case "rows":
            row = {f"k{n}": grown(source, 0) for n in range(source.randint(1, 4))}
            return [row] * source.choice((1, 50, 400))
        case "dict":
            return {f'k"{n},}}': grown(source, levels - 1) for n in range(source.choice((0, 1, 2, 6)))}
        case "text":
            return source.choice(("", "},", '"],', "\\", "é" * 50, "[" * 20, "x" * 9_000))
        case _:
            return source.choice((0, -1.5, 10**30, None, True))


@pytest.mark.req("RES-36")
def test_reading_in_pieces_sees_what_reading_at_once_sees() -> None:
    source = random.Random(4)
    for _ in range(60):
        value = grown(source, 4)
        for how in ({}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}):
            assert read_shape(json.dumps(value, **how)) == shape_of(value)


@given(value=JSON_VALUES)
def test_every_value_is_read_and_every_stump_of_a_container_is_none(value: object) -> None:
    text = json.dumps([value])
    assert read_shape(f" {text}\n") == shape_of([value])
    for end in range(len(text)):
        assert read_shape(text[:end]) is None
    assert read_shape(text + text) is None


@pytest.mark.req("RES-32")
@pytest.mark.parametrize("filler", ["[1,2]", '{"a":{"b":[]},"c":"},"}', '"text, and ]"', "1", "[]", '{"a":1}'])
@pytest.mark.parametrize("form", ["[{}]", '{{"rows":[{}]}}', '[[0],{{"a":{{"b":[{}]}}}}]'])
def test_a_fault_anywhere_in_a_long_text_is_seen(filler: str, form: str) -> None:
    count = 3 * PIECE_CHARS // len(filler)
    many = [filler] * count
    good = form.format(",".join(many))
    assert read_shape(good) is not None
    for place in (1, count // 2, count - 1):
        for fault in ("", "{", "]", '"', "1 1", ":", "nul", '{"a"}', "{1:2}", "[1,]"):
            bad = form.format(",".join([*many[:place], fault, *many[place:]]))
            assert read_shape(bad) is None, fault
    assert read_shape(good[:-1]) is None
    assert read_shape(good + ",") is None
    assert read_shape(good.replace(f"{filler},", f"{filler};", 1)) is None


def test_long_items_whitespace_and_deep_nesting() -> None:
    long = "x" * (2 * PIECE_CHARS)
    assert read([long, {long: long, "b": 1}, "[" * 9]) == [
        "3 items",
        ["one of", "string", {"x" * 60 + "…": "string", "b": "number"}],
    ]
    space = " \n\t" * PIECE_CHARS
    assert read_shape(f"{space}[{space}1{space},{space}2{space}]{space}") == shape_of([1, 2])
    assert read_shape(f"[{space}]") == shape_of([])
    assert read_shape(f'{{{space}"a"{space}:{space}1{space}}}') == shape_of({"a": 1})
    assert read_shape(f'{{"a"{space};1}}') is None
    assert read_shape(f'{{"a":"{long}";}}') is None
    inner = f'["{long}"]'
    assert read_shape("[" * 90 + inner + "]" * 90) is not None
    assert read_shape("[" * 150 + inner + "]" * 150) is None
    assert read_shape("[" * 100_000) is None
    assert read_shape("[" * 100_000 + "]" * 100_000) is None
    assert read_shape("9" * 100_000) == shape_of(1)
    assert read_shape("[NaN, -Infinity]") == shape_of([1, 1])
    assert read_shape("") is None


@pytest.mark.req("RES-37")
def test_20_mib_take_little_memory_beyond_the_text() -> None:
    text = json.dumps({"data": [{"id": n, "tags": ["a", "b"]} for n in range(400_000)]})
    tracemalloc.start()
    try:
        shape = read_shape(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert shape is not None
    assert peak < 2 * 1024 * 1024


@pytest.mark.req("RES-36")
def test_an_outline_has_keys_types_and_lengths_and_no_value() -> None:
    value = {
        "items": [{"id": 1, "tags": ["secret"]}, {"id": "s", "tags": [], "more": None}],
        "odd": [1, "secret", {"a": True}, [2]],
        "empty": {},
        "none": [],
    }
    assert read(value) == {
        "items": ["2 items", {"id": "number or string", "tags": ["0 to 1 items", "string"], "more": "null"}],
        "odd": ["4 items", ["one of", "number or string", {"a": "boolean"}, ["1 items", "number"]]],
        "empty": "object of 0 keys",
        "none": "array of 0 items",
    }
    assert "secret" not in json.dumps(read(value))


@pytest.mark.req("RES-36")
def test_items_past_the_hundredth_and_levels_past_the_sixth_are_not_looked_at() -> None:
    assert read([{"a": 1}] * 100 + [{"b": 1}]) == ["101 items", {"a": "number"}]
    assert read([1] * 3000 + ["s"]) == ["3001 items", "number"]
    assert read({"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}}) == {
        "a": {"b": {"c": {"d": {"e": "object of 1 keys"}}}}
    }
    assert read([[[[[[[1]]]]]]]) == ["1 items", ["1 items", ["1 items", ["1 items", ["1 items", "array of 1 items"]]]]]


@pytest.mark.req("RES-36")
@pytest.mark.parametrize(
    "value",
    [
        {f"key {number}": number for number in range(100_000)},
        {f"{number:03}" + "é" * 500: {"a": 1} for number in range(190)},
        [{f"k{a}": {f"k{b}": [1] for b in range(50)} for a in range(50)}],
        {f"k{a}": {f"k{b}": {f"k{c}": 1 for c in range(15)} for b in range(15)} for a in range(15)},
        [[[[[[1] * 3] * 3] * 3] * 3] * 300],
        {"\ud800" * 9 + str(number): "\n" for number in range(1000)},
    ],
)
def test_an_outline_has_at_most_4000_bytes_and_is_the_same_each_time(value: object) -> None:
    texts = [json.dumps(value), json.dumps(value, indent=3), json.dumps(value, separators=(",", ":"))]
    shapes = [read_shape(text) for text in texts]
    assert all(shape is not None for shape in shapes)
    told = {outline(shape) for shape in shapes if shape is not None}
    (only,) = told
    assert len(only.encode("utf-8", "replace")) <= OUTLINE_MAX_BYTES
    assert json.loads(only)


def test_more_keys_are_counted() -> None:
    told = read({f"k{number:05}": number for number in range(5_000)})
    assert isinstance(told, dict)
    assert told["…"] == f"and {5_000 - (len(told) - 1)} more keys"


def test_what_lies_past_the_budget_is_said_to_be_unseen() -> None:
    wide = [[[[{"a": 1}] * 90] * 90] * 90]
    shape = shape_of([*wide, {"late": 1}])
    assert shape.items is not None
    assert "late" not in shape.items.keys
    assert outline(Shape()) == '"not looked at"'


@pytest.mark.req("RES-34")
@pytest.mark.parametrize(
    ("value", "filter_"),
    [
        ([{"id": 1, "name": "n", "x": [1], "at": 2, "z": 3}] * 20, ".[:10] | map({id, name, at})"),
        ({"data": {"items": [{"a b": 1}] * 9}, "n": [1, 2]}, '.data.items[:10] | map({"a b"})'),
        ({"odd key": [1, 2, 3]}, '."odd key"[:10]'),
        ({'"\\(env)': [1, 2, 3]}, r'."\"\\(env)"[:10]'),
        ({"if": [{"and": 1, "é": 2}] * 3}, '.if[:10] | map({and, "\\u00e9"})'),
        ([1, [2], {"a": 3}] * 9, ".[:10]"),
        ([{"a": [1]}] * 9, ".[:10]"),
        ({"a": 1, "b": [1]}, "keys[:20]"),
        ({"k" * 100: [1, 2, 3]}, "keys[:20]"),
        ("text", "type"),
    ],
)
def test_the_example_filter_fits_the_value(value: object, filter_: str) -> None:
    assert example_filter(shape_of(value)) == filter_
    jq.compile(filter_).input_text(json.dumps(value)).all()


@given(value=JSON_VALUES)
def test_every_example_filter_runs(value: object) -> None:
    jq.compile(example_filter(shape_of(value))).input_text(json.dumps(value)).all()


@pytest.mark.req("RES-37")
def test_values_read_and_written_in_pieces_are_those_of_the_standard_library() -> None:
    source = random.Random(5)
    values = [grown(source, 4) for _ in range(60)]
    values += [
        10**400,
        [10**30] * 5_000,
        {"a": [1.5, "é"] * 3_000, "b": {str(n): n for n in range(2_000)}},
        {},
        [],
        "x",
    ]
    for value in values:
        for how in ({}, {"indent": 2}):
            assert parse_json(json.dumps(value, **how)) == value  # type: ignore[arg-type]  # keywords of dumps
        assert json_text(value) == json.dumps(value, ensure_ascii=False)
    assert json_text({1: [2]}) == '{"1": [2]}'
    large = "[" + "1," * PIECE_CHARS + "1"
    for text in ("", "[1,", '{"a":1} 2', large, large + ",]", large + "]]"):
        with pytest.raises(ValueError, match=r"."):
            parse_json(text)
    with pytest.raises(TypeError):
        json_text([{1, 2}])
