"""Where something stands in a schema or in arguments, and how that is written for people."""

import json
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

SHOWN_MAX_CHARS: Final = 100
_REFERENCES_FOLLOWED_MAX: Final = 20

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


def shown(value: object) -> str:
    """Return a value as JSON text of at most 100 characters."""
    return cut(json.dumps(value, ensure_ascii=False))


def cut(text: str, limit: int = SHOWN_MAX_CHARS) -> str:
    """Return at most `limit` characters of a text; one that was longer ends with a mark."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
