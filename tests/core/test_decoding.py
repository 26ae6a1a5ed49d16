"""From a model's argument text to a JSON object."""

import contextlib
import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.arguments.decoding import TEXT_MAX_BYTES, check_nesting
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.schema import Decoded, decode_arguments

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def _refusal(text: str) -> str:
    with pytest.raises(ToolError) as refusal:
        decode_arguments(text)
    assert refusal.value.code is ErrorCode.INVALID_ARGUMENTS
    return refusal.value.reason


@pytest.mark.req("DSP-30")
@pytest.mark.parametrize("text", ["", " \n\t", "null", " null "])
def test_nothing_blanks_and_null_mean_no_arguments(text: str) -> None:
    assert decode_arguments(text) == Decoded({})


@pytest.mark.req("DSP-31")
def test_text_that_is_not_json_is_told_with_the_parsers_message_and_position() -> None:
    assert _refusal('{"a": tru}') == "the text is not JSON: Expecting value at line 1, column 7 (character 6)"


@pytest.mark.req("DSP-31")
@pytest.mark.parametrize("text", ['{"a": 1', '{"a": "x', '{"a":', '{"a": [1, 2'])
def test_text_that_ends_too_early_is_called_incomplete(text: str) -> None:
    assert _refusal(text).startswith("the JSON is incomplete: ")


@pytest.mark.req("DSP-32")
def test_a_json_string_with_an_object_is_read_once_more_and_marked() -> None:
    text = json.dumps(json.dumps({"a": 1}))
    assert decode_arguments(text) == Decoded({"a": 1}, ("recovered from a JSON string",))
    assert _refusal(json.dumps(text)) == "expected a JSON object, got a string"


@pytest.mark.req("DSP-31", "DSP-32")
def test_a_broken_object_inside_a_string_is_told_as_such() -> None:
    assert _refusal(json.dumps('{"a":')).startswith("inside a JSON string, the JSON is incomplete: ")


@pytest.mark.req("DSP-33")
@pytest.mark.parametrize(
    ("text", "kind"),
    [("[1]", "a list"), ("4", "a number"), ("4.5", "a number"), ("true", "a boolean"), ('"x"', "a string")],
)
def test_json_that_is_no_object_is_refused_by_kind(text: str, kind: str) -> None:
    assert _refusal(text) == f"expected a JSON object, got {kind}"


@pytest.mark.req("DSP-39")
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_numbers_that_are_none_are_refused(number: str) -> None:
    assert number in _refusal(f'{{"a": {number}}}')


@pytest.mark.req("DSP-39")
def test_an_integer_of_more_digits_than_can_be_read_is_refused() -> None:
    assert _refusal('{"a": ' + "9" * 5000 + "}") == "a number has too many digits"


@pytest.mark.req("DSP-39")
@pytest.mark.parametrize("levels", [101, 900, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_more_than_a_hundred_levels_are_refused(levels: int, opening: str, closing: str) -> None:
    inner = levels - 1
    text = '{"a":' + opening * inner + "1" + closing * inner + "}"
    assert _refusal(text) == "the JSON nests deeper than 100 levels"


@pytest.mark.req("DSP-39")
def test_a_hundred_levels_and_many_brackets_side_by_side_are_read() -> None:
    deep = '{"a":' + "[" * 99 + "]" * 99 + ', "b": [' + ", ".join(["{}"] * 500) + "]}"
    assert list(decode_arguments(deep).arguments) == ["a", "b"]


@pytest.mark.req("DSP-39")
@pytest.mark.parametrize("letter", ["a", "é"])
def test_more_than_four_mebibytes_are_refused(letter: str) -> None:
    size = len(letter.encode())
    fitting = '{"a":"' + letter * ((TEXT_MAX_BYTES - 8) // size) + '"}'
    assert len(fitting.encode()) in (TEXT_MAX_BYTES - 1, TEXT_MAX_BYTES)
    assert list(decode_arguments(fitting).arguments) == ["a"]
    assert "at most 4194304 are read" in _refusal(fitting[:-2] + letter * 2 + '"}')


@pytest.mark.parametrize("text", ['{"a": "\\ud800"}', '{"\\uDC00": 1}', '{"a": "\ud800"}'])
def test_half_a_surrogate_pair_is_refused(text: str) -> None:
    assert "half a surrogate pair" in _refusal(text)


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert decode_arguments('{"a": "\\ud83d\\ude00"}').arguments == {"a": "😀"}


def test_integers_keep_every_digit_and_floats_stay_floats() -> None:
    arguments = decode_arguments(f'{{"big": {10**40 + 1}, "whole": 5.0, "small": 1e-7}}').arguments
    assert arguments == {"big": 10**40 + 1, "whole": 5.0, "small": 1e-7}
    assert isinstance(arguments["whole"], float)


def test_a_plain_value_has_no_levels() -> None:
    check_nesting("text")


@pytest.mark.req("DSP-31", "DSP-33", "DSP-39")
@given(st.text() | st.text(alphabet=string.punctuation + "0123456789eEtruefalsn \\\n") | _JSON.map(json.dumps))
def test_any_text_gives_an_object_or_one_error(text: str) -> None:
    # Any other exception would end the test.
    with contextlib.suppress(ToolError):
        assert isinstance(decode_arguments(text).arguments, dict)


@given(st.dictionaries(st.text(), _JSON))
def test_an_object_that_json_can_write_is_read_back_as_it_was(value: dict[str, object]) -> None:
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    except ValueError:
        return
    assert decode_arguments(text).arguments == value
