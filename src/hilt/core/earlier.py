"""Messages that gave way to a summary: their numbers, and their texts as they are kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hilt.core.session import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage

SEARCH_TOOL: Final = "memory_search"
"""What it looked for and what it found are not kept once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessage:
    """One message that gave way.

    `number` counts all messages of its session from 1, in their order, summaries not counted. `role` is user, notice,
    assistant or tool; `text` is all that is said in it, calls included.
    """

    number: int
    role: str
    text: str


def counted(messages: Sequence[Message]) -> int:
    """Return how many of the messages have a number."""
    return sum(not isinstance(message, SummaryMessage) for message in messages)


def earlier_messages(messages: Sequence[Message], *, after: int) -> list[EarlierMessage]:
    """Return messages that give way as they are kept; the first of them has the number `after + 1`."""
    out: list[EarlierMessage] = []
    searches: set[str] = set()
    for message in messages:
        match message:
            case SummaryMessage():
                continue
            case UserMessage(text=text, notice=notice):
                role = "notice" if notice else "user"
            case AssistantMessage(text=text, calls=calls):
                role = "assistant"
                searches |= {call.id for call in calls if call.name == SEARCH_TOOL}
                called = [f"{call.name} {call.args}" for call in calls if call.id not in searches]
                text = "\n".join([*([text] if text else []), *called])
            case ToolMessage(results=results):
                role = "tool"
                text = "\n".join(result.content for result in results if result.call_id not in searches)
        out.append(EarlierMessage(number=after + len(out) + 1, role=role, text=text))
    return out
