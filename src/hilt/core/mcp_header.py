"""Arguments that a tool wants repeated in HTTP headers (`x-mcp-header` in its schema, stateless era over HTTP)."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from hilt.core.errors import InvalidSpecError

KEY: Final = "x-mcp-header"
PREFIX: Final = "Mcp-Param-"
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
_TYPES: Final = frozenset({"string", "integer", "boolean"})
_DATA_KEYS: Final = frozenset({"default", "const", "enum", "examples", "required", KEY})
_NAMED_KEYS: Final = frozenset({"patternProperties", "$defs", "definitions", "dependentSchemas"})

ArgumentPath = tuple[str, ...]


def header_fault(name: str, value: str) -> str:
    """Return why a header cannot be sent, "" where it can (RFC 9110, sections 5.1 and 5.5); it shows no value."""
    if not _TOKEN.match(name.strip()):
        return "a header's name has letters, digits and a few signs, and no blank"
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in value):
        return "a header holds no line end and no other control character"
    return "" if all(ord(char) < 0x100 for char in value) else "a header holds Latin-1 characters alone"


def header_arguments(schema: Mapping[str, object]) -> dict[ArgumentPath, str]:
    """Return the path of each argument to be repeated, with its header.

    Raises:
        InvalidSpecError: An annotation is wrong: elsewhere than at a property that `properties` alone lead
        to, no
            header name, a type other than text, integer and boolean, or one header twice.
    """
    found: dict[ArgumentPath, str] = {}
    for path, where in _annotated(schema, ()):
        name = where[KEY]
        if not path:
            raise InvalidSpecError(f"{KEY} stands where no argument is named")
        if not isinstance(name, str) or not _TOKEN.match(name):
            raise InvalidSpecError(f"{KEY} of {'.'.join(path)!r} is no header name")
        if where.get("type") not in _TYPES:
            raise InvalidSpecError(f"{KEY} of {'.'.join(path)!r} needs the type string, integer or boolean")
        if name.lower() in (other.lower() for other in found.values()):
            raise InvalidSpecError(f"{KEY} {name!r} stands twice")
        found[path] = name
    return {path: PREFIX + name for path, name in found.items()}


def _annotated(
    schema: Mapping[str, object], path: ArgumentPath | None
) -> Iterator[tuple[ArgumentPath | None, Mapping[str, object]]]:
    """Yield every schema position that has the key; its path is None off the chain of `properties`."""
    if KEY in schema:
        yield path, schema
    for key, value in schema.items():
        if key == "properties" and isinstance(value, Mapping):
            for name, inner in value.items():
                if isinstance(inner, Mapping):
                    yield from _annotated(inner, None if path is None else (*path, str(name)))
        elif key not in _DATA_KEYS:
            inners = value.values() if key in _NAMED_KEYS and isinstance(value, Mapping) else [value]
            for inner in inners:
                yield from _inside(inner)


def _inside(value: object) -> Iterator[tuple[None, Mapping[str, object]]]:
    for inner in value if isinstance(value, list) else [value]:
        if isinstance(inner, Mapping):
            for _, where in _annotated(inner, None):
                yield None, where


def header_values(wanted: Mapping[ArgumentPath, str], arguments: Mapping[str, object]) -> dict[str, str]:
    """Return the headers of a call; an argument that is absent, null or no plain value has none."""
    headers: dict[str, str] = {}
    for path, name in wanted.items():
        node: object = arguments
        for key in path:
            node = node.get(key) if isinstance(node, Mapping) else None
        if isinstance(node, bool):
            headers[name] = "true" if node else "false"
        elif isinstance(node, str | int | float):
            headers[name] = str(node)
    return headers
