"""Words of a command line, quoted as in a shell."""

import shlex

import pytest

from hilt.core.words import OpenQuoteError, split_words

LINES = [
    "",
    "   ",
    "one two\tthree\nfour",
    "'two words' \"two words\" two\\ words",
    "a'b c'd\"e f\"g",
    "'' \"\"",
    '"say \\"hi\\"" \'it is\'',
    "\"a\\\\b\" 'a\\b'",
    "key=value a=b=c",
    'topic="two words" count=3',
    '"a\\nb"',
]


@pytest.mark.req("SKL-52", "MCP-109")
@pytest.mark.parametrize("line", LINES)
def test_words_are_those_of_a_shell(line: str) -> None:
    assert split_words(line) == shlex.split(line)


def test_a_dollar_and_a_backtick_lose_their_backslash_between_double_quotes() -> None:
    assert split_words('"\\$x \\`y\\`"') == ["$x `y`"]


def test_a_backslash_at_the_end_stands_for_itself() -> None:
    assert split_words("a\\") == ["a\\"]


@pytest.mark.req("MCP-109", "SKL-55")
@pytest.mark.parametrize(("line", "place"), [("a 'b c", 2), ('x="y', 2), ("'a' \"", 4), ('"a\\', 0)])
def test_an_open_quote_is_an_error_that_shows_its_place(line: str, place: int) -> None:
    with pytest.raises(OpenQuoteError, match=f"character {place + 1} is never closed") as caught:
        split_words(line)
    assert caught.value.place == place
    assert line[place:] in str(caught.value)


def test_a_long_rest_is_cut_in_the_message() -> None:
    with pytest.raises(OpenQuoteError, match=r"x…$"):
        split_words("'" + "x" * 500)
