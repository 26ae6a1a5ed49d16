"""Joins what words say of a query with what an embedder says of it."""

from collections.abc import Collection, Mapping, Sequence
from heapq import nlargest
from statistics import median
from typing import Final

_SAMPLE: Final = 1_001


def nearest(likeness: Sequence[float], count: int) -> list[int]:
    """Return the places of the highest likenesses, highest first; equals in order."""
    return nlargest(count, range(len(likeness)), key=lambda place: (likeness[place], -place))


def fused(
    scores: Mapping[int, float], likeness: Sequence[float], places: Collection[int], *, share: float
) -> dict[int, float]:
    """Return one score for each place: the words' share and the embedder's, each held against its best.

    What is no more like the query than the middle of all tools gains nothing by it. `share` is the embedder's,
    0 to 1.
    """
    top = max((scores.get(place, 0.0) for place in places), default=0.0) or 1.0
    middle = median(likeness[:: len(likeness) // _SAMPLE + 1]) if likeness else 0.0
    span = max((likeness[place] for place in places), default=middle) - middle
    return {
        place: (1 - share) * scores.get(place, 0.0) / top
        + (share * max(0.0, likeness[place] - middle) / span if span > 0 else 0.0)
        for place in places
    }
