"""What an MCP tool answers, as text for the model and typed parts (results.md sections 1 and 2)."""

import re
from collections.abc import Mapping

from hilt.core.content import (
    AudioPart,
    EmbeddedResourcePart,
    ImagePart,
    Part,
    ResourceLinkPart,
    StructuredPart,
    TextPart,
    base64_size,
)
from hilt.core.json_value import json_text, parse_json
from hilt.core.tool import ToolResult

NO_CONTENT = "The tool returned no content."
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}\Z")
_SHOWN_MAX = 60

Block = tuple[str, Part | None]
"""The lines that the model reads of a block, and its part; text "" where the part itself is shown."""


def read_result(raw: Mapping[str, object], *, call_id: str, server: str, tool: str) -> ToolResult:
    """Return the result of a `tools/call` answer; whatever came, there is one, and nothing is raised."""
    content, structured = raw.get("content"), raw.get("structuredContent")
    if content is None:
        content = []
    if not isinstance(content, list):
        return ToolResult.error(
            call_id,
            f"MCP server {server!r} answered tool {tool!r} with no MCP result: content is no list",
        )
    blocks = [read_block(block, server=server) for block in content]
    parts = [part for _, part in blocks if part is not None]
    lines = _distinct(blocks)
    if "structuredContent" in raw:
        parts.append(StructuredPart(value=structured))
        if not any(_stands_for(part.text, structured) for part in parts if isinstance(part, TextPart)):
            lines.append(_written(structured))
    if not lines and not parts:
        lines.append(NO_CONTENT)
    return ToolResult(call_id, "\n".join(lines), raw.get("isError") is True, tuple(parts))


def _distinct(blocks: list[Block]) -> list[str]:
    """Return the lines of the blocks in order; a text that stood before is not repeated."""
    lines: list[str] = []
    seen: set[str] = set()
    for text, part in blocks:
        if isinstance(part, TextPart):
            if text in seen:
                continue
            seen.add(text)
            lines.append(text)
        elif text:
            lines.append(text)
    return lines


def _written(value: object) -> str:
    try:
        return json_text(value)
    except (ValueError, RecursionError):
        return "[structured content that cannot be written as JSON, it is nested too deeply]"


def _stands_for(text: str, value: object) -> bool:
    try:
        return bool(parse_json(text) == value)
    except (ValueError, RecursionError):
        return False


def read_block(block: object, *, server: str) -> Block:
    """Return text and part of one content block; one that cannot be used is a line with its type."""
    if not isinstance(block, Mapping):
        return "[a content block that is no object was left out]", None
    kind = block.get("type")
    audience = _audience(block)
    found: Block | None = None
    match kind:
        case "text":
            text = block.get("text")
            found = (text, TextPart(text=text, audience=audience)) if isinstance(text, str) else None
        case "image":
            found = _image(block, audience)
        case "audio":
            found = _audio(block, audience)
        case "resource_link":
            found = _link(block, audience, server)
        case "resource":
            found = _embedded(block, audience)
        case _:
            return f"[a content block of unknown type {_short(kind)} was left out]", None
    return found or (f"[a malformed content block of type {_short(kind)} was left out]", None)


def _short(value: object) -> str:
    return repr(value)[:_SHOWN_MAX]


def _audience(block: Mapping[str, object]) -> tuple[str, ...]:
    notes = block.get("annotations")
    given = notes.get("audience") if isinstance(notes, Mapping) else None
    return tuple(who for who in given if isinstance(who, str)) if isinstance(given, list) else ()


def _media(block: Mapping[str, object]) -> tuple[str, str] | None:
    encoded, mime_type = block.get("data"), block.get("mimeType")
    if not isinstance(encoded, str) or not isinstance(mime_type, str) or not is_base64(encoded):
        return None
    return encoded, mime_type.strip().lower()


def is_base64(text: str) -> bool:
    """Whether the text is base64 with its padding; nothing is decoded."""
    return len(text) % 4 == 0 and _BASE64.match(text) is not None


def _image(block: Mapping[str, object], audience: tuple[str, ...]) -> Block | None:
    media = _media(block)
    if media is None:
        return None
    encoded, mime_type = media
    if mime_type not in IMAGE_TYPES:
        return f"[image {_short(mime_type)}, {base64_size(encoded)} bytes: not shown]", None
    return "", ImagePart(data=encoded, mime_type=mime_type, audience=audience)


def _audio(block: Mapping[str, object], audience: tuple[str, ...]) -> Block | None:
    media = _media(block)
    return None if media is None else ("", AudioPart(data=media[0], mime_type=media[1], audience=audience))


def _text(source: Mapping[str, object], key: str) -> str:
    value = source.get(key)
    return value if isinstance(value, str) else ""


def _link(block: Mapping[str, object], audience: tuple[str, ...], server: str) -> Block | None:
    uri, size = block.get("uri"), block.get("size")
    if not isinstance(uri, str) or not uri:
        return None
    name = _text(block, "name")
    if uri.lower().startswith("https://"):
        way = "read it with FetchMcpResource"
    else:
        way = f"read it with ReadMcpResource, server {server!r}"
    part = ResourceLinkPart(
        uri=uri,
        name=name,
        title=_text(block, "title"),
        description=_text(block, "description"),
        mime_type=_text(block, "mimeType"),
        size_bytes=size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None,
        server=server,
        audience=audience,
    )
    return f"[resource {uri}{f' ({name})' if name else ''}: {way}]", part


def _embedded(block: Mapping[str, object], audience: tuple[str, ...]) -> Block | None:
    resource = block.get("resource")
    if not isinstance(resource, Mapping):
        return None
    uri, text, blob = resource.get("uri"), resource.get("text"), resource.get("blob")
    mime_type = _text(resource, "mimeType")
    if not isinstance(uri, str):
        return None
    if isinstance(text, str):
        part = EmbeddedResourcePart(uri=uri, mime_type=mime_type, text=text, audience=audience)
        return f"[resource {uri}]\n{text}", part
    if isinstance(blob, str) and is_base64(blob):
        shown = f"[resource {uri}: {mime_type or 'type unknown'}, {base64_size(blob)} bytes]"
        return shown, EmbeddedResourcePart(uri=uri, mime_type=mime_type, blob=blob, audience=audience)
    return None
