"""References inside one schema document: what they lead to, and schemas merged into one."""

from collections.abc import Mapping

Schema = dict[str, object]


def resolved(document: Mapping[str, object], reference: str) -> object:
    """Return what a reference leads to in the document, None when it leads outside or nowhere.

    `#`, JSON pointers and the names of `$anchor` are followed.
    """
    if not reference.startswith("#"):
        return None
    if reference == "#":
        return document
    if not reference.startswith("#/"):
        return _anchored(document, reference[1:])
    node: object = document
    for step in reference[2:].split("/"):
        key = _unescaped(step)
        if isinstance(node, Mapping):
            node = node.get(key)
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node if isinstance(node, Mapping | bool) else None


def _unescaped(step: str) -> str:
    return step.replace("%25", "%").replace("%20", " ").replace("~1", "/").replace("~0", "~")


def _anchored(document: Mapping[str, object], name: str) -> object:
    waiting: list[object] = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            if name in (node.get("$anchor"), node.get("$dynamicAnchor")):
                return node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return None


def merged(one: Mapping[str, object], other: Mapping[str, object]) -> Schema:
    """Return one schema for what both ask for; where they contradict each other the first holds."""
    out: Schema = dict(one)
    for key, value in other.items():
        mine = out.get(key)
        if key not in out:
            out[key] = value
        elif key == "required" and isinstance(mine, list) and isinstance(value, list):
            out[key] = list(dict.fromkeys([*mine, *value]))
        elif key == "properties" and isinstance(mine, Mapping) and isinstance(value, Mapping):
            out[key] = _both(mine, value)
        elif key in ("allOf",) and isinstance(mine, list) and isinstance(value, list):
            out[key] = [*mine, *value]
    return out


def _both(mine: Mapping[str, object], others: Mapping[str, object]) -> Schema:
    out: Schema = dict(mine)
    for name, value in others.items():
        known = out.get(name)
        if name not in out:
            out[name] = value
        elif isinstance(known, Mapping) and isinstance(value, Mapping):
            out[name] = merged(known, value)
    return out


def either(one: object, other: object) -> object:
    """Return one schema for a value that fits the first or the second."""
    if one == other or not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return one
    mine, others = _choices(one), _choices(other)
    if mine is not None and others is not None:
        rest = {key: value for key, value in {**other, **one}.items() if key not in ("const", "enum")}
        return {**rest, "enum": [*mine, *(choice for choice in others if choice not in mine)]}
    known = one.get("anyOf")
    branches = known if isinstance(known, list) and len(one) == 1 else [one]
    return {"anyOf": branches if other in branches else [*branches, other]}


def _choices(schema: Mapping[str, object]) -> list[object] | None:
    if "const" in schema:
        return [schema["const"]]
    enum = schema.get("enum")
    return list(enum) if isinstance(enum, list) else None
