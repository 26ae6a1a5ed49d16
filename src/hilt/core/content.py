"""Typed blocks of a result: what a tool gave, kept apart from the text that the model reads.

`audience` is a hint for people's displays, never a reason to keep a block from the model (results.md RES-04).
Bytes are base64 text as they came, so that a size can be judged before anything is decoded.
"""

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import ClassVar, Literal

from hilt.core.frozen import frozen

PartKind = Literal["text", "image", "audio", "resource_link", "embedded_resource", "structured"]


@frozen
class TextPart:
    """Plain text."""

    kind: ClassVar[PartKind] = "text"
    text: str
    audience: tuple[str, ...] = ()


@frozen
class ImagePart:
    """An image; `data` is base64, `mime_type` one of image/png, jpeg, gif, webp."""

    kind: ClassVar[PartKind] = "image"
    data: str
    mime_type: str
    audience: tuple[str, ...] = ()


@frozen
class AudioPart:
    """Sound; `data` is base64."""

    kind: ClassVar[PartKind] = "audio"
    data: str
    mime_type: str
    audience: tuple[str, ...] = ()


@frozen
class ResourceLinkPart:
    """A reference to a resource by URI; never followed by itself."""

    kind: ClassVar[PartKind] = "resource_link"
    uri: str
    name: str = ""
    title: str = ""
    description: str = ""
    mime_type: str = ""
    size_bytes: int | None = None
    server: str = ""
    audience: tuple[str, ...] = ()


@frozen
class EmbeddedResourcePart:
    """A resource inside the result: `text`, or `blob` as base64."""

    kind: ClassVar[PartKind] = "embedded_resource"
    uri: str
    mime_type: str = ""
    text: str | None = None
    blob: str | None = None
    audience: tuple[str, ...] = ()


@frozen
class StructuredPart:
    """A JSON value."""

    kind: ClassVar[PartKind] = "structured"
    value: object
    audience: tuple[str, ...] = ()


Part = TextPart | ImagePart | AudioPart | ResourceLinkPart | EmbeddedResourcePart | StructuredPart

PART_TYPES: dict[str, type[Part]] = {
    t.kind: t for t in (TextPart, ImagePart, AudioPart, ResourceLinkPart, EmbeddedResourcePart, StructuredPart)
}


def part_to_json(part: Part) -> dict[str, object]:
    """Return the part as a JSON object; absent values are left out."""
    out: dict[str, object] = {"kind": part.kind}
    for field in fields(part):
        value = getattr(part, field.name)
        if field.default is MISSING or value != field.default:
            out[field.name] = list(value) if isinstance(value, tuple) else value
    return out


def part_from_json(raw: object) -> Part:
    """Return the part of a JSON object made by `part_to_json`.

    Raises:
        ValueError: It is not of that shape.
    """
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(kind, str) or kind not in PART_TYPES:
        raise ValueError("a part is an object with a known kind")
    values = {key: _read(key, value) for key, value in raw.items() if key != "kind"}
    make: Callable[..., Part] = PART_TYPES[kind]
    try:
        return make(**values)
    except TypeError as exc:
        raise ValueError(f"a part of kind {kind} has wrong keys") from exc


def _read(key: object, value: object) -> object:
    """Return the value of a key of a stored part.

    Raises:
        ValueError: It is of another type than the key's.
    """
    if key == "audience" and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    fits = key == "value" or isinstance(value, int if key == "size_bytes" else str)
    if not fits and value is not None:
        raise ValueError(f"{key!r} of a part has a wrong type")
    return value


def base64_size(data: str) -> int:
    """Return how many bytes base64 text stands for, without decoding it."""
    return len(data) * 3 // 4 - (len(data) - len(data.rstrip("=")) if data.endswith("=") else 0)
