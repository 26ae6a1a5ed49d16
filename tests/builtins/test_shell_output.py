"""Fitting what a command wrote into a cap: whole characters, the exact size, marks that tell the truth."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.builtins.shell.output import StreamText, decode
from hilt.core.json_text import cut, fit, json_bytes

WAY = r"; ReadResult\(handle='h', offset=(\d+)\) shows them"
MARK = re.compile(rf"\n\[\.\.\. (\d+) of (\d+) bytes left out(?:{WAY})? \.\.\.\]\n")


@pytest.mark.req("BLT-36")
@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), min_size=200, max_size=900),
    budget=st.integers(150, 400),
)
def test_a_cut_text_fits_and_its_mark_tells_what_is_missing(text: str, budget: int) -> None:
    kept: list[str] = []

    def keep(whole: str) -> str:
        kept.append(whole)
        return "h"

    shown = cut(text, budget, keep=keep)
    assert json_bytes(shown) <= budget
    if shown == text:
        assert kept == []
        return
    assert kept == [text]
    mark = [found for found in MARK.finditer(shown) if int(found[2]) == len(text.encode())][-1]
    head, tail = shown[: mark.start()], shown[mark.end() :]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert int(mark[1]) == len(text.encode()) - len(head.encode()) - len(tail.encode())
    assert int(mark[3]) == len(head.encode())


@given(out=st.text(max_size=600), err=st.text(max_size=600), budget=st.integers(300, 800))
def test_two_streams_share_one_budget(out: str, err: str, budget: int) -> None:
    shown = fit(out, err, budget_bytes=budget)
    assert json_bytes(shown[0]) + json_bytes(shown[1]) <= budget
    if json_bytes(out) + json_bytes(err) <= budget:
        assert shown == (out, err)


@pytest.mark.req("BLT-36")
def test_a_short_stream_leaves_its_share_to_the_other() -> None:
    out, err = fit("x" * 2000, "short", budget_bytes=1000)
    assert err == "short"
    assert 980 <= len(out) <= 995
    out, err = fit("short", "x" * 2000, budget_bytes=1000)
    assert out == "short"
    assert 980 <= len(err) <= 995
    out, err = fit("x" * 2000, "y" * 2000, budget_bytes=1000)
    assert 480 <= len(out) <= 500
    assert 480 <= len(err) <= 500


def test_a_budget_smaller_than_the_mark_leaves_the_mark() -> None:
    assert cut("x" * 500, 10) == "\n[... 500 of 500 bytes left out ...]\n"


@pytest.mark.req("BLT-37")
@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a\xff\xfeb\0c", StreamText(text="a\ufffd\ufffdb\0c", lossy=True)),
        ("✓é".encode(), StreamText(text="✓é")),
        (b"", StreamText(text="")),
        (b"\xe2\x9c", StreamText(text="\ufffd", lossy=True)),
    ],
)
def test_bytes_that_are_no_utf8_are_replaced_and_told(content: bytes, text: StreamText) -> None:
    assert decode(content, 0) == text


@pytest.mark.req("BLT-36")
@pytest.mark.parametrize("letter", ["a", "é", "✓", "😀"])
@pytest.mark.parametrize("half", range(8, 16))
def test_a_gap_in_the_middle_of_letters_takes_their_rest_along(letter: str, half: int) -> None:
    whole = (letter * 40).encode()
    kept = whole[:half] + whole[-half:]
    found = decode(kept, len(whole) - len(kept))
    size = len(letter.encode())
    each = letter * (half // size)
    lost = len(whole) - 2 * len(each.encode())
    assert found == StreamText(text=f"{each}\n[... {lost} bytes were not kept ...]\n{each}", dropped=lost)


def test_a_gap_in_bytes_that_are_no_text_is_shown_all_the_same() -> None:
    found = decode(b"\x80" * 20, 5)
    assert found.lossy
    assert json.loads(json.dumps(found.text)).count("\ufffd") >= 14
