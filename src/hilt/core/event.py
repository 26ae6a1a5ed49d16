"""What a run emits, a closed union: each body is one class, the envelope numbers and dates it.

`Event.seq` rises by one within a session; `turn` is 0 before the first turn; `time` is UTC in ISO 8601.
"""

from collections.abc import Mapping
from dataclasses import field, fields
from typing import ClassVar

from hilt.core.frozen import frozen
from hilt.core.session import StopReason, Usage
from hilt.core.tool import ToolResult


@frozen
class RunStart:
    """A prompt was taken."""

    kind: ClassVar[str] = "run.start"
    prompt: str = ""
    mode: str = ""
    model: str = ""


@frozen
class TurnStart:
    """A model request is about to be sent."""

    kind: ClassVar[str] = "turn.start"
    tools: int = 0


@frozen
class TurnTokens:
    """Tokens of a turn's tools: definitions as listed, full specs given so far, results of the turn.

    `full` is what listing every tool in full would cost, `saved` what is left of it after all that disclosure costs.
    `counter` says how they are counted: `provider` or `bytes/4`.
    """

    counter: str = "bytes/4"
    listed: int = 0
    hydrated: int = 0
    results: int = 0
    full: int = 0
    saved: int = 0


@frozen
class TurnEnd:
    """A model request and its calls are done; `calls` is their number."""

    kind: ClassVar[str] = "turn.end"
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    tokens: TurnTokens | None = None


@frozen
class MessageDelta:
    """Text as the model sends it."""

    kind: ClassVar[str] = "message.delta"
    text: str


@frozen
class ReasoningDelta:
    """Reasoning as the model sends it."""

    kind: ClassVar[str] = "reasoning.delta"
    text: str


@frozen
class ToolCallTaken:
    """A call is taken up; `args` is the model's own text."""

    kind: ClassVar[str] = "tool.call"
    call_id: str
    tool: str
    args: str


@frozen
class HookRan:
    """One hook ran; `outcome` is allow, ask, deny, block, context, failed or finding."""

    kind: ClassVar[str] = "hook"
    hook: str
    event: str
    outcome: str
    duration_ms: float = 0.0
    rewrote: bool = False
    call_id: str = ""
    message: str = ""


@frozen
class AskOpened:
    """A person is asked; `arguments` have secrets masked and at most 4,096 bytes as JSON text."""

    kind: ClassVar[str] = "permission.ask"
    ask_id: str
    call_id: str
    tool: str
    reason: str
    rule: str = ""
    arguments: str = "{}"
    child: str = ""


@frozen
class AskClosed:
    """An ask got its verdict: allow_once, allow_always, deny, or retracted."""

    kind: ClassVar[str] = "permission.verdict"
    ask_id: str
    call_id: str
    verdict: str
    message: str = ""
    remembered: bool = False


@frozen
class ToolStart:
    """Execution begins; `read_only` says whether others may overlap."""

    kind: ClassVar[str] = "tool.start"
    call_id: str
    tool: str
    read_only: bool = False


@frozen
class ToolProgress:
    """A running call reports; `total` None means unknown."""

    kind: ClassVar[str] = "tool.progress"
    call_id: str
    done: float
    total: float | None = None
    text: str = ""


@frozen
class ToolEnd:
    """Execution ended."""

    kind: ClassVar[str] = "tool.end"
    call_id: str
    tool: str
    duration_ms: float
    is_error: bool = False


@frozen
class ToolSettled:
    """The settled result."""

    kind: ClassVar[str] = "tool.result"
    call_id: str
    tool: str
    result: ToolResult
    code: str = ""


@frozen
class Notice:
    """A fact for the model or the client."""

    kind: ClassVar[str] = "notice"
    topic: str
    text: str


@frozen
class RunResult:
    """The end of a run: nothing of it follows."""

    kind: ClassVar[str] = "result"
    stop_reason: StopReason
    final_text: str = ""
    usage: Usage = field(default_factory=Usage)
    error: str = ""
    tool_calls: int = 0
    turns: int = 0


EventBody = (
    RunStart
    | TurnStart
    | TurnEnd
    | MessageDelta
    | ReasoningDelta
    | ToolCallTaken
    | HookRan
    | AskOpened
    | AskClosed
    | ToolStart
    | ToolProgress
    | ToolEnd
    | ToolSettled
    | Notice
    | RunResult
)


@frozen
class Event:
    """One event in its envelope."""

    seq: int
    run: str
    turn: int
    time: str
    body: EventBody


def body_to_json(body: EventBody) -> dict[str, object]:
    """Return the body as a JSON object with its `type`."""
    out: dict[str, object] = {"type": body.kind}
    for name in _names(type(body)):
        value = getattr(body, name)
        out[name] = value if value is None or isinstance(value, _AS_IT_IS) else _plain(value)
    return out


# Texts that are enumerations have a plain form of their own, so that only exact kinds pass unlooked.
_AS_IT_IS = (bool, int, float)


_NAMES: dict[type, tuple[str, ...]] = {}


def _names(kind: type[EventBody | Usage | TurnTokens]) -> tuple[str, ...]:
    known = _NAMES.get(kind)
    if known is None:
        known = _NAMES[kind] = tuple(item.name for item in fields(kind))
    return known


def _plain(value: object) -> object:
    if isinstance(value, ToolResult):
        return value.to_json()
    if isinstance(value, Usage | TurnTokens):
        return {name: getattr(value, name) for name in _names(type(value))}
    if isinstance(value, StopReason):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value


def event_to_json(event: Event) -> dict[str, object]:
    """Return the event as one JSON object: the envelope's keys, then the body's."""
    return {
        "seq": event.seq,
        "run": event.run,
        "turn": event.turn,
        "time": event.time,
        **body_to_json(event.body),
    }
