"""Words of texts in any script, queries of any form, and the order of what they find."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.memory_text import QUERY_WORDS_MAX, excerpt, folded, query_words, ranked, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("POL-358, don't!", ["pol", "358", "don", "t"]),
        ("Müller CAFÉ Straße", ["muller", "cafe", "strasse"]),
        ("cafe\u0301", ["cafe"]),
        ("\uff21\uff22\uff23 ①", ["abc", "1"]),
        ("max_tokens", ["max", "tokens"]),
        ("Сергей", ["сергеи"]),
        ("登录 ok", ["登", "录", "登录", "ok"]),
        ("가나", ["가", "나", "가나"]),
        ("が", ["が"]),
        ("\U00020000\U00020001", ["\U00020000", "\U00020001", "\U00020000\U00020001"]),
        ("\x00 \ud800 '\"*():^", []),
    ],
)
def test_the_words_of_a_text(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_a_query_asks_for_pairs_where_words_are_not_divided_and_for_one_character_alone() -> None:
    assert query_words("登录失败 录 x x") == ["登录", "录失", "失败", "录", "x"]
    assert query_words("") == query_words("*** \t") == []


def test_a_long_query_is_cut() -> None:
    many = " ".join(f"w{number}" for number in range(1000))
    assert len(query_words(many)) == QUERY_WORDS_MAX
    assert query_words("x" * 100_000) == ["x" * 10_000]


@given(st.text(), st.lists(st.text(), max_size=5))
def test_any_text_is_a_query_and_any_text_is_searched(query: str, texts: list[str]) -> None:
    wanted = query_words(query)
    found = ranked(wanted, texts)
    sharing = {at for at, text in enumerate(texts) if set(wanted) & set(words(text))}
    assert {at for at, _ in found} == sharing
    assert all(0 < score <= 1 for _, score in found)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


@given(st.text())
def test_a_text_is_found_by_itself(text: str) -> None:
    assert bool(ranked(query_words(text), [text])) is bool(query_words(text))
    assert folded(folded(text)) == folded(text) or not text.isascii()


def test_more_words_stand_before_rarer_ones_and_the_later_of_equals_first() -> None:
    texts = ["rare", "common common", "common and rare", "common", "common"]
    assert [at for at, _ in ranked(query_words("rare common"), texts)][:2] == [2, 0]
    assert [at for at, _ in ranked(query_words("common"), ["common", "x", "common"])] == [2, 0]


def test_an_excerpt_is_the_stretch_with_most_of_the_words() -> None:
    text = "a " * 300 + "needle one " + "b " * 300 + "needle and thread here" + " c" * 300
    cut = excerpt(text, query_words("needle thread"), max_chars=100)
    assert cut.startswith("…")
    assert cut.endswith("…")
    assert "needle and thread" in cut
    assert len(cut) == 102
    assert excerpt("short", ["x"], max_chars=100) == "short"
    assert excerpt("y" * 200, ["x"], max_chars=100) == "y" * 100 + "…"
    assert excerpt("z " * 200 + "登录", query_words("登录"), max_chars=50).endswith("登录")
