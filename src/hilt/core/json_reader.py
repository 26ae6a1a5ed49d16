"""Reads JSON of any size for its shape alone: piece by piece, so that little is held in memory at once.

Run in a thread, it lets other threads go on between two pieces: the scanner of the standard library, which does
the work, does not, and would hold them up for as long as the whole text takes.
"""

import json
import re
from typing import Final

from hilt.core.json_shape import ITEMS_MERGED, LEVELS_MAX, Merger, Shape

PIECE_CHARS: Final = 8_192
_LARGE_LEVELS_MAX: Final = 100

_SPACE: Final = re.compile(r"[ \t\n\r]*")
# Every number as a float: that is quick however many digits it has, and only its type is of interest.
_scan: Final = json.JSONDecoder(parse_int=float).raw_decode
_CUTS: Final = ("},", "],", ",")


def read_shape(text: str) -> Shape | None:
    """Return the shape of the JSON value that the text is, None when it is none or nests too deeply to be read.

    As the standard library does it takes NaN and Infinity for numbers.
    """
    shape = Shape()
    reader = _Reader(text)
    try:
        end = reader.value(reader.space(0), shape, 1, 0)
        return shape if reader.space(end) == len(text) else None
    except (ValueError, RecursionError):
        return None


class _Reader:
    """Walks over one text; every method takes the index where it starts and returns the one behind what it read.

    Each raises ValueError where the text is no JSON.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._merger = Merger()

    def space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return at if found is None else found.end()

    def value(self, at: int, shape: Shape | None, level: int, larges: int) -> int:
        """Read one value; one that does not fit into a piece is read item by item."""
        first = self._text[at : at + 1]
        if first not in ("{", "["):
            value, end = _scan(self._text, at)
            self._merger.add(value, shape, level)
            return end
        piece = self._text[at : at + PIECE_CHARS]
        try:
            value, end = _scan(piece)
        except ValueError:
            if len(piece) < PIECE_CHARS:
                raise
        else:
            self._merger.add(value, shape, level)
            return at + end
        if larges >= _LARGE_LEVELS_MAX:
            raise ValueError("too deep")
        if shape is not None and not self._merger.visit():
            shape = None
        container = _Object(shape, level) if first == "{" else _Array(shape, level)
        return self._items(at + 1, container, larges + 1)

    def _items(self, at: int, container: "_Container", larges: int) -> int:
        """Read the items of a large container up to its end."""
        text = self._text
        at = self.space(at)
        if text[at : at + 1] == container.close:
            container.finish()
            return at + 1
        cut_by = 0
        while True:
            piece = text[at : at + PIECE_CHARS]
            taken, cut_by = self._run(piece, container, cut_by)
            if taken:
                at = self.space(at + taken)
                continue
            taken, ended = self._one_by_one(piece, container)
            if ended:
                return at + taken
            if taken:
                at += taken
                continue
            at, ended = self._large_item(at, container, larges)
            if ended:
                return at

    def _run(self, piece: str, container: "_Container", cut_by: int) -> tuple[int, int]:
        """Take all whole items of a piece at once if its last comma between items is found by one guess.

        Return how much was taken, 0 if nothing, and the guess for the next piece.
        """
        while cut_by < len(_CUTS):
            sign = _CUTS[cut_by]
            comma = piece.rfind(sign) + len(sign) - 1
            if comma > 0:
                try:
                    value, end = _scan(f"{container.open}{piece[:comma]}{container.close}", 0)
                except ValueError:
                    end = -1
                if end == comma + 2:
                    container.add_all(value, self._merger)
                    return comma + 1, cut_by
            cut_by += 1
        return 0, cut_by

    def _one_by_one(self, piece: str, container: "_Container") -> tuple[int, bool]:
        """Take the items that end inside the piece; return how much that was, and whether the container ended."""
        taken = at = 0
        while True:
            try:
                name, at = container.name(piece, at)
                value, at = _scan(piece, at)
            except ValueError:
                return taken, False
            at = _after_space(piece, at)
            mark = piece[at : at + 1]
            if not mark:
                return taken, False
            if mark not in (",", container.close):
                raise ValueError("no JSON")
            container.add(name, value, self._merger)
            at += 1
            if mark == container.close:
                container.finish()
                return at, True
            at = taken = _after_space(piece, at)

    def _large_item(self, at: int, container: "_Container", larges: int) -> tuple[int, bool]:
        name, at = container.name(self._text, at)
        at = self.value(at, container.place(name), container.level + 1, larges)
        at = self.space(at)
        mark = self._text[at : at + 1]
        if mark == container.close:
            container.finish()
            return at + 1, True
        if mark != ",":
            raise ValueError("no JSON")
        return self.space(at + 1), False


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


class _Array:
    """An array that is read in pieces."""

    open = "["
    close = "]"

    def __init__(self, shape: Shape | None, level: int) -> None:
        self.level = level
        self._shape = shape
        self._count = 0

    def name(self, text: str, at: int) -> tuple[str, int]:
        """Return the name of the item that starts here, none for an array."""
        return "", at

    def place(self, name: str) -> Shape | None:
        """Return the shape that the next item adds to, None where it is not looked at."""
        self._count += 1
        if self._shape is None or self._count > ITEMS_MERGED or self.level >= LEVELS_MAX:
            return None
        return self._shape.item()

    def add(self, name: str, value: object, merger: Merger) -> None:
        """Add one item."""
        merger.add(value, self.place(name), self.level + 1)

    def add_all(self, value: object, merger: Merger) -> None:
        """Add the items of a list."""
        if isinstance(value, list):
            near = max(ITEMS_MERGED - self._count, 0)
            for item in value[:near]:
                self.add("", item, merger)
            self._count += len(value[near:])

    def finish(self) -> None:
        """Note how many items there were."""
        if self._shape is not None:
            self._shape.saw_array(self._count)


class _Object:
    """An object that is read in pieces."""

    open = "{"
    close = "}"

    def __init__(self, shape: Shape | None, level: int) -> None:
        self.level = level
        self._shape = shape
        self._names: set[str] = set()

    def name(self, text: str, at: int) -> tuple[str, int]:
        """Return the key that starts here and the index of its value."""
        name, end = _scan(text, at)
        at = _after_space(text, end)
        if not isinstance(name, str) or text[at : at + 1] != ":":
            raise ValueError("no JSON")
        return name, _after_space(text, at + 1)

    def place(self, name: str) -> Shape | None:
        """Return the shape of a key, None where it is not looked at."""
        self._names.add(name)
        return None if self._shape is None or self.level >= LEVELS_MAX else self._shape.key(name)

    def add(self, name: str, value: object, merger: Merger) -> None:
        """Add one key with its value."""
        merger.add(value, self.place(name), self.level + 1)

    def add_all(self, value: object, merger: Merger) -> None:
        """Add the keys of a dict."""
        if isinstance(value, dict):
            for name, item in value.items():
                self.add(name, item, merger)

    def finish(self) -> None:
        """Note how many keys there were."""
        if self._shape is not None:
            self._shape.saw_object(len(self._names))


_Container = _Array | _Object
