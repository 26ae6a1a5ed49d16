"""Where something stands in a schema or in arguments, and how that is written for people."""

import json
from collections.abc import Iterator, Sequence
from typing import Final

SHOWN_MAX_CHARS: Final = 100
# Keywords whose values are names with a schema each, and keywords whose values are no schemas.
_MAPS: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
_PLAIN: Final = frozenset({"enum", "const", "default", "examples", "required", "dependentRequired"})

Path = tuple[str | int, ...]


def path_text(path: Sequence[str | int]) -> str:
    """Return a path as people write it, like `rows[2].name`; the root is `arguments`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return cut(text) or "arguments"


def locate(root: object, path: Sequence[str | int]) -> object:
    """Return what stands at `path`, None where it leads nowhere; digits in a string also count a list."""
    node = root
    for step in path:
        if isinstance(node, dict):
            node = node.get(step)
        elif isinstance(node, list) and str(step).isdecimal() and int(step) < len(node):
            node = node[int(step)]
        else:
            return None
    return node


def subschemas(schema: object) -> Iterator[dict[str, object]]:
    """Yield every schema object inside a schema, itself included, outer before inner."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            yield node
            for keyword, value in node.items():
                if keyword in _MAPS and isinstance(value, dict):
                    waiting += value.values()
                elif keyword not in _PLAIN:
                    waiting.append(value)


def shown(value: object) -> str:
    """Return a value as JSON text of at most 100 characters."""
    return cut(json.dumps(value, ensure_ascii=False))


def cut(text: str, limit: int = SHOWN_MAX_CHARS) -> str:
    """Return at most `limit` characters of a text; one that was longer ends with a mark."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
