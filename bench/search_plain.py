"""Plain BM25, what hilt's ranking is held against: one text a tool, its name counted twice, k1 1.2, b 0.75."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from heapq import nsmallest

from bench.search_sets import Item
from hilt.core.search_text import parameter_text

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[0-9a-z]+")


def _words(text: str) -> list[str]:
    return _WORD.findall(_CAMEL.sub(" ", text).lower())


class PlainIndex:
    """An inverted index in memory."""

    def __init__(self, items: Sequence[Item], *, k1: float = 1.2, b: float = 0.75) -> None:
        self._ids = [item.id for item in items]
        counts = [Counter(_words(_text(item))) for item in items]
        lengths = [sum(count.values()) for count in counts]
        mean = sum(lengths) / len(lengths)
        raw: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, count in enumerate(counts):
            norm = k1 * (1 - b + b * lengths[place] / mean)
            for word, times in count.items():
                raw[word].append((place, times * (k1 + 1) / (times + norm)))
        total = len(items)
        self._terms = {
            word: [
                (place, strength * math.log(1 + (total - len(rows) + 0.5) / (len(rows) + 0.5)))
                for place, strength in rows
            ]
            for word, rows in raw.items()
        }

    def find(self, query: str) -> list[str]:
        """Return the ids of the ten best tools."""
        scores: dict[int, float] = {}
        for word in dict.fromkeys(_words(query)):
            for place, strength in self._terms.get(word, ()):
                scores[place] = scores.get(place, 0.0) + strength
        best = nsmallest(10, scores.items(), key=lambda row: (-row[1], row[0]))
        return [self._ids[place] for place, _ in best]


def _text(item: Item) -> str:
    return " ".join((item.name, item.name, item.description, item.server, *parameter_text(item.schema)))
