"""How much work a schema asks for at one value, before any value is seen.

References that double at every step make a short schema ask for millions of checks.
"""

from typing import Final

from hilt.core.arguments.place import locate, subschemas
from hilt.core.arguments.reference import pointer_steps

WEIGHT_MAX: Final = 4_096

# Keywords whose schemas are held against the same value as the schema around them.
_LISTED: Final = ("allOf", "anyOf", "oneOf")
_SINGLE: Final = ("not", "if", "then", "else")


def is_too_heavy(schema: dict[str, object]) -> bool:
    """Whether some part of the schema asks for more than 4,096 checks of one value."""
    known: dict[int, int] = {}
    return any(_weight(part, schema, known) > WEIGHT_MAX for part in subschemas(schema))


def _weight(start: dict[str, object], schema: dict[str, object], known: dict[int, int]) -> int:
    """Return the number of schemas held against one value, `start` included; a cycle counts once."""
    opened: set[int] = set()
    stack = [start]
    while stack:
        node = stack[-1]
        parts = _in_place(node, schema)
        fresh = [part for part in parts if id(part) not in known and id(part) not in opened]
        if fresh and id(node) not in opened:
            opened.add(id(node))
            stack += fresh
        else:
            stack.pop()
            known[id(node)] = min(WEIGHT_MAX + 1, 1 + sum(known.get(id(part), 1) for part in parts))
    return known[id(start)]


def _in_place(node: dict[str, object], schema: dict[str, object]) -> list[dict[str, object]]:
    parts: list[object] = [node.get(keyword) for keyword in _SINGLE]
    for keyword in _LISTED:
        branches = node.get(keyword)
        parts += branches if isinstance(branches, list) else []
    depending = node.get("dependentSchemas")
    parts += depending.values() if isinstance(depending, dict) else []
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        parts.append(locate(schema, pointer_steps(reference)))
    return [part for part in parts if isinstance(part, dict)]
