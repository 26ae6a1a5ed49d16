"""Finds the known words that a mistyped one may stand for: one letter wrong, missing, swapped or too many."""

from collections.abc import Iterator
from typing import Final

MISTYPED_MIN_CHARS: Final = 6
_KNOWN_MAX_CHARS: Final = 32


class Spelling:
    """Known words by what is left of them without one letter; two words that share that are compared."""

    def __init__(self) -> None:
        self._shortened: dict[str, str] = {}

    def add(self, word: str) -> None:
        """Take in a word."""
        if MISTYPED_MIN_CHARS - 1 <= len(word) <= _KNOWN_MAX_CHARS:
            for form in {word, *_shortened(word)}:
                others = self._shortened.get(form)
                self._shortened[form] = word if others is None else f"{others} {word}"

    def near(self, word: str) -> list[str]:
        """Return the known words that one mistake may have made into `word`, of 6 letters or more; by alphabet."""
        if not MISTYPED_MIN_CHARS <= len(word) <= _KNOWN_MAX_CHARS:
            return []
        forms = (self._shortened.get(form) for form in {word, *_shortened(word)})
        return sorted({known for form in forms if form for known in form.split(" ") if _one_mistake(word, known)})


def _shortened(word: str) -> Iterator[str]:
    return (word[:at] + word[at + 1 :] for at in range(len(word)))


def _one_mistake(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) == 1:
        return True
    apart = [at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    if len(one) != len(other) or len(apart) > 2:
        return False
    swapped = len(apart) == 2 and apart[1] == apart[0] + 1 and one[apart[0]] == other[apart[1]]
    return len(apart) == 1 or (swapped and one[apart[1]] == other[apart[0]])
