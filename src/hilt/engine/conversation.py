"""The state of a run that the loop changes and the session stores."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from hilt.core.disclosure import Tier
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.permission import PermissionRule
from hilt.core.session import (
    AssistantMessage,
    Limits,
    Message,
    Mode,
    ToolMessage,
    Usage,
    UserMessage,
)
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.budget import NOTHING, Payer, least
from hilt.engine.visibility import Visibility


@dataclass(slots=True, kw_only=True)
class Conversation:
    """One conversation: its messages and what belongs to them. Owned by one run at a time.

    `gone` are messages that gave way to a summary and wait to be stored; `archived` is how many did before them.
    What begins with `run_` counts for the run under way, or the last one, its child agents included. `outer` counts
    what is spent here too, and limits it. `reads_only` refuses every call that does not read.
    """

    messages: list[Message] = field(default_factory=list)
    system: str = ""
    mode: Mode = Mode.DEFAULT
    visibility: Visibility = field(default_factory=Visibility)
    grants: list[PermissionRule] = field(default_factory=list)
    hydrated: set[str] = field(default_factory=set)
    disclosure: Tier | None = None
    notices: list[str] = field(default_factory=list)
    sources: list[Callable[[], list[str]]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    turns: int = 0
    tool_calls: int = 0
    started: bool = False
    gone: list[Message] = field(default_factory=list)
    archived: int = 0
    limits: Limits = field(default_factory=Limits)
    reads_only: bool = False
    outer: Payer | None = None
    other_call_ids: set[str] = field(default_factory=set)
    shares_call_ids: bool = False
    run_usage: Usage = field(default_factory=Usage)
    run_calls: int = 0
    run_turns: int = 0
    run_until: float | None = None

    def begin_run(self, *, until: float | None = None) -> None:
        """Count for a new run, which ends at `until` seconds of the event loop's clock at the latest."""
        self.run_usage = Usage()
        self.run_calls = self.run_turns = 0
        self.run_until = until

    def spend(self, usage: Usage = NOTHING, calls: int = 0) -> None:
        """Count tokens and calls, of this agent or of a child, here and for who pays for this one."""
        self.run_usage += usage
        self.usage += usage
        self.run_calls += calls
        self.tool_calls += calls
        if self.outer is not None:
            self.outer.spend(usage, calls)

    def tokens_left(self) -> int | None:
        """Return how many tokens the run may still use, None without a limit; 0 or less means none."""
        own = None if self.limits.max_tokens is None else self.limits.max_tokens - self.run_usage.total
        return least(own, None if self.outer is None else self.outer.tokens_left())

    def calls_left(self) -> int:
        """Return how many calls the run may still make; 0 or less means none."""
        own = self.limits.max_tool_calls - self.run_calls
        theirs = None if self.outer is None else self.outer.calls_left()
        return own if theirs is None else min(own, theirs)

    def share_call_ids(self, parent: "Conversation") -> None:
        """Give no id from now on that the parent or another child of its gives, and have them do the same."""
        if not parent.shares_call_ids:
            parent.shares_call_ids = True
            parent.other_call_ids |= used_ids(parent.messages)
        self.shares_call_ids = True
        self.other_call_ids = parent.other_call_ids

    def note_call_ids(self, calls: Sequence[ToolCall]) -> None:
        """Take it down that these ids are given, where others must not give them again."""
        if self.shares_call_ids:
            self.other_call_ids.update(call.id for call in calls)

    def open_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls of the last answer if they have no results yet."""
        last = self.messages[-1] if self.messages else None
        return last.calls if isinstance(last, AssistantMessage) else ()

    def hydrate(self, names: Iterable[str]) -> None:
        """Note that the model has been given the full specs of these tools."""
        self.hydrated.update(names)

    def knows(self, name: str) -> bool:
        """Tell whether the model has the full spec of a tool."""
        return name in self.hydrated

    def take_notices(self) -> None:
        """Put waiting notices and those of every source before the model, as one message marked as a notice."""
        for source in self.sources:
            self.notices += source()
        if self.notices:
            self.messages.append(UserMessage(text="\n\n".join(self.notices), notice=True))
            self.notices.clear()

    def final_text(self) -> str:
        """Return the text of the last answer, "" before the first."""
        for message in reversed(self.messages):
            if isinstance(message, AssistantMessage):
                return message.text
        return ""


def unique_ids(calls: Sequence[ToolCall], turn: int, taken: set[str]) -> tuple[ToolCall, ...]:
    """Give a call without an id, or with one that is taken, an id of its own; `taken` grows."""
    out: list[ToolCall] = []
    for position, call in enumerate(calls, start=1):
        id_ = call.id or f"call_{turn}_{position}"
        suffix = 2
        while id_ in taken:
            id_ = f"{call.id or f'call_{turn}_{position}'}_{suffix}"
            suffix += 1
        taken.add(id_)
        out.append(call if id_ == call.id else ToolCall(id_, call.name, call.args))
    return tuple(out)


def used_ids(messages: Sequence[Message]) -> set[str]:
    """Return the ids of all calls in the messages."""
    return {call.id for message in messages if isinstance(message, AssistantMessage) for call in message.calls}


def paired(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with every call paired with exactly one result, in the order of the calls.

    A result without its call is left out; a call without a result gets one that says so.
    """
    out: list[Message] = []
    waiting: tuple[ToolCall, ...] = ()
    for message in messages:
        if isinstance(message, ToolMessage):
            out.append(ToolMessage(results=_fitting(waiting, message.results)))
            waiting = ()
            continue
        if waiting:
            out.append(ToolMessage(results=_fitting(waiting, ())))
        out.append(message)
        waiting = message.calls if isinstance(message, AssistantMessage) else ()
    if waiting:
        out.append(ToolMessage(results=_fitting(waiting, ())))
    return [message for message in out if not isinstance(message, ToolMessage) or message.results]


def _fitting(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> tuple[ToolResult, ...]:
    by_id = {result.call_id: result for result in results}
    lost = ToolError(ErrorCode.TOOL_ERROR, "The result of this call was lost.")
    return tuple(by_id.get(call.id) or ToolResult.error(call.id, lost.content(call.name)) for call in calls)
