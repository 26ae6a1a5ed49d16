"""Keeping results for ReadResult."""

import re

import pytest

from hilt.engine.retained import RESULT_MAX_BYTES, Retained

MIB = 1024 * 1024


@pytest.mark.req("RES-39")
def test_a_kept_result_comes_back_whole() -> None:
    retained = Retained()
    first = retained.keep("text é")
    second = retained.keep('{"a": 1}', structured='{"a": 1}')
    assert retained.get(first).text == "text é"
    assert (retained.get(second).text, retained.get(second).structured) == ('{"a": 1}', '{"a": 1}')


@pytest.mark.req("RES-41", "RES-42", "BLT-96")
def test_at_most_32_results_are_kept_and_the_oldest_go_first() -> None:
    retained = Retained()
    handles = [retained.keep(f"text {number}") for number in range(40)]
    for handle in handles[:8]:
        with pytest.raises(LookupError, match="has expired and is gone"):
            retained.get(handle)
    assert [retained.get(handle).text for handle in handles[8:]] == [f"text {n}" for n in range(8, 40)]


@pytest.mark.req("RES-41")
def test_all_results_have_64_mib_and_one_has_20() -> None:
    retained = Retained()
    assert retained.keep("x" * (RESULT_MAX_BYTES + 1)) == ""
    assert retained.keep("é" * (RESULT_MAX_BYTES // 2 + 1)) == ""
    handles = [retained.keep("x" * (20 * MIB)) for _ in range(3)]
    small = retained.keep("é" * (2 * MIB))  # 64 MiB in all
    assert len(retained.get(handles[0]).text) == 20 * MIB
    retained.keep("x")
    with pytest.raises(LookupError, match="gone"):
        retained.get(handles[0])
    assert len(retained.get(handles[1]).text) == 20 * MIB
    assert len(retained.get(small).text) == 2 * MIB


@pytest.mark.req("BLT-96")
def test_a_handle_of_another_session_is_told_from_one_that_nobody_made() -> None:
    mine, other = Retained(), Retained()
    handle = mine.keep("secret of mine")
    other.keep("something")
    with pytest.raises(LookupError, match="is of another session"):
        other.get(handle)
    for unknown in ("", "r1", "r1-", "r9" + handle[2:], handle + "0", handle[:-1], "é\ud800", "x" * 1000):
        with pytest.raises(LookupError, match="is unknown"):
            mine.get(unknown)


@pytest.mark.req("RES-42")
def test_closing_frees_all_results() -> None:
    retained = Retained()
    handle = retained.keep("text")
    retained.clear()
    with pytest.raises(LookupError, match="gone"):
        retained.get(handle)


def test_handles_are_short_and_cannot_be_guessed() -> None:
    handles = {Retained().keep("x") for _ in range(100)}
    assert len(handles) == 100
    assert all(re.fullmatch("r1-[0-9a-f]{32}", handle) for handle in handles)
