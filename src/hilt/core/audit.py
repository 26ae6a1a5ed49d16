"""The audit record of one tool call: one JSON object, the same in every store."""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Final

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
from hilt.core.errors import ToolError
from hilt.core.tool import ToolCall, ToolResult, canonical_json

_ABSENT: Final[tuple[object, ...]] = (None, "", (), [], {})


def audit_record(
    session_id: str,
    call: ToolCall,
    result: ToolResult,
    *,
    times: tuple[float, float],
    time: str,
    detail: Mapping[str, object],
) -> dict[str, object]:
    """Return the record of a call, `times` being queued and took in seconds.

    Arguments stand as the object that was executed, or as the model's text where that is no JSON object.
    What is empty in `detail` is left out, and nothing there replaces a key of the record itself. Of each part
    only kind, MIME type, size and SHA-256 are kept.
    """
    queued, took = times
    record: dict[str, object] = {
        "type": "tool_call",
        "time": time,
        "session_id": session_id,
        "call_id": call.id,
        "tool": call.name,
        "args": _arguments(call),
        "result": result.content,
        "is_error": result.is_error,
        "queued_micros": round(queued * 1e6),
        "took_micros": round(took * 1e6),
    }
    if result.parts:
        record["parts"] = [part_digest(part) for part in result.parts]
    for key, value in detail.items():
        if key not in record and value not in _ABSENT:
            record[key] = value
    return record


def _arguments(call: ToolCall) -> object:
    try:
        return call.arguments
    except ToolError:
        return call.args


def part_digest(part: Part) -> dict[str, object]:
    """Return what the audit keeps of a part: `kind`, `mime_type` where it has one, `size_bytes`, `sha256`.

    Size and hash are of the decoded bytes, of UTF-8 text, or of a structured value's canonical JSON.
    """
    out: dict[str, object] = {"kind": part.kind}
    match part:
        case ImagePart() | AudioPart():
            out["mime_type"] = part.mime_type
            raw = _decoded(part.data)
        case EmbeddedResourcePart():
            if part.mime_type:
                out["mime_type"] = part.mime_type
            raw = _utf8(part.text or "") if part.blob is None else _decoded(part.blob)
        case ResourceLinkPart():
            if part.mime_type:
                out["mime_type"] = part.mime_type
            raw = _utf8(part.uri)
        case TextPart():
            raw = _utf8(part.text)
        case StructuredPart():
            raw = _utf8(canonical_json(part.value))
    out["size_bytes"] = len(raw)
    out["sha256"] = hashlib.sha256(raw).hexdigest()
    return out


def payload_size(part: Part) -> int:
    """Return roughly how many bytes a part's payload has, without decoding or encoding it."""
    match part:
        case ImagePart() | AudioPart():
            return base64_size(part.data)
        case EmbeddedResourcePart():
            return len(part.text or "") if part.blob is None else base64_size(part.blob)
        case TextPart():
            return len(part.text)
        case _:
            return 0


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except (binascii.Error, ValueError):
        return _utf8(data)
