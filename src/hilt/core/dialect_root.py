"""Makes the root of a schema one plain object, which is all that a provider takes there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hilt.core.dialect_finding import Repair
from hilt.core.dialect_refs import Schema, either, merged, resolved

_UNIONS = ("oneOf", "anyOf")
_DEPTH_MAX = 8
BRANCHES_TOLD = 6


@dataclass(slots=True)
class Root:
    """An object root; `told` are sentences for the description, `repairs` what was done."""

    schema: Schema
    told: list[str] = field(default_factory=list)
    repairs: list[Repair] = field(default_factory=list)


def object_root(document: Mapping[str, object]) -> Root | None:
    """Return the root as one object, None if no branch of it can be an object."""
    root = Root(dict(document))
    schema = _flat(root, document, dict(document), _DEPTH_MAX)
    if schema is None:
        return None
    kind = schema.get("type")
    if kind != "object":
        if kind is not None and not (isinstance(kind, list) and "object" in kind):
            return None
        schema["type"] = "object"
        root.repairs.append(Repair("/type", "root-object", "repaired", "the root is made an object"))
    root.schema = schema
    return root


def _flat(root: Root, document: Mapping[str, object], schema: Schema, depth: int) -> Schema | None:
    """Return a schema without a reference, `allOf` or union at its own root."""
    reference = schema.pop("$ref", None)
    if isinstance(reference, str) and depth:
        target = resolved(document, reference)
        if isinstance(target, Mapping) and target is not document:
            below = _flat(root, document, dict(target), depth - 1)
            if below is None:
                return None
            schema = merged(schema, below)
        root.repairs.append(Repair("/$ref", "root-ref", "repaired", "the reference at the root is put in place"))
    every = schema.pop("allOf", None)
    if isinstance(every, list):
        root.repairs.append(Repair("/allOf", "root-all-of", "repaired", "allOf at the root is merged"))
        for branch in every:
            below = _flat(root, document, dict(branch), depth - 1) if isinstance(branch, Mapping) and depth else {}
            if below is None:
                return None
            schema = merged(schema, below)
    for keyword in _UNIONS:
        branches = schema.pop(keyword, None)
        if isinstance(branches, list):
            folded = _folded(root, document, schema, keyword, branches, depth)
            if folded is None:
                return None
            schema = folded
    return schema


def _folded(
    root: Root, document: Mapping[str, object], schema: Schema, keyword: str, branches: Sequence[object], depth: int
) -> Schema | None:
    """Return the schema with the properties of all object branches; required is what all require."""
    objects = []
    for branch in branches:
        below = _flat(root, document, dict(branch), depth - 1) if isinstance(branch, Mapping) and depth else None
        if below is not None and _may_be_object(below):
            objects.append(below)
    if not objects and branches:
        return None
    properties: dict[str, object] = {}
    for below in objects:
        own = below.get("properties")
        for name, value in own.items() if isinstance(own, Mapping) else ():
            properties[name] = either(properties[name], value) if name in properties else value
    common = set.intersection(*(_required(below) for below in objects)) if objects else set()
    required = [name for name in properties if name in common]
    out = merged(schema, {"properties": properties, **({"required": required} if required else {})})
    text = f"the alternatives of {keyword} at the root became one object"
    root.repairs.append(Repair(f"/{keyword}", "root-union", "told", text))
    shown = [", ".join(sorted(_required(below))) or "nothing" for below in objects[:BRANCHES_TOLD]]
    more = " or more" if len(objects) > BRANCHES_TOLD else ""
    root.told.append(f"give one of these sets: ({') or ('.join(shown)}){more}")
    return out


def _required(schema: Mapping[str, object]) -> set[str]:
    names = schema.get("required")
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def _may_be_object(schema: Mapping[str, object]) -> bool:
    kind = schema.get("type")
    return kind in (None, "object") or (isinstance(kind, list) and "object" in kind)
