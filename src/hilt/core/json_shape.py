"""The shape of a JSON value: which keys, which types, how many items; never a value.

Shapes of several items merge into one. What is looked at is bounded, whatever the size of the value: items of an
array past the hundredth count only, levels past the sixth and keys past the two hundredth likewise.
"""

from dataclasses import dataclass, field
from typing import Final

LEVELS_MAX: Final = 6
ITEMS_MERGED: Final = 100
KEYS_KEPT: Final = 200
_NODES_MAX: Final = 50_000

_NAMES: Final = {str: "string", bool: "boolean", type(None): "null"}


@dataclass(slots=True)
class Shape:
    """What was seen at one place: scalar types, keys of objects, and lengths and item shape of arrays.

    `pairs` is the largest number of keys of one object, `shortest` and `longest` are lengths of arrays; each is
    None where there was none.
    """

    scalars: set[str] = field(default_factory=set)
    keys: dict[str, "Shape"] = field(default_factory=dict)
    pairs: int | None = None
    items: "Shape | None" = None
    shortest: int | None = None
    longest: int | None = None

    def saw_object(self, pairs: int) -> None:
        """Note an object of so many keys."""
        self.pairs = pairs if self.pairs is None else max(self.pairs, pairs)

    def saw_array(self, length: int) -> None:
        """Note an array of so many items."""
        self.shortest = length if self.shortest is None else min(self.shortest, length)
        self.longest = length if self.longest is None else max(self.longest, length)

    def key(self, name: str) -> "Shape | None":
        """Return the shape under a key, None when there are too many keys already."""
        found = self.keys.get(name)
        if found is None and len(self.keys) < KEYS_KEPT:
            found = self.keys[name] = Shape()
        return found

    def item(self) -> "Shape":
        """Return the merged shape of the items."""
        if self.items is None:
            self.items = Shape()
        return self.items


class Merger:
    """Adds values to shapes, at most 50,000 of them in all."""

    def __init__(self) -> None:
        self._left = _NODES_MAX

    def visit(self) -> bool:
        """Count one value more; False when there were enough."""
        self._left -= 1
        return self._left >= 0

    def add(self, value: object, shape: Shape | None, level: int) -> None:
        """Merge a value into the shape of its place; `level` of the root is 1."""
        if shape is None or not self.visit():
            return
        match value:
            case dict():
                shape.saw_object(len(value))
                if level < LEVELS_MAX:
                    for name, each in value.items():
                        self.add(each, shape.key(name), level + 1)
            case list():
                shape.saw_array(len(value))
                if level < LEVELS_MAX:
                    for each in value[:ITEMS_MERGED]:
                        self.add(each, shape.item(), level + 1)
            case _:
                shape.scalars.add(_NAMES.get(type(value), "number"))
