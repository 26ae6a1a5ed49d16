"""JSON results that are too long: withheld whole, with an outline and the ways to what the model needs.

A cut in the middle of JSON reads like an answer and is none, so nothing of it is shown.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hilt.core.content import EmbeddedResourcePart, StructuredPart, TextPart
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.frozen import frozen
from hilt.core.json_reader import read_shape
from hilt.core.json_shape import Shape
from hilt.core.json_value import json_text
from hilt.core.origin import Origin
from hilt.core.outline import example_filter, outline
from hilt.core.tool import ToolResult, canonical_json

_JSON_TYPES: Final = frozenset({"application/json", "text/json"})
_ARGUMENTS_SHOWN_BYTES: Final = 500
_NARROWING_MAX: Final = 8
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NARROWING_WORDS: Final = """
    after before count cursor depth end exclude fields filter filters first include last length limit max maximum
    offset page pages per projection q query range search select since size skip start take top until where
"""
_NARROWING: Final = frozenset(_NARROWING_WORDS.split())


@frozen
class Found:
    """That a result is structured: its JSON text and shape, None where no JSON could be read in it."""

    text: str | None = None
    shape: Shape | None = None


def find_json(result: ToolResult, origin: Origin) -> Found | None:
    """Return the JSON of a structured result, None when the result is not structured.

    It is if it carries a structured part; one of a server also if its tool promised that, or if one of its blocks
    is JSON by its type or by parsing.
    """
    given = next((part for part in result.parts if isinstance(part, StructuredPart)), None)
    if (given is not None or origin.remote) and (whole := _parsed(result.content)) is not None:
        return whole
    if given is not None:
        return Found() if origin.rewritten else _serialised(given)
    if not origin.remote:
        return None
    declared = origin.typed
    for part in () if origin.rewritten else result.parts:
        if isinstance(part, TextPart | EmbeddedResourcePart) and part.text is not None:
            found = _parsed(part.text)
            if found is not None:
                return found
            declared = declared or (isinstance(part, EmbeddedResourcePart) and is_json_type(part.mime_type))
    return Found() if declared else None


def is_json_type(mime_type: str) -> bool:
    """Whether a MIME type says JSON; parameters behind it do not count."""
    plain = mime_type.partition(";")[0].strip().lower()
    return plain in _JSON_TYPES or (plain.startswith("application/") and plain.endswith("+json"))


def _parsed(text: str) -> Found | None:
    if text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        return None
    shape = read_shape(text)
    return None if shape is None else Found(text=text, shape=shape)


def _serialised(part: StructuredPart) -> Found:
    try:
        text = json_text(part.value)
    except (TypeError, ValueError, RecursionError):
        return Found()
    return Found(text=text, shape=read_shape(text))


def too_large(size: int, cap_bytes: int, found: Found, handle: str, origin: Origin) -> ToolError:
    """Return the error of a structured result that was withheld."""
    filter_ = "." if found.shape is None else example_filter(found.shape)
    told: dict[str, object] = {}
    if found.shape is not None:
        told["outline"] = json.loads(outline(found.shape))
    if handle:
        told["handle"] = handle
    text = f"the result is JSON of {size} bytes, over the limit of {cap_bytes}, and was withheld whole. "
    if found.shape is None:
        text += "No JSON of it could be read for an outline. "
    if not origin.read_only:
        text += "The call was carried out; do not make it again to see its result. "
    ways = _ways(handle, filter_, origin if found.text is not None else replace(origin, filters=False))
    text += "Ways to see it: " + "; ".join(f"({number}) {way}" for number, way in enumerate(ways, start=1))
    return ToolError(ErrorCode.RESULT_TOO_LARGE, f"{text}.", data=told or None)


def _ways(handle: str, filter_: str, origin: Origin) -> list[str]:
    again: list[str] = []
    named = narrowing(origin.schema)
    if named:
        again.append(f"call {origin.tool} with less asked for by its {', '.join(named)}")
    if origin.remote and origin.filters:
        again.append(f"CallMcpWithQuery {_wrapped(filter_, origin)}")
    elif not named:
        again.append(f"call {origin.tool or 'the tool'} so that it returns less")
    if not handle:
        return again
    if origin.filters:
        kept = f"ReadResult {json.dumps({'handle': handle, 'jq_filter': filter_}, ensure_ascii=False)}"
    else:
        kept = f"ReadResult {json.dumps({'handle': handle})} for its pages"
    return [*again, kept] if origin.read_only else [kept, *again]


def _wrapped(filter_: str, origin: Origin) -> str:
    call: dict[str, object] = {"server": origin.server, "tool": origin.server_tool}
    if origin.arguments:
        text = canonical_json(dict(origin.arguments))
        if len(text.encode("utf-8", "replace")) > _ARGUMENTS_SHOWN_BYTES:
            call["args"] = "the same as before"
        else:
            call["args"] = dict(origin.arguments)
    return json.dumps({**call, "jq_filter": filter_}, ensure_ascii=False)


def narrowing(schema: Mapping[str, object] | None) -> list[str]:
    """Return the parameters of a tool that by their names filter or page its results, at most eight."""
    properties = None if schema is None else schema.get("properties")
    if not isinstance(properties, Mapping):
        return []
    found = [name for name in properties if {word.lower() for word in _WORD.findall(name)} & _NARROWING]
    return [name for name in found if len(name) <= 60 and name.isprintable()][:_NARROWING_MAX]
