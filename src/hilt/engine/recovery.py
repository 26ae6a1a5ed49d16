"""What a restart left open: which calls had ended, which had started, and what the others are told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hilt.core.errors import ErrorCode, ToolError
from hilt.core.record import result_from_json
from hilt.core.tool import ToolCall, ToolResult

OUTCOME_UNKNOWN = (
    "hilt was restarted while this call ran: its outcome is unknown and nothing was repeated. "
    "Check what it changed before trying again."
)
NOT_RUN = "hilt was restarted before this call: it was not run."


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What the event log tells of calls: results by call id, and the ids of those that started."""

    results: Mapping[str, ToolResult]
    started: frozenset[str]
    last_seq: int = 0


def trace(events: Sequence[Mapping[str, object]]) -> Trace:
    """Read the trace of calls from stored events (`event_to_json`)."""
    results: dict[str, ToolResult] = {}
    started: set[str] = set()
    last = 0
    for event in events:
        seq = event.get("seq")
        last = max(last, seq) if isinstance(seq, int) else last
        call_id = str(event.get("call_id", ""))
        if event.get("type") == "tool.start":
            started.add(call_id)
        elif event.get("type") == "tool.result":
            results[call_id] = result_from_json(event.get("result"))
    return Trace(results=results, started=frozenset(started), last_seq=last)


def settle_open(calls: Sequence[ToolCall], found: Trace) -> tuple[ToolResult, ...]:
    """Return one result for each call: the stored one, or an error that says how far it came."""
    return tuple(found.results.get(call.id) or _error(call, call.id in found.started) for call in calls)


def _error(call: ToolCall, started: bool) -> ToolResult:
    error = ToolError(ErrorCode.TOOL_ERROR, OUTCOME_UNKNOWN if started else NOT_RUN)
    return ToolResult.error(call.id, error.content(call.name))
