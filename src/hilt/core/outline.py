"""What a model is told of JSON that it cannot be shown: an outline, and a filter that would fit.

An outline is JSON itself. An object stands as an object of outlines; an array as a list of its length and the
outline of its items; anything else as the names of its types.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from hilt.core.json_shape import LEVELS_MAX, Shape

OUTLINE_MAX_BYTES: Final = 4_000
SHOWN_ITEMS: Final = 10

_KEY_MAX_CHARS: Final = 60
_FILTER_KEYS: Final = 3
_SEARCH_LEVELS: Final = 4
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Levels and keys of an object that are shown, from plenty to little: the first that fits is taken.
_BUDGETS: Final = ((6, 200), (6, 60), (6, 25), (4, 40), (4, 15), (3, 25), (3, 10), (2, 20), (2, 8), (1, 12), (1, 3))


def outline(shape: Shape) -> str:
    """Return key names, types and array lengths as JSON text of at most 4,000 bytes; no values."""
    text = ""
    for levels, keys in _BUDGETS:
        text = json.dumps(_outlined(shape, min(levels, LEVELS_MAX), keys), ensure_ascii=False)
        if len(text.encode("utf-8", "replace")) <= OUTLINE_MAX_BYTES:
            break
    return text


def _outlined(shape: Shape, levels: int, keys: int) -> object:
    forms: list[object] = []
    if shape.scalars:
        forms.append(" or ".join(sorted(shape.scalars)))
    if shape.pairs is not None:
        forms.append(_object(shape, shape.pairs, levels, keys))
    if shape.longest is not None:
        forms.append(_array(shape, levels, keys))
    if len(forms) > 1:
        return ["one of", *forms]
    return forms[0] if forms else "not looked at"


def _object(shape: Shape, pairs: int, levels: int, keys: int) -> object:
    if levels <= 1 or not shape.keys:
        return f"object of {pairs} keys"
    shown: dict[str, object] = {}
    for name, each in list(shape.keys.items())[:keys]:
        shown[_short(name)] = _outlined(each, levels - 1, keys)
    more = max(pairs, len(shape.keys)) - len(shown)
    if more > 0:
        shown["…"] = f"and {more} more keys"
    return shown


def _array(shape: Shape, levels: int, keys: int) -> object:
    fewest, most = shape.shortest, shape.longest
    length = f"{most} items" if fewest == most else f"{fewest} to {most} items"
    if levels <= 1 or shape.items is None:
        return f"array of {length}"
    return [length, _outlined(shape.items, levels - 1, keys)]


def _short(name: str) -> str:
    return name if len(name) <= _KEY_MAX_CHARS else name[:_KEY_MAX_CHARS] + "…"


def example_filter(shape: Shape) -> str:
    """Return a jq filter that takes a small part of the value: the first items of its longest array, else its keys."""
    best: tuple[int, str, Shape] | None = None
    for path, each in _arrays(shape, "", _SEARCH_LEVELS):
        if best is None or (each.longest or 0) > best[0]:
            best = (each.longest or 0, path, each)
    if best is not None and best[0] > 1:
        _, path, array = best
        return f"{path or '.'}[:{SHOWN_ITEMS}]{_picked(array.items)}"
    return f"keys[:{SHOWN_ITEMS * 2}]" if shape.pairs is not None else "type"


def _arrays(shape: Shape, path: str, levels: int) -> Iterator[tuple[str, Shape]]:
    """Yield the arrays that one path leads to, with their paths."""
    if shape.longest is not None and shape.pairs is None:
        yield path, shape
    if levels > 1 and shape.longest is None:
        for name, each in shape.keys.items():
            if len(name) <= _KEY_MAX_CHARS:
                yield from _arrays(each, f"{path}{_step(name)}", levels - 1)


def _step(name: str) -> str:
    return f".{name}" if _PLAIN.match(name) else f".{_quoted(name)}"


def _quoted(name: str) -> str:
    # Escaped to ASCII, and no interpolation: jq reads `\(` inside a text.
    return json.dumps(name)


def _picked(items: Shape | None) -> str:
    """Return the stage that keeps some plain keys of each item, where every item is an object."""
    if items is None or items.scalars or items.longest is not None or not items.keys:
        return ""
    plain = [name for name, each in items.keys.items() if each.scalars and each.pairs is None and each.longest is None]
    chosen = [name for name in plain if len(name) <= _KEY_MAX_CHARS][:_FILTER_KEYS]
    shown = ", ".join(name if _PLAIN.match(name) else _quoted(name) for name in chosen)
    return f" | map({{{shown}}})" if chosen else ""
