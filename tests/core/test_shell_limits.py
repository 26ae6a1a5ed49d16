"""No text makes the analysis raise, hang or take long."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.permission import Effect
from hilt.core.session import Mode
from hilt.core.shell import Analysis, analyse
from tests.core.rules import book, shell

_MARKS = [
    "${",
    "}",
    "$'",
    "#",
    "<<a",
    "<",
    ">",
    ">&",
    "<(",
    "!",
    "[[",
    "((",
    "if",
    "then",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "case",
    "esac",
    ";;",
    "function",
]
_PIECES = st.sampled_from(
    [
        *_MARKS,
        "a",
        "ls ",
        "rm x",
        " ",
        ";",
        "&&",
        "|",
        "|&",
        "&",
        "\n",
        "(",
        ")",
        "{ ",
        "; }",
        "$(",
        "`",
        '"',
        "'",
        "\\",
        "$x",
        "eval ",
        "env ",
        "sh -c ",
        "find -exec ",
        "sudo ",
        "[ ",
        " ]",
        "in ",
        "if ",
        "do ",
        "{a,b}",
        "*",
        "=",
        "x=",
        "\t",
        "\0",
        "\ud800",
        "é",
        "\u2028",
    ]
)


def _milliseconds(line: str) -> float:
    spent = []
    for _ in range(3):
        start = time.process_time()
        found = analyse(line)
        spent.append(time.process_time() - start)
        assert isinstance(found, Analysis)
        assert found.subjects()
    return min(spent) * 1000


@pytest.mark.req("PRM-71")
@given(st.lists(_PIECES, max_size=60).map("".join))
def test_no_text_makes_the_analysis_raise(line: str) -> None:
    assert _milliseconds(line) < 50


@pytest.mark.req("PRM-71")
@given(st.text(max_size=200))
def test_no_characters_make_the_analysis_raise(line: str) -> None:
    assert analyse(line).command == line


@pytest.mark.req("PRM-71")
@given(
    st.lists(_PIECES, max_size=4).map("".join),
    st.lists(_PIECES, min_size=1, max_size=4).map("".join),
    st.sampled_from([2048, 4096, 32768]),
)
def test_no_repetition_makes_the_analysis_slow(start: str, unit: str, length: int) -> None:
    assert _milliseconds((start + unit * length)[:length]) < 50


@pytest.mark.req("PRM-71")
@pytest.mark.parametrize(
    "unit", ["a|", "<<a ", "${", "(", ")", "'", '"', "#", "\n", " \n", "\\", "$(", "`", "case a in ", "[[ "]
)
def test_thirty_two_kibibytes_of_one_mark_are_no_trouble(unit: str) -> None:
    assert _milliseconds((unit * 32768)[:32768]) < 50


@pytest.mark.req("PRM-71")
@given(st.lists(_PIECES, max_size=20).map("".join), st.sampled_from(Mode))
def test_any_command_can_be_decided(line: str, mode: Mode) -> None:
    rules = book("deny shell(rm *$*)", "ask shell(git \\**)", "allow shell(ls:*)")
    assert shell(rules, line, mode) in Effect
