"""Reads JSON of any size for its shape alone, so that little is held in memory at once."""

import json
from typing import Final

from hilt.core.json_pieces import walk
from hilt.core.json_shape import ITEMS_MERGED, LEVELS_MAX, Merger, Shape

# Every number as a float: that is quick however many digits it has, and only its type is of interest.
_scan: Final = json.JSONDecoder(parse_int=float).raw_decode


def read_shape(text: str) -> Shape | None:
    """Return the shape of the JSON value that the text is, None when it is none or nests too deeply to be read.

    As the standard library does it takes NaN and Infinity for numbers.
    """
    shape = Shape()
    try:
        walk(text, _Place(shape, 1, Merger()), _scan)
    except (ValueError, RecursionError):
        return None
    return shape


class _Place:
    """Adds a value to a shape; to none where it is not looked at."""

    def __init__(self, shape: Shape | None, level: int, merger: Merger) -> None:
        self._shape = shape
        self._level = level
        self._merger = merger

    def take(self, value: object) -> None:
        """Add a value."""
        self._merger.add(value, self._shape, self._level)

    def open(self, *, keyed: bool) -> "_Array | _Object":
        """Return what adds the items of a large value."""
        shape = self._shape if self._shape is not None and self._merger.visit() else None
        return (_Object if keyed else _Array)(shape, self._level, self._merger)


class _Array:
    """An array that is read in pieces."""

    def __init__(self, shape: Shape | None, level: int, merger: Merger) -> None:
        self._shape = shape
        self._level = level
        self._merger = merger
        self._count = 0

    def put(self, name: str, value: object) -> None:
        """Add one item."""
        self._merger.add(value, self._item(), self._level + 1)

    def put_all(self, values: object) -> None:
        """Add the items of a list."""
        if isinstance(values, list):
            near = max(ITEMS_MERGED - self._count, 0)
            for item in values[:near]:
                self.put("", item)
            self._count += max(len(values) - near, 0)

    def inside(self, name: str) -> _Place:
        """Return the place of the next item."""
        return _Place(self._item(), self._level + 1, self._merger)

    def finish(self) -> None:
        """Note how many items there were."""
        if self._shape is not None:
            self._shape.saw_array(self._count)

    def _item(self) -> Shape | None:
        self._count += 1
        if self._shape is None or self._count > ITEMS_MERGED or self._level >= LEVELS_MAX:
            return None
        return self._shape.item()


class _Object:
    """An object that is read in pieces."""

    def __init__(self, shape: Shape | None, level: int, merger: Merger) -> None:
        self._shape = shape
        self._level = level
        self._merger = merger
        self._names: set[str] = set()

    def put(self, name: str, value: object) -> None:
        """Add one key with its value."""
        self._merger.add(value, self._key(name), self._level + 1)

    def put_all(self, values: object) -> None:
        """Add the keys of a dict."""
        if isinstance(values, dict):
            for name, item in values.items():
                self.put(name, item)

    def inside(self, name: str) -> _Place:
        """Return the place of a key's value."""
        return _Place(self._key(name), self._level + 1, self._merger)

    def finish(self) -> None:
        """Note how many keys there were."""
        if self._shape is not None:
            self._shape.saw_object(len(self._names))

    def _key(self, name: str) -> Shape | None:
        self._names.add(name)
        return None if self._shape is None or self._level >= LEVELS_MAX else self._shape.key(name)
