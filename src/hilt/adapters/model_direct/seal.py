"""The reasoning's seal: what a provider must get back with a reasoning, packed into one text and unpacked.

A reasoning may come in several parts, each signed; the transcript keeps one text and one seal.
"""

import json
from collections.abc import Iterator, Sequence

from pydantic_ai.messages import ThinkingPart

SEPARATOR = "\n\n"


def joined(parts: Sequence[ThinkingPart]) -> str:
    """Return the reasoning as it is streamed: the parts that have a text, divided by an empty line."""
    return SEPARATOR.join(part.content for part in parts if part.content)


def pack(parts: Sequence[ThinkingPart], wire: str) -> str:
    """Return the seal of these parts, "" where nothing must be kept; the text itself is not in it."""
    if not any(part.signature or part.id or part.provider_details for part in parts):
        return ""
    entries = [
        {
            "characters": len(part.content),
            "id": part.id,
            "signature": part.signature,
            "provider": part.provider_name,
            "details": part.provider_details,
        }
        for part in parts
    ]
    return json.dumps({"wire": wire, "parts": entries}, ensure_ascii=False, separators=(",", ":"))


def unpack(reasoning: str, seal: str, wire: str) -> list[ThinkingPart]:
    """Return the parts that a seal of this wire stands for.

    It is empty where the seal is another wire's or does not fit the text: a provider refuses a reasoning that
    it did not sign, and takes a conversation without it.
    """
    entries = list(_entries(seal, wire))
    parts = []
    at = 0
    for entry in entries:
        size = entry.get("characters")
        if not isinstance(size, int) or size < 0:
            return []
        at += len(SEPARATOR) if size and at else 0
        parts.append(_part(reasoning[at : at + size], entry))
        at += size
    return parts if joined(parts) == reasoning else []


def _entries(seal: str, wire: str) -> Iterator[dict[str, object]]:
    try:
        raw = json.loads(seal or "{}")
    except ValueError:
        return
    found = raw.get("parts") if isinstance(raw, dict) and raw.get("wire") == wire else None
    for entry in found if isinstance(found, list) else []:
        if isinstance(entry, dict):
            yield entry


def _part(content: str, entry: dict[str, object]) -> ThinkingPart:
    details = entry.get("details")
    return ThinkingPart(
        content=content,
        id=_text(entry.get("id")),
        signature=_text(entry.get("signature")),
        provider_name=_text(entry.get("provider")),
        provider_details=details if isinstance(details, dict) else None,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
