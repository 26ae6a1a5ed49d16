"""Ranks tools by the words of a query: exact names first, then fields by weight, endings, synonyms, typing errors.

Every number of a tool depends on that tool alone, but for how rare a word is: so a tool can be added at any time,
and the same tools give the same order in whatever way they came.
"""

import math
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Final, NamedTuple

from hilt.core.search_fusion import fused, nearest
from hilt.core.search_query import SearchQuery
from hilt.core.search_synonyms import synonyms
from hilt.core.search_text import STOP_WORDS, Stems, folded


class _Field(NamedTuple):
    """The weight of one occurrence of a word, and how many words the field usually has."""

    weight: float
    usual: int


_NAME: Final = _Field(5.0, 3)
_SERVER: Final = _Field(1.0, 2)
_DESCRIPTION: Final = _Field(1.5, 20)
_PARAMETER: Final = _Field(0.5, 6)
_SAID: Final = _Field(0.3, 20)
_LENGTH: Final = 0.6
_SATURATION: Final = 2.0
_REPEATS_MAX: Final = 3
# A word in the name outdoes all other fields together, one in the description all parameters (SRC-22).
_NAME_MIN: Final = 3.5
_REST_MAX: Final = 3.49
_DESCRIPTION_MIN: Final = 0.31
_PARAMETERS_MAX: Final = 0.3

_SYNONYM: Final = 0.3
_TYPO: Final = 0.8
_DEPTH: Final = 50
_SERVER_SHARE: Final = 0.2
_VISITS_FLOOR: Final = 5_000
_VISITS_PER_TOOL: Final = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDocument:
    """One tool as it is searched. `names` are all that it answers to; `parameters` their names and their texts."""

    key: str
    names: tuple[str, ...]
    own_name: str
    server: str = ""
    description: str = ""
    parameters: tuple[str, str] = ("", "")


class Likeness(NamedTuple):
    """How near an embedder puts each document to a query, by place, and its share of the ranking, 0 to 1."""

    values: Sequence[float]
    share: float


class _Term(NamedTuple):
    """The documents that hold a word, by place, and how strongly each does."""

    places: "array[int]"
    strengths: "array[float]"


class SearchIndex:
    """Finds tools. It only grows. Not for two threads at a time."""

    def __init__(self, documents: Iterable[SearchDocument] = ()) -> None:
        self._stems = Stems()
        self._stop = frozenset(self._stems.stem(word) for word in STOP_WORDS)
        self._synonyms = synonyms(self._stems.stem)
        self._terms: dict[str, _Term] = {}
        self._exact: dict[str, list[int]] = defaultdict(list)
        self._keys: list[str] = []
        self._servers: list[str] = []
        for document in documents:
            self.add(document)

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, document: SearchDocument) -> None:
        """Take in one tool."""
        place = len(self._keys)
        self._keys.append(document.key)
        self._servers.append(document.server)
        for name in dict.fromkeys(folded(name) for name in document.names):
            self._exact[name].append(place)
        for word, strength in self._strengths(document).items():
            term = self._terms.get(word)
            if term is None:
                term = self._terms[word] = _Term(array("i"), array("f"))
            term.places.append(place)
            term.strengths.append(strength)

    def find(
        self,
        query: SearchQuery,
        *,
        limit: int,
        admits: Callable[[str], bool] = lambda key: True,
        likeness: Likeness | None = None,
    ) -> list[str]:
        """Return the keys of at most `limit` tools that are admitted, best first; equals by key.

        Tools whose name is the query come before all others.
        """
        scores = self._scores(query.text)
        within = self._within(query)
        if within is not None:
            scores = {place: score for place, score in scores.items() if place in within}
        named = self._named(query.text, within, admits)
        if likeness is not None and len(likeness.values) == len(self._keys):
            ranked = self._fused(scores, within, likeness, admits)
        else:
            ranked = self._best(scores, admits)
        taken = set(named)
        keys = [*named, *(key for key in ranked if key not in taken)]
        return keys[:limit]

    def called(self, name: str) -> list[str]:
        """Return the keys of all tools that answer to a name, whatever its case and separators, in order."""
        return sorted(self._keys[place] for place in self._exact.get(folded(name), ()))

    # ------------------------------------------------------------ taking in

    def _strengths(self, document: SearchDocument) -> dict[str, float]:
        """Return how strongly the tool holds each of its words, name over description over parameters."""
        found: dict[str, float] = {}
        get = found.get
        for field, text in ((_PARAMETER, document.parameters[0]), (_SAID, document.parameters[1])):
            for word, part in self._parts(field, text):
                found[word] = min(get(word, 0.0) + part, _PARAMETERS_MAX)
        for word, part in self._parts(_SERVER, document.server):
            found[word] = get(word, 0.0) + part
        for word, part in self._parts(_DESCRIPTION, document.description):
            found[word] = min(get(word, 0.0) + max(part, _DESCRIPTION_MIN), _REST_MAX)
        for word, part in self._parts(_NAME, document.own_name):
            found[word] = get(word, 0.0) + max(part, _NAME_MIN)
        return {word: value * (_SATURATION + 1) / (value + _SATURATION) for word, value in found.items()}

    def _parts(self, field: _Field, text: str) -> list[tuple[str, float]]:
        """Return what a field gives to each of its words."""
        if not text:
            return []
        counts: dict[str, int] = {}
        length = 0
        for stem in self._stems.of(text):
            counts[stem] = counts.get(stem, 0) + 1
            length += stem not in self._stop
        unit = field.weight / (1 - _LENGTH + _LENGTH * length / field.usual)
        return [(word, unit * (count if count < _REPEATS_MAX else _REPEATS_MAX)) for word, count in counts.items()]

    # ------------------------------------------------------------ finding

    def _named(self, text: str, within: set[int] | None, admits: Callable[[str], bool]) -> list[str]:
        places = self._exact.get(folded(text), ())
        keys = [self._keys[place] for place in places if within is None or place in within]
        return sorted(key for key in keys if admits(key))

    def _within(self, query: SearchQuery) -> set[int] | None:
        """Return the only places that the query allows, None for all."""
        allowed: set[int] | None = None
        if query.server is not None:
            name = query.server.casefold()
            allowed = {place for place, server in enumerate(self._servers) if server.casefold() == name}
        for word in query.required:
            for stem in self._stems.of_query(word):
                term = self._terms.get(stem)
                holding = set(term.places) if term is not None else set()
                allowed = holding if allowed is None else allowed & holding
        return allowed

    def _scores(self, text: str) -> dict[int, float]:
        """Return the score of every tool that holds a word of the text or one that may stand for it."""
        scores: dict[int, float] = {}
        get = scores.get
        for readings in self._affordable(self._readings(text)):
            if len(readings) == 1:
                stem, weight = readings[0]
                for place, strength in zip(*self._terms[stem], strict=True):
                    scores[place] = get(place, 0.0) + weight * strength
                continue
            best: dict[int, float] = {}
            known = best.get
            for stem, weight in readings:
                for place, strength in zip(*self._terms[stem], strict=True):
                    value = weight * strength
                    if value > known(place, 0.0):
                        best[place] = value
            for place, value in best.items():
                scores[place] = get(place, 0.0) + value
        return scores

    def _readings(self, text: str) -> list[list[tuple[str, float]]]:
        """Return for each word of a text the words of the index that it may mean, with their weights."""
        pairs = self._stems.pairs(text)
        telling = [pair for pair in pairs if pair[0] not in self._stop]
        found = (self._meanings(stem, word) for stem, word in telling or pairs)
        return [readings for readings in found if readings]

    def _meanings(self, stem: str, word: str) -> list[tuple[str, float]]:
        terms = self._terms
        others = self._synonyms.get(stem, ())
        readings = [(other, _SYNONYM * self._rarity(other)) for other in others if other in terms]
        if stem in terms:
            readings.append((stem, self._rarity(stem)))
        else:
            near = self._stems.mistyped(word)
            readings += [(other, _TYPO * self._rarity(other)) for other in near if other in terms]
        return readings

    def _affordable(self, found: list[list[tuple[str, float]]]) -> list[list[tuple[str, float]]]:
        """Leave out what is least telling once more documents would be visited than a search may take."""
        left = _VISITS_FLOOR + _VISITS_PER_TOOL * len(self._keys)
        sizes = sorted(
            ((weight, stem, at) for at, readings in enumerate(found) for stem, weight in readings), reverse=True
        )
        kept: list[list[tuple[str, float]]] = [[] for _ in found]
        for weight, stem, at in sizes:
            left -= len(self._terms[stem].places)
            if left < 0 and any(kept):
                break
            kept[at].append((stem, weight))
        return [readings for readings in kept if readings]

    def _rarity(self, stem: str) -> float:
        count, holding = len(self._keys), len(self._terms[stem].places)
        return math.log(1 + (count - holding + 0.5) / (holding + 0.5))

    # ------------------------------------------------------------ ranking

    def _best(self, scores: Mapping[int, float], admits: Callable[[str], bool]) -> list[str]:
        """Return the first keys, each helped by what else of its server was found."""
        top = self._top(scores, admits, _DEPTH)
        return self._sorted(self._helped(top))

    def _top(self, scores: Mapping[int, float], admits: Callable[[str], bool], depth: int) -> dict[int, float]:
        """Return the `depth` admitted places of the highest scores, and those that equal the last."""
        while True:
            found = nlargest(depth, scores.values())
            least = found[-1] if found else 0.0
            top = {place: score for place, score in scores.items() if score >= least and admits(self._keys[place])}
            if len(top) >= min(_DEPTH, depth) or depth >= len(scores):
                return top
            depth *= 8

    def _helped(self, scores: Mapping[int, float]) -> dict[int, float]:
        sums: dict[str, float] = defaultdict(float)
        for place, score in scores.items():
            sums[self._servers[place]] += score
        if len(sums) < 2:
            return dict(scores)
        unit = _SERVER_SHARE * max(scores.values()) / max(sums.values())
        return {place: score + unit * sums[self._servers[place]] for place, score in scores.items()}

    def _fused(
        self,
        scores: Mapping[int, float],
        within: set[int] | None,
        likeness: Likeness,
        admits: Callable[[str], bool],
    ) -> list[str]:
        near = (place for place in nearest(likeness.values, _DEPTH) if admits(self._keys[place]))
        lexical = self._top(scores, admits, _DEPTH)
        places = {*lexical, *(place for place in near if within is None or place in within)}
        return self._sorted(fused(lexical, likeness.values, places, share=likeness.share))

    def _sorted(self, scores: Mapping[int, float]) -> list[str]:
        keys = self._keys
        return [keys[place] for place in sorted(scores, key=lambda place: (-scores[place], keys[place]))]
