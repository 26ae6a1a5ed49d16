"""Turns what a plain function returned into the result of its call."""

import json
from collections.abc import Sequence

from pydantic import TypeAdapter

from hilt.core.content import Part, StructuredPart, TextPart
from hilt.core.errors import ToolError
from hilt.core.tool import ToolCall, ToolResult

_PYTHON_VALUES: TypeAdapter[object] = TypeAdapter(object)


def to_result(call: ToolCall, value: object) -> ToolResult:
    """Return the result: text as text, nothing as empty text, parts as parts, anything else as JSON.

    A `ToolResult` is passed on. JSON comes as text and as one structured part. The content of parts is what
    those of text say.

    Raises:
        ToolError: `execution_failed`: the value cannot become JSON; its type is named.
    """
    match value:
        case ToolResult():
            return value
        case None:
            return ToolResult.text(call.id, "")
        case str():
            return ToolResult.text(call.id, value)
        case _ if isinstance(value, Part):
            return _with_parts(call, [value])
        case list() | tuple() if value and all(isinstance(item, Part) for item in value):
            return _with_parts(call, value)
        case _:
            return _with_json(call, value)


def _with_parts(call: ToolCall, parts: Sequence[Part]) -> ToolResult:
    text = "\n".join(part.text for part in parts if isinstance(part, TextPart))
    return ToolResult.with_parts(call.id, text, parts)


def _with_json(call: ToolCall, value: object) -> ToolResult:
    try:
        text = _json_text(value)
    except (TypeError, ValueError, RecursionError):
        kind = type(value).__qualname__
        raise ToolError.execution_failed(f"the returned {kind} cannot become JSON") from None
    return ToolResult.with_parts(call.id, text, [StructuredPart(value=json.loads(text))])


def _json_text(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except TypeError:
        plain = _PYTHON_VALUES.dump_python(value, mode="json", warnings=False)
        return json.dumps(plain, ensure_ascii=False, allow_nan=False)
