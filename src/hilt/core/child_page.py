"""A child agent's transcript, page by page, as text."""

from collections.abc import Sequence
from typing import Final

from hilt.core.child import Child
from hilt.core.session import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage

PAGE_MAX_BYTES: Final = 20_000
MESSAGE_MAX_CHARS: Final = 2_000


def page(child: Child, messages: Sequence[Message], *, limit: int, before: int | None = None) -> str:
    """Return up to `limit` messages, the last ones or those before number `before`, as far as a page holds them.

    Messages are numbered from 1. The first line says which these are, the last one how to see older ones.
    """
    end = len(messages) if before is None else min(max(before - 1, 0), len(messages))
    shown: list[str] = []
    size = 0
    start = end
    while start > 0 and len(shown) < limit:
        text = _shown(start, messages[start - 1])
        size += len(text.encode("utf-8", "replace")) + 2
        if shown and size > PAGE_MAX_BYTES:
            break
        shown.append(text)
        start -= 1
    what = f"messages {start + 1} to {end} of {len(messages)}" if shown else f"no messages here; it has {len(messages)}"
    head = f"{child.name} ({child.id}), {child.state}: {what}."
    older = [f"Older ones: before={start + 1}."] if start else []
    return "\n\n".join((head, *reversed(shown), *older))


def _shown(number: int, message: Message) -> str:
    match message:
        case UserMessage(text=text, notice=notice):
            return _entry(number, "notice" if notice else "prompt", text)
        case SummaryMessage(text=text):
            return _entry(number, "summary of earlier turns", text)
        case AssistantMessage(text=text, calls=calls):
            called = [f"call {call.name} {_cut(call.args)} [{call.id}]" for call in calls]
            return _entry(number, "answer", "\n".join(filter(None, (_cut(text), *called))), whole=True)
        case ToolMessage(results=results):
            told = [f"{'error' if one.is_error else 'result'} [{one.call_id}]: {_cut(one.content)}" for one in results]
            return _entry(number, "results", "\n".join(told), whole=True)


def _entry(number: int, kind: str, text: str, *, whole: bool = False) -> str:
    return f"#{number} {kind}\n{text if whole else _cut(text)}"


def _cut(text: str) -> str:
    if len(text) <= MESSAGE_MAX_CHARS:
        return text
    return f"{text[:MESSAGE_MAX_CHARS]}[... {len(text) - MESSAGE_MAX_CHARS} more characters ...]"
