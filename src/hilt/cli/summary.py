"""What a run came to: the summary for programs, the exit code, the calls that were denied."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from hilt.cli.failure import FAILED, LIMIT, REFUSED
from hilt.core.errors import ErrorCode
from hilt.core.event import Event, RunResult, ToolSettled, TurnEnd, TurnTokens
from hilt.core.session import StopReason, Usage

SCHEMA_VERSION = 1

_CODES: Mapping[StopReason, int] = {
    StopReason.END_TURN: 0,
    StopReason.BLOCKED: REFUSED,
    StopReason.ERROR: FAILED,
    StopReason.CANCELLED: FAILED,
}


@dataclass(slots=True, kw_only=True)
class Summary:
    """Gathers from the events of a run what is told at its end."""

    session_id: str
    denied: list[dict[str, object]] = field(default_factory=list)
    result: RunResult | None = None
    tokens: dict[str, int] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Note what an event adds."""
        match event.body:
            case ToolSettled(call_id=call_id, tool=tool, result=result, code=ErrorCode.ACCESS_DENIED):
                self.denied.append({"call_id": call_id, "tool": tool, "reason": reason_of(result.content)})
            case TurnEnd(tokens=TurnTokens() as tokens):
                self._count(tokens)
            case RunResult() as result:
                self.result = result

    def _count(self, tokens: TurnTokens) -> None:
        """Add what the tools of a turn cost."""
        parts = {"listed": tokens.listed, "results": tokens.results, "full": tokens.full, "saved": tokens.saved}
        for name, value in parts.items():
            self.tokens[name] = self.tokens.get(name, 0) + value

    @property
    def exit_code(self) -> int:
        """The code of the run itself, signals aside."""
        return FAILED if self.result is None else _CODES.get(self.result.stop_reason, LIMIT)

    @property
    def trouble(self) -> str:
        """One line on why the run did not end well, "" where it did."""
        if self.result is None:
            return "the run ended without a result"
        if self.result.stop_reason is StopReason.END_TURN:
            return ""
        return f"the run ended: {self.result.stop_reason}" + (f", {self.result.error}" if self.result.error else "")

    def to_json(self) -> dict[str, object]:
        """Return the summary as a JSON object."""
        result = self.result or RunResult(stop_reason=StopReason.ERROR, error=self.trouble)
        return {
            "schema_version": SCHEMA_VERSION,
            "session_id": self.session_id,
            "stop_reason": str(result.stop_reason),
            "final_text": result.final_text,
            "usage": usage_json(result.usage),
            "tool_calls": result.tool_calls,
            "denied": self.denied,
            "error": result.error or None,
            **({"tool_tokens": self.tokens} if self.tokens.get("saved") else {}),
        }


def usage_json(usage: Usage) -> dict[str, int]:
    """Return the tokens as a JSON object."""
    return {
        "input": usage.input,
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
    }


def reason_of(content: str) -> str:
    """Return the message of an error result of the harness, or the text itself."""
    try:
        body: object = json.loads(content)
    except ValueError:
        return content
    message = body.get("message") if isinstance(body, dict) else None
    return message if isinstance(message, str) else content
