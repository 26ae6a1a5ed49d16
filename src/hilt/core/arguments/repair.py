"""Takes out of a schema what would keep the whole of it from being used, and says what went.

A reference that leads nowhere accepts anything there, and a pattern that no engine can run is not asked.
"""

from collections.abc import Callable, Mapping
from typing import Final

from hilt.core.arguments.place import locate, subschemas
from hilt.core.arguments.reference import pointer_steps

# Marks a part of a schema that asks for less than its author wrote.
_SKIPPED: Final = "hilt: a keyword is skipped here"
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")

KNOWN_DIALECTS: Final = frozenset(
    {
        "json-schema.org/draft-04/schema",
        "json-schema.org/draft-06/schema",
        "json-schema.org/draft-07/schema",
        "json-schema.org/draft/2019-09/schema",
        "json-schema.org/draft/2020-12/schema",
    }
)


def declares_known_dialect(schema: dict[str, object]) -> bool:
    """Whether `$schema` names a dialect that can be checked; an absent one does not."""
    declared = schema.get("$schema")
    if not isinstance(declared, str):
        return False
    return declared.rstrip("#").removeprefix("https://").removeprefix("http://") in KNOWN_DIALECTS


def drop_foreign_dialects(schema: dict[str, object]) -> None:
    """Take out every `$schema` that names a dialect of somebody's own: 2020-12 holds there."""
    for node in list(subschemas(schema)):
        if "$schema" in node and not declares_known_dialect(node):
            del node["$schema"]


def is_within_levels(value: object, levels: int) -> bool:
    """Whether objects and lists nest at most `levels` deep."""
    level = [value]
    for _ in range(levels):
        level = [child for holder in level for child in _children(holder)]
        if not level:
            return True
    return False


def _children(holder: object) -> list[object]:
    if isinstance(holder, Mapping):
        return list(holder.values())
    return list(holder) if isinstance(holder, list | tuple) else []


def drop_open_references(schema: dict[str, object]) -> list[str]:
    """Take out references that lead nowhere in the document; return them, each once."""
    anchors = {str(node[key]) for node in subschemas(schema) for key in ("$anchor", "$dynamicAnchor") if key in node}
    dropped: dict[str, None] = {}
    for node in list(subschemas(schema)):
        for keyword in _REFERENCES:
            reference = node.get(keyword)
            if isinstance(reference, str) and not _leads_inside(reference, schema, anchors):
                _skip(node, keyword)
                dropped[reference] = None
    return list(dropped)


def _leads_inside(reference: str, schema: object, anchors: set[str]) -> bool:
    if reference == "#" or reference.startswith("#/"):
        return isinstance(locate(schema, pointer_steps(reference)), dict | bool)
    return reference.startswith("#") and reference[1:] in anchors


def drop_patterns(schema: dict[str, object], refuses: Callable[[str], bool]) -> list[str]:
    """Take out the patterns that `refuses` names; return them, each once.

    Properties that such a pattern would have chosen are then accepted by name and value.
    """
    dropped: dict[str, None] = {}
    for node in list(subschemas(schema)):
        pattern = node.get("pattern")
        if isinstance(pattern, str) and refuses(pattern):
            _skip(node, "pattern")
            dropped[pattern] = None
        choosing = node.get("patternProperties")
        if isinstance(choosing, dict):
            for chosen in [each for each in choosing if refuses(each)]:
                del choosing[chosen]
                node.pop("additionalProperties", None)
                node.pop("unevaluatedProperties", None)
                dropped[chosen] = None
    _relax(schema)
    return list(dropped)


def _skip(node: dict[str, object], keyword: str) -> None:
    del node[keyword]
    node["$comment"] = _SKIPPED


def _relax(schema: dict[str, object]) -> None:
    """Take out the keywords that refuse more when a part of them accepts more."""
    for node in list(subschemas(schema)):
        for keyword in ("not", "if", "oneOf"):
            inner = subschemas(node.get(keyword))
            if keyword in node and any(part.get("$comment") == _SKIPPED for part in inner):
                del node[keyword]


def close_root(schema: dict[str, object]) -> None:
    """Make unknown keys of the arguments violations, where the schema says nothing about them."""
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return
    combined = any(key in schema for key in ("$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"))
    schema["unevaluatedProperties" if combined else "additionalProperties"] = False
