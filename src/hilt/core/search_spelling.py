"""Finds the known words that a mistyped one may stand for: one letter wrong, missing, swapped or too many."""

from typing import Final

MISTYPED_MIN_CHARS: Final = 6
_KNOWN_MAX_CHARS: Final = 32


class Spelling:
    """Known words by their halves: one mistake leaves one half as it was, unless it swaps the letters between them."""

    def __init__(self) -> None:
        self._halves: dict[tuple[str, int], str] = {}

    def add(self, word: str) -> None:
        """Take in a word."""
        size = len(word)
        if MISTYPED_MIN_CHARS - 1 <= size <= _KNOWN_MAX_CHARS:
            middle = size // 2
            for key in ((word[:middle], size), (word[middle:], -size)):
                others = self._halves.get(key)
                self._halves[key] = word if others is None else f"{others} {word}"

    def near(self, word: str) -> list[str]:
        """Return the known words that one mistake may have made into `word`, of 6 letters or more; by alphabet."""
        if not MISTYPED_MIN_CHARS <= len(word) <= _KNOWN_MAX_CHARS:
            return []
        found: set[str] = set()
        for size in (len(word) - 1, len(word), len(word) + 1):
            middle = size // 2
            keys = ((word[:middle], size), (word[len(word) - (size - middle) :], -size))
            found.update(known for key in keys for known in self._halves.get(key, "").split())
        at = len(word) // 2
        swapped = f"{word[: at - 1]}{word[at]}{word[at - 1]}{word[at + 1 :]}"
        found.update(self._halves.get((swapped[:at], len(word)), "").split())
        return sorted(known for known in found if _one_mistake(word, known))


def _one_mistake(one: str, other: str) -> bool:
    if len(one) != len(other):
        short, long = sorted((one, other), key=len)
        at = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
        return short[at:] == long[at + 1 :]
    apart = [at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    if len(apart) == 2:
        first, second = apart
        return second == first + 1 and one[first] == other[second] and one[second] == other[first]
    return len(apart) <= 1
