"""Makes an example of what a schema wants: the author's own where there is one, else a plain value."""

from collections.abc import Callable, Mapping
from typing import Final

from hilt.core.arguments.place import SHOWN_MAX_CHARS
from hilt.core.arguments.reference import resolve

NO_EXAMPLE: Final = object()

_LEVELS_MAX: Final = 4
_KEYS_MAX: Final = 10
_FORMATS: Final[Mapping[str, str]] = {
    "date": "2024-05-06",
    "date-time": "2024-05-06T07:08:09Z",
    "time": "07:08:09Z",
    "email": "name@example.com",
    "uri": "https://example.com/",
    "uuid": "6f2c1d1e-3b0a-4f53-9d38-0c6a5f1e2b7d",
}
# Texts of common shapes, tried in this order against a pattern.
_TEXTS: Final = (
    *("text", "a", "A", "1", "ab", "AB", "12", "abc", "ABC", "123", "1234", "a1", "A1", "abc123", "ABC123"),
    *("12345", "00000000", "a-b", "abc-123", "ABC-123", "a_b", "a.b", "a/b", "/a", "a b", "Abc", "#1"),
    *("#a1b2c3", "1.0", "1.0.0", "v1.0.0", "07:08", "07:08:09", "+15550100", "a.txt", "10.0.0.1", "a@b.co"),
    *_FORMATS.values(),
)


class Examples:
    """Examples for the parts of one schema; `matches(pattern, text)` tells whether a pattern fits a text."""

    __slots__ = ("_matches", "_schema")

    def __init__(self, schema: object, matches: Callable[[str, str], bool]) -> None:
        self._schema = schema
        self._matches = matches

    def of(self, node: object, level: int = 0) -> object:
        """Return an example for a part of the schema, `NO_EXAMPLE` where none is known."""
        node = resolve(node, self._schema)
        if not isinstance(node, dict):
            return NO_EXAMPLE if node is False else "text"
        given = _given(node)
        if given is not NO_EXAMPLE:
            return given
        branches = node.get("anyOf") or node.get("oneOf") or node.get("allOf")
        if "type" not in node and isinstance(branches, list) and branches and level < _LEVELS_MAX:
            return self.of(branches[0], level + 1)
        return self._typed(node, level)

    def _typed(self, node: Mapping[str, object], level: int) -> object:
        kinds = node.get("type")
        match kinds[0] if isinstance(kinds, list) and kinds else kinds:
            case "integer" | "number":
                return _number(node)
            case "boolean":
                return True
            case "null":
                return None
            case "array":
                return self._list(node, level)
            case "object":
                return self._object(node, level)
            case _:
                return self._text(node)

    def _text(self, node: Mapping[str, object]) -> object:
        pattern = node.get("pattern")
        if isinstance(pattern, str):
            return next((text for text in _TEXTS if self._matches(pattern, text)), NO_EXAMPLE)
        text = _FORMATS.get(str(node.get("format")), "text")
        least, most = node.get("minLength"), node.get("maxLength")
        if isinstance(least, int) and len(text) < least <= SHOWN_MAX_CHARS:
            text = text.ljust(least, "x")
        return text[:most] if isinstance(most, int) else text

    def _list(self, node: Mapping[str, object], level: int) -> object:
        items = node.get("items")
        item = self.of(items, level + 1) if isinstance(items, dict) and level < _LEVELS_MAX else NO_EXAMPLE
        return [] if item is NO_EXAMPLE else [item]

    def _object(self, node: Mapping[str, object], level: int) -> object:
        required, properties = node.get("required"), node.get("properties")
        if not isinstance(required, list) or level >= _LEVELS_MAX:
            return {}
        parts = properties if isinstance(properties, dict) else {}
        made = {str(name): self.of(parts.get(name), level + 1) for name in required[:_KEYS_MAX]}
        return {name: value for name, value in made.items() if value is not NO_EXAMPLE}


def _given(node: Mapping[str, object]) -> object:
    """Return what the author wrote: an example, the constant, the default or the first choice."""
    examples, choices = node.get("examples"), node.get("enum")
    if isinstance(examples, list) and examples:
        return examples[0]
    if "const" in node:
        return node["const"]
    if node.get("default") is not None:
        return node["default"]
    return choices[0] if isinstance(choices, list) and choices else NO_EXAMPLE


def _number(node: Mapping[str, object]) -> object:
    step = node.get("multipleOf")
    if isinstance(step, int | float):
        return step
    for key, shift in (("minimum", 0), ("exclusiveMinimum", 1), ("maximum", 0), ("exclusiveMaximum", -1)):
        limit = node.get(key)
        if isinstance(limit, int | float):
            return limit + shift
    return 1
