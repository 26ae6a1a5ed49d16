"""The state of a run that the loop changes and the session stores."""

from collections.abc import Iterable, Sequence
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
from hilt.engine.visibility import Visibility


@dataclass(slots=True, kw_only=True)
class Conversation:
    """One conversation: its messages and what belongs to them. Owned by one run at a time.

    `gone` are messages that gave way to a summary and wait to be stored; `archived` is how many did before them.
    """

    messages: list[Message] = field(default_factory=list)
    system: str = ""
    mode: Mode = Mode.DEFAULT
    visibility: Visibility = field(default_factory=Visibility)
    grants: list[PermissionRule] = field(default_factory=list)
    hydrated: set[str] = field(default_factory=set)
    disclosure: Tier | None = None
    notices: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    turns: int = 0
    tool_calls: int = 0
    started: bool = False
    gone: list[Message] = field(default_factory=list)
    archived: int = 0
    limits: Limits = field(default_factory=Limits)

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
        """Put waiting notices before the model, as one message that is marked as a notice."""
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
