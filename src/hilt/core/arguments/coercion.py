"""What may be mended in arguments without guessing: one reading, and the fault says which type was wanted.

Values are never changed in place: each change gives new holders along its path.
"""

import re
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Final, Protocol, cast

from hilt.core.arguments.decoding import parse_json
from hilt.core.arguments.place import Path, locate, path_text
from hilt.core.arguments.violation import Violation
from hilt.core.errors import ToolError

DIGITS_MAX: Final = 300
# Above this a float is no exact count any more.
_EXACT_FLOAT_MAX: Final = 2.0**53
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Change:
    """One value to replace, or to drop where `drop` is set; `note` is for the record."""

    path: Path
    value: object
    note: str
    drop: bool = False


def changes_for(violations: Sequence[Violation]) -> list[Change]:
    """Return the changes that mend violations of type: at most one for each path, in their order."""
    found: dict[Path, Change] = {}
    for violation in violations:
        if violation.path not in found and _names_property(violation.path):
            change = _null_drop(violation) if violation.came is None else _retyped(violation)
            if change is not None:
                found[violation.path] = change
    return list(found.values())


def _names_property(path: Path) -> bool:
    return bool(path) and isinstance(path[-1], str)


def _null_drop(violation: Violation) -> Change:
    return Change(violation.path, None, f"{path_text(violation.path)}: null dropped", drop=True)


def _retyped(violation: Violation) -> Change | None:
    """Return the value as the one type that was wanted, None where it has no such reading."""
    types = violation.details.get("types")
    if violation.keyword != "type" or not isinstance(types, list) or len(types) != 1:
        return None
    if not isinstance(violation.came, str):
        return None
    value = _read_as(str(types[0]), violation.came)
    if value is None:
        return None
    return Change(violation.path, value, f"{path_text(violation.path)}: string to {types[0]}")


def _read_as(kind: str, text: str) -> object:
    match kind:
        case "integer":
            return int(text) if len(text) <= DIGITS_MAX and _INTEGER.fullmatch(text) else None
        case "number":
            return _parsed(text) if len(text) <= DIGITS_MAX and _NUMBER.fullmatch(text) else None
        case "boolean":
            return {"true": True, "false": False}.get(text)
        case "array":
            value = _parsed(text)
            return value if isinstance(value, list) else None
        case "object":
            value = _parsed(text)
            return value if isinstance(value, dict) else None
        case _:
            return None


def _parsed(text: str) -> object:
    try:
        return parse_json(text)
    except ToolError:
        return None


def whole_floats(arguments: dict[str, object]) -> Iterator[Path]:
    """Yield the paths of properties whose value is a whole number written with a point, like 5.0."""
    waiting: list[tuple[Path, dict[str, object] | list[object]]] = [((), arguments)]
    while waiting:
        path, holder = waiting.pop()
        for step, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(value, dict | list):
                waiting.append(((*path, step), value))
            elif isinstance(value, float) and isinstance(step, str) and _is_exact(value):
                yield (*path, step)


def _is_exact(value: float) -> bool:
    return value.is_integer() and abs(value) <= _EXACT_FLOAT_MAX


def to_integer(arguments: dict[str, object], path: Path) -> Change:
    """Return the change of the whole float at `path` to an integer."""
    value = locate(arguments, path)
    number = int(value) if isinstance(value, float) else value
    return Change(path, number, f"{path_text(path)}: {value} to {number}")


class _Holder(Protocol):
    """A dict or a list, by what both can do with a step of a path."""

    def __getitem__(self, step: str | int, /) -> object: ...

    def __setitem__(self, step: str | int, value: object, /) -> None: ...

    def __delitem__(self, step: str | int, /) -> None: ...


def apply(arguments: dict[str, object], changes: Sequence[Change]) -> dict[str, object]:
    """Return the arguments with the changes made; the given ones stay as they are."""
    root = dict(arguments)
    owned: dict[Path, _Holder] = {(): cast("_Holder", root)}
    for change in changes:
        holder, last = _own(owned, change.path[:-1]), change.path[-1]
        if change.drop:
            del holder[last]
        else:
            holder[last] = change.value
    return root


def _own(owned: dict[Path, _Holder], path: Path) -> _Holder:
    """Return the holder at `path`, copied along with what leads to it unless that was done before."""
    if path not in owned:
        parent, step = _own(owned, path[:-1]), path[-1]
        owned[path] = cast("_Holder", copy(parent[step]))
        parent[step] = owned[path]
    return owned[path]
