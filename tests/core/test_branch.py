"""Branches of a Parallel call: who is best, what fits into a report, and how room is shared."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.branch import Branch, Choice, Rating, best_rated, judge_prompt, rating_prompt, read_choice, read_rating
from hilt.core.branch_report import REPORT_CAP_BYTES, all_failed, report_all, report_one
from hilt.core.child import Child
from hilt.core.json_text import json_bytes, shares

TEXTS = st.lists(st.text(alphabet='aé"\n\\😀', max_size=400), min_size=1, max_size=16)


def branch(number: int, output: str = "", *, error: str = "", task: str = "t") -> Branch:
    """Return a branch that ended."""
    state: dict[str, object] = {"state": "failed", "error": error} if error else {"state": "completed"}
    return Branch(number=number, task=task, child=Child(id=f"a{number}", name="n", output=output, **state))  # type: ignore[arg-type]  # a state of the two


@given(texts=TEXTS, budget=st.integers(0, 4_000))
def test_room_is_shared_so_that_short_texts_are_whole_and_none_is_wasted(texts: list[str], budget: int) -> None:
    sizes = [json_bytes(text) for text in texts]
    given_ = shares(texts, budget_bytes=budget)
    assert sum(given_) <= budget
    assert all(part <= size for part, size in zip(given_, sizes, strict=True))
    cut = [part for part, size in zip(given_, sizes, strict=True) if part < size]
    if cut:
        assert sum(given_) == budget
        assert max(given_) <= max(cut) + 1
        assert max(cut) - min(cut) <= 1
    assert shares(texts, budget_bytes=-1) == [0] * len(texts)


@pytest.mark.req("BLT-70")
@pytest.mark.parametrize("text", ["x" * 90_000, '"' * 90_000, "é" * 90_000, "😀" * 90_000])
def test_sixteen_long_results_or_errors_are_valid_json_within_the_cap(text: str) -> None:
    branches = [branch(number, text, error=text if number % 2 else "") for number in range(1, 17)]
    for shown in (report_all(branches, note="n" * 500), report_one(Choice(number=2, reason=text), branches)):
        assert isinstance(json.loads(shown), dict)
        assert len(shown.encode()) <= REPORT_CAP_BYTES
    failed = all_failed([branch(number, error=text) for number in range(1, 17)])
    assert len(failed.content("Parallel").encode()) < 60_000


@pytest.mark.req("BLT-70")
def test_the_earliest_of_the_best_rated_wins_and_whole_numbers_may_come_as_decimals() -> None:
    ratings = [read_rating(number, json.dumps({"score": score, "reason": "r"})) for number, score in ((3, 8.0), (1, 8))]
    assert ratings == [Rating(number=3, score=8, reason="r"), Rating(number=1, score=8, reason="r")]
    assert best_rated(ratings) == Choice(number=1, reason="rated 8 of 10: r")
    assert read_choice('{"best": 2.0, "reason": "r"}') == Choice(number=2, reason="r")


@pytest.mark.req("BLT-70")
def test_those_who_compare_are_shown_a_bounded_part_of_everything() -> None:
    long = "w" * 300_000
    branches = [branch(number, long, task=long) for number in range(1, 17)]
    assert len(judge_prompt(branches, shared=long, criteria="")) < 220_000
    assert len(rating_prompt(branches[0], shared=long, criteria="")) < 130_000
    short = [branch(1, "one"), branch(2, long)]
    assert "--- result 1 ---\none\n" in judge_prompt(short, shared="", criteria="")
