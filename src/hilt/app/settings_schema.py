"""The JSON Schema of the settings: accepts and refuses what loading does (CLI-56)."""

from hilt.app.settings import Settings
from hilt.app.settings_shape import (
    ChoiceShape,
    FlagShape,
    ListShape,
    MapShape,
    NullShape,
    NumberShape,
    SectionShape,
    Shape,
    TextShape,
    section,
)

Schema = dict[str, object]


def settings_schema() -> Schema:
    """Return the schema of a settings file, in the dialect 2020-12; an empty file reads as null."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of hilt",
        **_or_null(_section(section(Settings))),
    }


def _schema(shape: Shape) -> Schema:
    match shape:
        case NullShape(inner):
            return {"anyOf": [_schema(inner), {"type": "null"}]}
        case TextShape(written):
            patterns = [] if written is None else [{"pattern": f"^(?:{p})$"} for p in written.patterns]
            return {"type": "string"} | ({"allOf": patterns} if patterns else {})
        case FlagShape():
            return {"type": "boolean"}
        case NumberShape(whole, bounds):
            return {"type": "integer" if whole else "number", **bounds.schema()}
        case ChoiceShape(words):
            return {"enum": [str(word) for word in words]}
        case ListShape(item):
            return {"type": "array", "items": _schema(item)}
        case MapShape():
            return _map(shape)
        case SectionShape():
            return _section(shape)


def _map(shape: MapShape) -> Schema:
    value = _schema(shape.value)
    if isinstance(shape.value, ListShape):
        value = _or_null(value)
    if isinstance(shape.key, ChoiceShape):
        properties = {str(word): value for word in shape.key.words}
        return {"type": "object", "properties": properties, "additionalProperties": False}
    return {"type": "object", "additionalProperties": value}


def _section(shape: SectionShape) -> Schema:
    properties: dict[str, object] = {}
    for name, key in shape.keys.items():
        may_lack = isinstance(key.shape, SectionShape | ListShape | MapShape) and not key.required
        inner = _schema(key.shape)
        properties[name] = _or_null(inner) if may_lack else inner
    out: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [name for name, key in shape.keys.items() if key.required]
    if required:
        out["required"] = required
    if shape.one_of:
        out["oneOf"] = [{"required": [name]} for name in shape.one_of]
    if shape.needs:
        out["dependentRequired"] = {name: [other] for name, other in shape.needs.items()}
    return out


def _or_null(schema: Schema) -> Schema:
    kind = schema.get("type")
    return {**schema, "type": [kind, "null"]} if isinstance(kind, str) else {"anyOf": [schema, {"type": "null"}]}
