"""Reads a tool's answer: its blocks, and whether what it says fits what the tool promised."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import anyio.to_thread

from hilt.core.origin import HEAVY, outweighs
from hilt.core.schema import output_violation
from hilt.core.tool import ToolResult
from hilt.mcp.content import read_result
from hilt.mcp.failure import log_text

logger = logging.getLogger(__name__)

NOTE_TEXT_BYTES: Final = 400


async def read_answer(
    raw: Mapping[str, object], *, call_id: str, server: str, tool: str, schema: Mapping[str, object] | None
) -> ToolResult:
    """Return the result of a `tools/call` answer, with a note where it breaks the tool's output `schema`.

    A large one is read beside the event loop.
    """
    work = partial(_read, raw, call_id=call_id, server=server, tool=tool, schema=schema)
    return await anyio.to_thread.run_sync(work) if outweighs(dict(raw), HEAVY) else work()


def _read(
    raw: Mapping[str, object], *, call_id: str, server: str, tool: str, schema: Mapping[str, object] | None
) -> ToolResult:
    result = read_result(raw, call_id=call_id, server=server, tool=tool)
    if schema is None or result.is_error or "structuredContent" not in raw:
        return result
    note, ignored = broken_promise(schema, raw["structuredContent"])
    for each in ignored:
        logger.warning("mcp_output_schema server=%s tool=%s %s", server, repr(tool[:80]), log_text(each))
    return ToolResult(call_id, f"{result.content}\n{note}", False, result.parts) if note else result


def broken_promise(schema: Mapping[str, object], value: object) -> tuple[str, Sequence[str]]:
    """Return a line on what breaks an output schema, "" for nothing, and what of the schema was ignored.

    The line has at most 500 bytes.
    """
    try:
        found, ignored = output_violation(schema, value)
    except (ValueError, RecursionError) as exc:
        return "", [f"the output schema cannot be used: {type(exc).__name__}"]
    if not found:
        return "", ignored
    text = " ".join(found.split()).encode("utf-8", "replace")[:NOTE_TEXT_BYTES].decode("utf-8", "ignore")
    return f"[note: the structured content breaks the tool's output schema at {text}]", ignored
