"""Search in what was kept: the words of a text in any script, and which texts share words with a query.

Any text is a query: what is no word in it is passed over, and nothing in it is an operator.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

QUERY_MAX_CHARS: Final = 10_000
QUERY_WORDS_MAX: Final = 256

# Scripts that are written without spaces, or whose words carry endings of their own: Thai, Lao, Burmese, Khmer, kana,
# Han, Hangul.
_UNSPACED: Final = (
    "\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u109f\u1780-\u17d3\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_WORD: Final = re.compile(rf"([{_UNSPACED}]+)|[^\W_{_UNSPACED}]+")
_ASCII_WORD: Final = re.compile("[a-z0-9]+")
_ACCENTS: Final = re.compile("[\u0300-\u036f]+")

_K1: Final = 1.2
_B: Final = 0.75


def folded(text: str) -> str:
    """Return the text as it is compared: without case, accents, and the width or style of its characters."""
    if text.isascii():
        return text.lower()
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", plain)


def words(text: str) -> list[str]:
    """Return the words of a text in order; of text without spaces each character and each pair of neighbours."""
    return _split(folded(text))


def _split(plain: str) -> list[str]:
    if plain.isascii():
        found: list[str] = _ASCII_WORD.findall(plain)
        return found
    out: list[str] = []
    for match in _WORD.finditer(plain):
        word = match[0]
        if match[1] is None:
            out.append(word)
        else:
            out.extend(word)
            out.extend(_pairs(word))
    return out


def query_words(text: str) -> list[str]:
    """Return each word that a query asks for once, in order, at most 256 of its first 10,000 characters."""
    found: dict[str, None] = {}
    for match in _WORD.finditer(folded(text[:QUERY_MAX_CHARS])):
        word = match[0]
        for one in [word] if match[1] is None or len(word) == 1 else _pairs(word):
            found[one] = None
            if len(found) == QUERY_WORDS_MAX:
                return list(found)
    return list(found)


def _pairs(word: str) -> list[str]:
    return [word[at : at + 2] for at in range(len(word) - 1)]


def ranked(query: Sequence[str], texts: Sequence[str]) -> list[tuple[int, float]]:
    """Return position and score of each text that shares a word with the query, best first.

    A text with more of the query's words stands before one with fewer, whatever else; the score is above 0, at most 1,
    and falls along the list. Of equal texts the later one stands first.
    """
    counted: dict[int, tuple[dict[str, int], int]] = {}
    for at, text in enumerate(texts):
        plain = folded(text)
        here = [word for word in query if word in plain]
        if here:
            all_ = Counter(_split(plain))
            counts = {word: all_[word] for word in here if word in all_}
            if counts:
                counted[at] = (counts, all_.total())
    holders = Counter(word for counts, _ in counted.values() for word in counts)
    weight = {word: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for word, n in holders.items()}
    mean = sum(length for _, length in counted.values()) / max(len(counted), 1)
    scores = [(at, _score(counts, weight, length / mean, asked=len(query))) for at, (counts, length) in counted.items()]
    return sorted(scores, key=lambda one: (-one[1], -one[0]))


def _score(counts: dict[str, int], weight: dict[str, float], length: float, *, asked: int) -> float:
    """Return how well a text fits: how many of the words it has, and below that BM25."""
    damping = _K1 * (1 - _B + _B * length)
    fit = sum(weight[word] * n * (_K1 + 1) / (n + damping) for word, n in counts.items())
    return (len(counts) - 1 + fit / (fit + 1)) / asked


def excerpt(text: str, query: Sequence[str], *, max_chars: int) -> str:
    """Return the stretch of the text that holds most of the query's words, with marks where something is left out."""
    if len(text) <= max_chars:
        return text
    places = list(_places(text, frozenset(query))) or [0]
    best, most, first = 0, 0, 0
    for last, place in enumerate(places):
        while place - places[first] > max_chars // 2:
            first += 1
        if last - first + 1 > most:
            best, most = first, last - first + 1
    start = max(min(places[best] - max_chars // 4, len(text) - max_chars), 0)
    piece = text[start : start + max_chars]
    return f"{'…' if start else ''}{piece}{'…' if start + max_chars < len(text) else ''}"


def _places(text: str, query: frozenset[str]) -> Iterator[int]:
    for match in _WORD.finditer(text):
        if not query.isdisjoint(words(match[0])):
            yield match.start()
