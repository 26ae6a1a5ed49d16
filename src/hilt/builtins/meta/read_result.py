"""ReadResult: pages through a result that was cut because it was too long."""

import json
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final

import anyio.to_thread
import re2
from pydantic import Field

from hilt.core.args import Args
from hilt.core.content import StructuredPart
from hilt.core.errors import ToolError
from hilt.core.shaping import PAGE_MAX_BYTES, character_end, character_start
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.query import JsonQuery, QueryFailedError
from hilt.ports.results import RetainedResults, RetainedText
from hilt.ports.tool import Environment

# A longer text is searched in a thread, so that other calls go on.
_SEARCH_AT_ONCE_BYTES: Final = 256 * 1024
_LINE_SHOWN_BYTES: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResultArgs:
    """Arguments of `ReadResult`."""

    handle: Annotated[str, Field(description="Handle that the cut result names.")]
    offset: Annotated[int, Field(ge=0, description="First byte to return, counted from 0.")] = 0
    limit: Annotated[int, Field(ge=1, le=PAGE_MAX_BYTES, description="Bytes to return.")] = 20_000
    pattern: Annotated[
        str | None,
        Field(description="Regular expression (RE2): returns matching lines with their offsets instead."),
    ] = None
    jq_filter: Annotated[
        str | None, Field(description="jq filter over a JSON result: returns what it makes of it instead.")
    ] = None


class ReadResult:
    """Returns a stretch of a kept result, or its lines that match a pattern."""

    _args = Args(ReadResultArgs)
    read_only = True
    spec = ToolSpec(
        name="ReadResult",
        description=(
            "Return a stretch of a result that was cut because it was too long, from a byte offset on. "
            "Use it with the handle that the cut result names, with `pattern` to find the place first, or with "
            "`jq_filter` to take fields out of JSON. "
            "Do not use it for files or for results that are whole. Returns at most 24,000 bytes a call; "
            "old results are dropped, then run the call again."
        ),
        schema=_args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return a line that says what follows, then the stretch itself, unchanged."""
        args = self._args.decode(call)
        kept = _kept(args.handle, env)
        if args.jq_filter is not None:
            return await _filtered(call.id, kept, args.jq_filter, env)
        raw = kept.text.encode("utf-8", "replace")
        if args.offset > len(raw):
            raise ToolError.invalid_arguments(f"offset {args.offset} is past the end, the result has {len(raw)} bytes")
        if args.pattern is None:
            return ToolResult.text(call.id, _stretch(raw, args.offset, args.limit))
        search = partial(_matching, raw, _compiled(args.pattern), args.offset, args.limit)
        if len(raw) <= _SEARCH_AT_ONCE_BYTES:
            return ToolResult.text(call.id, search())
        return ToolResult.text(call.id, await anyio.to_thread.run_sync(search))


def _kept(handle: str, env: Environment) -> RetainedText:
    try:
        retained = env.service(RetainedResults)  # type: ignore[type-abstract]  # named by its Protocol
    except LookupError:
        raise ToolError.unavailable("this session keeps no results") from None
    try:
        return retained.get(handle)
    except LookupError as exc:
        raise ToolError.execution_failed(str(exc)) from None


async def _filtered(call_id: str, kept: RetainedText, program: str, env: Environment) -> ToolResult:
    if kept.structured is None:
        raise ToolError.invalid_arguments("this result is not JSON; read it with offset and limit, or pattern")
    try:
        query = env.service(JsonQuery)  # type: ignore[type-abstract]  # named by its Protocol
    except LookupError:
        raise ToolError.unavailable("filters cannot be run on this system; use offset and limit, or pattern") from None
    try:
        text = await query.run(program, kept.structured)
    except QueryFailedError as exc:
        raise ToolError.execution_failed(str(exc)) from None
    return ToolResult.with_parts(call_id, text, [StructuredPart(value=json.loads(text))])


def _stretch(raw: bytes, offset: int, limit: int) -> str:
    start = character_start(raw, offset)
    end = character_start(raw, min(start + limit, len(raw)))
    if end == start < len(raw):
        end = character_end(raw, start + 1)
    following = f"next offset {end}" if end < len(raw) else "this is the end"
    return f"[bytes {start} to {end} of {len(raw)}; {following}]\n{raw[start:end].decode('utf-8')}"


def _compiled(pattern: str) -> re2._Regexp:
    options = re2.Options()
    options.never_nl = True
    options.log_errors = False
    try:
        raw = pattern.encode("utf-8", "surrogatepass")
        re2.compile(raw, options=options)
        return re2.compile(b"(?m:" + raw + b")", options=options)
    except re2.error as exc:
        reason = exc.args[0] if exc.args else "it does not compile"
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ToolError.invalid_arguments(f"pattern is no RE2 expression: {text}") from None


def _matching(raw: bytes, pattern: re2._Regexp, offset: int, limit: int) -> str:
    """Return the matching lines from the one that holds `offset` on, each behind its own offset."""
    lines: list[str] = []
    used, following = 0, -1
    at = raw.rfind(b"\n", 0, offset) + 1
    while at < len(raw) and (found := pattern.search(raw, at)) is not None:
        start = raw.rfind(b"\n", 0, found.start()) + 1
        end = raw.find(b"\n", found.start())
        end = len(raw) if end < 0 else end
        line = f"{start}: {_shown(raw[start:end])}"
        used += len(line.encode("utf-8")) + 1
        if lines and used > limit:
            following = start
            break
        lines.append(line)
        at = end + 1
    more = f"next offset {following}" if following >= 0 else "this is the end"
    return "\n".join([f"[{len(lines)} matching lines of {len(raw)} bytes; {more}]", *lines])


def _shown(line: bytes) -> str:
    if len(line) <= _LINE_SHOWN_BYTES:
        return line.decode("utf-8")
    shown = line[: character_start(line, _LINE_SHOWN_BYTES)].decode("utf-8")
    return f"{shown} [{len(line)} bytes in all]"
