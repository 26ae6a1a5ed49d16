"""Walks over JSON text of any size piece by piece.

Run in a thread, it lets other threads go on between two pieces: the scanner of the standard library, which does
the work, does not, and would hold them up for as long as the whole text takes. It also makes garbage in small
amounts, so that the collector never has to walk over all that is alive.
"""

import re
from collections.abc import Callable
from typing import Final, Protocol

PIECE_CHARS: Final = 8_192
_LARGE_LEVELS_MAX: Final = 100

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_CUTS: Final = ("},", "],", ",")
_ENDS: Final = {"{": "}", "[": "]"}

Scan = Callable[[str, int], tuple[object, int]]


class Container(Protocol):
    """Takes the items of one object or array that is read in pieces, in order; `name` is "" in an array."""

    def put(self, name: str, value: object) -> None:
        """Take one item."""
        ...

    def put_all(self, values: object) -> None:
        """Take several: a list of an array's, a dict of an object's."""
        ...

    def inside(self, name: str) -> "Place":
        """Return where the next item goes, which is large itself."""
        ...

    def finish(self) -> None:
        """Learn that this was the last item."""
        ...


class Place(Protocol):
    """Takes one value."""

    def take(self, value: object) -> None:
        """Take it whole."""
        ...

    def open(self, *, keyed: bool) -> Container:
        """Return what takes its items; `keyed` says that it is an object."""
        ...


def walk(text: str, place: Place, scan: Scan) -> None:
    """Read one JSON text into a place; `scan` is the `raw_decode` of a decoder.

    Raises:
        ValueError: It is no JSON.
        RecursionError: It nests too deeply.
    """
    walker = _Walker(text, scan)
    if walker.space(walker.value(walker.space(0), place, 0)) != len(text):
        raise ValueError("something stands behind the value")


class _Walker:
    """Every method takes the index where it starts and returns the one behind what it read."""

    def __init__(self, text: str, scan: Scan) -> None:
        self._text = text
        self._scan = scan

    def space(self, at: int) -> int:
        return _after_space(self._text, at)

    def value(self, at: int, place: Place, larges: int) -> int:
        """Read one value; one that does not fit into a piece is read item by item."""
        first = self._text[at : at + 1]
        if first not in _ENDS:
            value, end = self._scan(self._text, at)
            place.take(value)
            return end
        piece = self._text[at : at + PIECE_CHARS]
        try:
            value, end = self._scan(piece, 0)
        except ValueError:
            if len(piece) < PIECE_CHARS:
                raise
        else:
            place.take(value)
            return at + end
        if larges >= _LARGE_LEVELS_MAX:
            raise RecursionError("too many large levels")
        return _Items(self, self._text, self._scan, place.open(keyed=first == "{"), first).read(at + 1, larges + 1)


class _Items:
    """Reads the items of one large container."""

    def __init__(self, walker: _Walker, text: str, scan: Scan, container: Container, open_: str) -> None:
        self._walker = walker
        self._text = text
        self._scan = scan
        self._container = container
        self._open = open_
        self._close = _ENDS[open_]
        self._cut = 0

    def read(self, at: int, larges: int) -> int:
        """Read up to the container's end."""
        at = _after_space(self._text, at)
        ended = self._text[at : at + 1] == self._close
        at += ended
        while not ended:
            piece = self._text[at : at + PIECE_CHARS]
            if taken := self._run(piece):
                at = _after_space(self._text, at + taken)
                continue
            taken, ended = self._one_by_one(piece)
            at += taken
            if not taken:
                at, ended = self._large_item(at, larges)
        self._container.finish()
        return at

    def _run(self, piece: str) -> int:
        """Take all whole items of a piece at once, if a guess finds its last comma between items.

        Return how much was taken, 0 for nothing. A guess that failed once is not tried again.
        """
        while self._cut < len(_CUTS):
            sign = _CUTS[self._cut]
            comma = piece.rfind(sign) + len(sign) - 1
            if comma > 0:
                try:
                    values, end = self._scan(f"{self._open}{piece[:comma]}{self._close}", 0)
                except ValueError:
                    end = -1
                if end == comma + 2:
                    self._container.put_all(values)
                    return comma + 1
            self._cut += 1
        return 0

    def _one_by_one(self, piece: str) -> tuple[int, bool]:
        """Take the items that end inside the piece; return how much that was, and whether the container ended."""
        taken = at = 0
        while True:
            try:
                name, at = self._name(piece, at)
                value, at = self._scan(piece, at)
            except ValueError:
                return taken, False
            at = _after_space(piece, at)
            mark = piece[at : at + 1]
            if not mark:
                return taken, False
            self._container.put(name, value)
            at += 1
            if self._ends(mark):
                return at, True
            at = taken = _after_space(piece, at)

    def _large_item(self, at: int, larges: int) -> tuple[int, bool]:
        name, at = self._name(self._text, at)
        at = self._walker.value(at, self._container.inside(name), larges)
        at = _after_space(self._text, at)
        ended = self._ends(self._text[at : at + 1])
        return (at + 1, True) if ended else (_after_space(self._text, at + 1), False)

    def _name(self, text: str, at: int) -> tuple[str, int]:
        """Return the key that starts here, none in an array, and the index of its value."""
        if self._open == "[":
            return "", at
        name, end = self._scan(text, at)
        at = _after_space(text, end)
        if not isinstance(name, str) or text[at : at + 1] != ":":
            raise ValueError("no JSON")
        return name, _after_space(text, at + 1)

    def _ends(self, mark: str) -> bool:
        if mark not in (",", self._close):
            raise ValueError("no JSON")
        return mark == self._close


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
