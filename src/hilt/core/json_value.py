"""Reads and writes large JSON values in pieces, for threads beside which others go on."""

import json
from typing import Final

from hilt.core.json_pieces import walk

_scan: Final = json.JSONDecoder().raw_decode
_CHUNK: Final = 1_000
_LEVELS: Final = 4


def parse_json(text: str) -> object:
    """Return the value of a JSON text, as `json.loads` does.

    Raises:
        ValueError: It is no JSON.
        RecursionError: It nests too deeply.
    """
    root = _Root()
    walk(text, root, _scan)
    return root.value


def json_text(value: object, levels: int = _LEVELS) -> str:
    """Return the value as JSON text, as `json.dumps` does without escapes.

    Raises:
        TypeError, ValueError: It is no JSON value.
        RecursionError: It nests too deeply.
    """
    if levels and isinstance(value, list) and len(value) > _CHUNK:
        chunks = (value[at : at + _CHUNK] for at in range(0, len(value), _CHUNK))
        return "[" + ", ".join(_dumped(chunk)[1:-1] for chunk in chunks) + "]"
    if levels and type(value) is dict and len(value) <= _CHUNK and all(type(key) is str for key in value):
        pairs = (f"{_dumped(key)}: {json_text(each, levels - 1)}" for key, each in value.items())
        return "{" + ", ".join(pairs) + "}"
    return _dumped(value)


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


class _Root:
    """Where the whole value goes."""

    value: object = None

    def take(self, value: object) -> None:
        """Take it."""
        self.value = value

    def open(self, *, keyed: bool) -> "_Dict | _List":
        """Return what gathers the items of a large one."""
        made = _Dict() if keyed else _List()
        self.value = made.items
        return made


class _Item(_Root):
    """Where one large item of a container goes."""

    def __init__(self, into: "_Dict | _List", name: str) -> None:
        self._into = into
        self._name = name

    def take(self, value: object) -> None:
        """Put it into the container."""
        self._into.put(self._name, value)

    def open(self, *, keyed: bool) -> "_Dict | _List":
        """Put a container into the container."""
        made = super().open(keyed=keyed)
        self._into.put(self._name, made.items)
        return made


class _List:
    """An array that is gathered in pieces."""

    def __init__(self) -> None:
        self.items: list[object] = []

    def put(self, name: str, value: object) -> None:
        """Append one item."""
        self.items.append(value)

    def put_all(self, values: object) -> None:
        """Append several."""
        if isinstance(values, list):
            self.items += values

    def inside(self, name: str) -> _Item:
        """Return the place of the next item."""
        return _Item(self, name)

    def finish(self) -> None:
        """Nothing is left to do."""


class _Dict:
    """An object that is gathered in pieces."""

    def __init__(self) -> None:
        self.items: dict[str, object] = {}

    def put(self, name: str, value: object) -> None:
        """Set one key."""
        self.items[name] = value

    def put_all(self, values: object) -> None:
        """Set several."""
        if isinstance(values, dict):
            self.items.update(values)

    def inside(self, name: str) -> _Item:
        """Return the place of a key's value."""
        return _Item(self, name)

    def finish(self) -> None:
        """Nothing is left to do."""
