"""A conversation and its legal changes of state: ids, modes, messages, limits, stop reasons, the stored record."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import NewType

from hilt.core.content import Part
from hilt.core.frozen import frozen
from hilt.core.tool import ToolCall, ToolResult

SessionId = NewType("SessionId", str)
RunId = NewType("RunId", str)


class Mode(StrEnum):
    """Which calls a session admits (permissions-hooks.md section 5)."""

    PLAN = "plan"
    DEFAULT = "default"
    ACCEPT_EDITS = "accept-edits"
    AUTO = "auto"


class StopReason(StrEnum):
    """Why a run ended."""

    END_TURN = "end_turn"
    MAX_TURNS = "max_turns"
    MAX_TOOL_CALLS = "max_tool_calls"
    MAX_CONSECUTIVE_FAILURES = "max_consecutive_failures"
    MAX_TOKENS = "max_tokens"
    MAX_SECONDS = "max_seconds"
    NO_PROGRESS = "no_progress"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"
    ERROR = "error"


class SessionState(StrEnum):
    """Where a session stands (sessions.md section 1)."""

    IDLE = "idle"
    RUNNING = "running"
    AWAITING = "awaiting"
    CLOSED = "closed"


LEGAL_CHANGES: frozenset[tuple[SessionState, SessionState]] = frozenset(
    {
        (SessionState.IDLE, SessionState.RUNNING),
        (SessionState.RUNNING, SessionState.AWAITING),
        (SessionState.AWAITING, SessionState.RUNNING),
        (SessionState.RUNNING, SessionState.IDLE),
        (SessionState.AWAITING, SessionState.IDLE),
        (SessionState.IDLE, SessionState.CLOSED),
        (SessionState.RUNNING, SessionState.CLOSED),
        (SessionState.AWAITING, SessionState.CLOSED),
        (SessionState.CLOSED, SessionState.IDLE),
        (SessionState.CLOSED, SessionState.RUNNING),
    }
)


@frozen
class Usage:
    """Tokens of model requests; absent numbers are 0."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )

    @property
    def total(self) -> int:
        """Input and output together, in tokens."""
        return self.input + self.output


@frozen
class Limits:
    """Ends of a run; None means no limit."""

    max_turns: int = 2000
    max_tool_calls: int = 8000
    max_consecutive_failures: int = 5
    max_tokens: int | None = None
    max_seconds: float | None = None

    def narrowed(self, asked: Mapping[str, float | None]) -> "Limits":
        """Return these limits lowered to `asked`; 0, None or absence inherits, a higher value is refused.

        Raises:
            ValueError: A key is unknown, or a value is above this limit; the text names it.
        """
        values: dict[str, float | None] = {}
        for key in ("max_turns", "max_tool_calls", "max_consecutive_failures", "max_tokens", "max_seconds"):
            mine: float | None = getattr(self, key)
            wanted = asked.get(key)
            if not wanted:
                values[key] = mine
            elif wanted < 0 or (mine is not None and wanted > mine):
                raise ValueError(f"{key} {wanted} is not between 0 and this server's limit {mine}")
            else:
                values[key] = wanted
        unknown = sorted(set(asked) - set(values))
        if unknown:
            raise ValueError(f"unknown limit {unknown[0]!r}")
        return Limits(
            max_turns=int(values["max_turns"] or 0),
            max_tool_calls=int(values["max_tool_calls"] or 0),
            max_consecutive_failures=int(values["max_consecutive_failures"] or 0),
            max_tokens=None if values["max_tokens"] is None else int(values["max_tokens"]),
            max_seconds=values["max_seconds"],
        )


@frozen
class UserMessage:
    """What the user, a hook or a notice says to the model; `typed` is what a command was typed as, "" without one."""

    text: str
    parts: tuple[Part, ...] = ()
    notice: bool = False
    typed: str = ""


@frozen
class AssistantMessage:
    """One answer of the model; `calls` keep the model's own argument text."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning_signature: str = ""


@frozen
class ToolMessage:
    """The results of one answer's calls, in the order of the calls, one for each."""

    results: tuple[ToolResult, ...]


@frozen
class SummaryMessage:
    """What stands for older turns after a compaction."""

    text: str


Message = UserMessage | AssistantMessage | ToolMessage | SummaryMessage


@frozen
class ToolFilter:
    """Which tools may be seen; globs over catalog names, `allow` None means all."""

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()


@frozen
class PendingAsk:
    """An ask that waits for a verdict, as it is stored with the session."""

    ask_id: str
    call_id: str
    tool: str
    reason: str
    arguments: Mapping[str, object]
    rule: str = ""
    rememberable: bool = True


@frozen
class SessionRecord:
    """The stored form of a session, replaced as a whole.

    `version` starts at 1 and rises by one with each save; `created_at` and `updated_at` are UTC, ISO 8601.
    `archived` is how many messages gave way to summaries. `grants` are rules in their printed form; `disclosure` is the
    tier (`core/disclosure.py`), "" until it is chosen.
    `ledger` is the read ledger of the workspace: path → version text. `owner` is the principal that made it, "" for
    whoever runs the process.
    """

    id: SessionId
    version: int = 0
    owner: str = ""
    created_at: str = ""
    updated_at: str = ""
    title: str = ""
    state: SessionState = SessionState.IDLE
    mode: Mode = Mode.DEFAULT
    model: str = ""
    system_prompt: str = ""
    profile: str = ""
    workspace: str = ""
    enable: tuple[str, ...] | None = None
    tools: ToolFilter = field(default_factory=ToolFilter)
    limits: Mapping[str, float | None] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    grants: tuple[str, ...] = ()
    hydrated: tuple[str, ...] = ()
    disclosure: str = ""
    ledger: Mapping[str, str] = field(default_factory=dict)
    pending: PendingAsk | None = None
    run: RunId | None = None
    turns: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    last_seq: int = 0
    archived: int = 0
    client_servers: tuple[str, ...] = ()
