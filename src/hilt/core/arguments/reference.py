"""Follows the references of a schema inside its own document."""

from typing import Final
from urllib.parse import unquote

from hilt.core.arguments.place import locate

_REFERENCES_FOLLOWED_MAX: Final = 20


def pointer_steps(reference: str) -> list[str]:
    """Return the steps of a JSON pointer in a fragment, like `#/$defs/Hall`."""
    steps = unquote(reference.removeprefix("#")).split("/")[1:]
    return [step.replace("~1", "/").replace("~0", "~") for step in steps]


def resolve(node: object, schema: object) -> object:
    """Follow references inside the document, at most 20; an open or foreign one gives an empty schema."""
    for _ in range(_REFERENCES_FOLLOWED_MAX):
        reference = node.get("$ref") if isinstance(node, dict) else None
        if not isinstance(reference, str):
            return node
        node = locate(schema, pointer_steps(reference)) if reference.startswith("#") else {}
    return {}
