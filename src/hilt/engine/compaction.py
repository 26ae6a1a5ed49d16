"""Gives way to a summary before the model's window is full; the last turns stay, no call is parted from its result."""

from collections.abc import Sequence

from hilt.core.session import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from hilt.core.tool import ToolSpec
from hilt.ports.model import Model, ModelRequest, TextDelta

WINDOW_SHARE = 0.8
TURNS_KEPT = 4
BYTES_PER_TOKEN = 4
SUMMARY_PROMPT = (
    "Write a summary of this conversation for yourself, to go on from it without the text above. Keep: the user's "
    "goal and every constraint, decisions and their reasons, what was done and found (files, names, numbers, "
    "errors), and what remains to do. Write plain text, no preamble."
)


def request_tokens(system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
    """Return an estimate of a request's tokens: bytes of its text divided by 4."""
    size = len(system.encode("utf-8", "replace"))
    size += sum(len(spec.schema_json) + len(spec.description) + len(spec.name) for spec in tools)
    size += sum(_bytes(message) for message in messages)
    return size // BYTES_PER_TOKEN


def _bytes(message: Message) -> int:
    match message:
        case UserMessage(text=text) | SummaryMessage(text=text):
            return len(text.encode("utf-8", "replace"))
        case AssistantMessage(text=text, reasoning=reasoning, calls=calls):
            return len((text + reasoning).encode("utf-8", "replace")) + sum(
                len(call.args) + len(call.name) for call in calls
            )
        case ToolMessage(results=results):
            return sum(len(result.content.encode("utf-8", "replace")) for result in results)


def cut_for_summary(messages: Sequence[Message], kept_turns: int = TURNS_KEPT) -> int:
    """Return how many messages from the start may give way so that the last turns stay whole; 0 for none."""
    answers = [at for at, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    if len(answers) <= kept_turns:
        return 0
    cut = answers[-kept_turns]
    while cut > 0 and isinstance(messages[cut - 1], UserMessage):
        cut -= 1
    return cut


def transcript(messages: Sequence[Message]) -> str:
    """Return messages as plain text, for the model that summarises them."""
    lines: list[str] = []
    for message in messages:
        match message:
            case SummaryMessage(text=text):
                lines.append(f"[summary of earlier turns]\n{text}")
            case UserMessage(text=text):
                lines.append(f"[user]\n{text}")
            case AssistantMessage(text=text, calls=calls):
                called = "\n".join(f"call {call.name} {call.args}" for call in calls)
                lines.append(f"[assistant]\n{text}\n{called}".rstrip())
            case ToolMessage(results=results):
                lines.extend(f"[result{' (error)' if result.is_error else ''}]\n{result.content}" for result in results)
    return "\n\n".join(lines)


async def summarise(model: Model, system: str, messages: Sequence[Message], turn: int) -> str:
    """Ask the model for a summary of the messages.

    Raises:
        ModelError: The request failed.
        ValueError: The answer is empty.
    """
    prompt = f"{SUMMARY_PROMPT}\n\n<conversation>\n{transcript(messages)}\n</conversation>"
    request = ModelRequest(system=system, messages=[UserMessage(text=prompt)], turn=turn)
    pieces = [item.text async for item in model.stream(request) if isinstance(item, TextDelta)]
    text = "".join(pieces).strip()
    if not text:
        raise ValueError("the summary is empty")
    return text
