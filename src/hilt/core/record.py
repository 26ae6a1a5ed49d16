"""A session's record as JSON and back."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Final, TypeVar

from hilt.core.content import part_from_json, part_to_json
from hilt.core.session import (
    AssistantMessage,
    Message,
    Mode,
    PendingAsk,
    RunId,
    SessionId,
    SessionRecord,
    SessionState,
    SummaryMessage,
    ToolFilter,
    ToolMessage,
    Usage,
    UserMessage,
)
from hilt.core.tool import ToolCall, ToolResult

T = TypeVar("T")

RECORD_VERSION: Final = "hilt-session/1"

_WORDS: Final = (
    "owner",
    "created_at",
    "updated_at",
    "title",
    "model",
    "system_prompt",
    "profile",
    "workspace",
    "disclosure",
)
_LISTS: Final = ("grants", "hydrated", "client_servers")
_COUNTS: Final = ("version", "turns", "tool_calls", "last_seq", "archived")
_USAGE: Final = tuple(item.name for item in fields(Usage))


def record_to_json(record: SessionRecord) -> dict[str, object]:
    """Return the record as a JSON object, `v` and `id` first and `messages` last."""
    out: dict[str, object] = {"v": RECORD_VERSION, "id": record.id}
    for key in (*_COUNTS, *_WORDS):
        out[key] = getattr(record, key)
    for key in _LISTS:
        out[key] = list(getattr(record, key))
    pending = record.pending
    return out | {
        "state": str(record.state),
        "mode": str(record.mode),
        "enable": None if record.enable is None else list(record.enable),
        "tools": {
            "allow": None if record.tools.allow is None else list(record.tools.allow),
            "deny": list(record.tools.deny),
        },
        "limits": dict(record.limits),
        "ledger": dict(record.ledger),
        "pending": None if pending is None else {f.name: getattr(pending, f.name) for f in fields(pending)},
        "run": record.run,
        "usage": {key: getattr(record.usage, key) for key in _USAGE},
        "messages": [message_to_json(message) for message in record.messages],
    }


def record_from_json(raw: object) -> SessionRecord:
    """Return the record that `record_to_json` wrote; absent keys take their defaults, unknown ones pass.

    Raises:
        ValueError: The version is unknown, or a value is not of its shape; the text names the key.
    """
    body = _object(raw, "the record")
    if body.get("v") != RECORD_VERSION:
        raise ValueError(f"'v' is {body.get('v')!r}, not {RECORD_VERSION!r}")
    pending = body.get("pending")
    run = body.get("run")
    return SessionRecord(
        id=SessionId(_text(body, "id", required=True)),
        **{key: _text(body, key) for key in _WORDS},  # type: ignore[arg-type]  # keys that hold text, by name
        **{key: _count(body, key) for key in _COUNTS},  # type: ignore[arg-type]  # keys that hold numbers
        **{key: _texts(body, key) for key in _LISTS},  # type: ignore[arg-type]  # keys that hold lists of text
        state=_member(SessionState, body, "state", SessionState.IDLE),
        mode=_member(Mode, body, "mode", Mode.DEFAULT),
        enable=None if body.get("enable") is None else _texts(body, "enable"),
        tools=_filter(body.get("tools")),
        limits=_limits(body.get("limits")),
        ledger=_ledger(body.get("ledger")),
        pending=None if pending is None else _pending(pending),
        run=None if run is None else RunId(_text(body, "run")),
        usage=_usage(body.get("usage")),
        messages=tuple(message_from_json(item) for item in _items(body, "messages")),
    )


def message_to_json(message: Message) -> dict[str, object]:
    """Return one message as a JSON object with its `role`: user, assistant, tool or summary."""
    match message:
        case UserMessage():
            out: dict[str, object] = {"role": "user", "text": message.text}
            if message.parts:
                out["parts"] = [part_to_json(part) for part in message.parts]
            if message.typed:
                out["typed"] = message.typed
            return out | ({"notice": True} if message.notice else {})
        case AssistantMessage():
            out = {"role": "assistant", "text": message.text}
            for key in ("reasoning", "reasoning_signature"):
                if getattr(message, key):
                    out[key] = getattr(message, key)
            calls = [{"id": call.id, "name": call.name, "args": call.args} for call in message.calls]
            return out | ({"calls": calls} if calls else {})
        case ToolMessage():
            return {"role": "tool", "results": [result.to_json() for result in message.results]}
        case SummaryMessage():
            return {"role": "summary", "text": message.text}


def message_from_json(raw: object) -> Message:
    """Return the message that `message_to_json` wrote.

    Raises:
        ValueError: It is not of that shape.
    """
    body = _object(raw, "a message")
    reader = _READERS.get(_text(body, "role"))
    if reader is None:
        raise ValueError(f"'role' is {body.get('role')!r}, not one of {', '.join(_READERS)}")
    return reader(body)


def _user(body: Mapping[str, object]) -> Message:
    parts = tuple(part_from_json(item) for item in _items(body, "parts"))
    notice, typed = body.get("notice") is True, _text(body, "typed")
    return UserMessage(text=_text(body, "text"), parts=parts, notice=notice, typed=typed)


def _assistant(body: Mapping[str, object]) -> Message:
    calls = [_object(item, "a call") for item in _items(body, "calls")]
    return AssistantMessage(
        text=_text(body, "text"),
        reasoning=_text(body, "reasoning"),
        reasoning_signature=_text(body, "reasoning_signature"),
        calls=tuple(ToolCall(_text(c, "id"), _text(c, "name"), _text(c, "args")) for c in calls),
    )


def _tool(body: Mapping[str, object]) -> Message:
    return ToolMessage(results=tuple(result_from_json(item) for item in _items(body, "results")))


def _summary(body: Mapping[str, object]) -> Message:
    return SummaryMessage(text=_text(body, "text"))


_READERS: Final[dict[str, Callable[[Mapping[str, object]], Message]]] = {
    "user": _user,
    "assistant": _assistant,
    "tool": _tool,
    "summary": _summary,
}


def result_from_json(raw: object) -> ToolResult:
    """Return the result that `ToolResult.to_json` wrote.

    Raises:
        ValueError: It is not of that shape.
    """
    body = _object(raw, "a result")
    return ToolResult(
        _text(body, "call_id"),
        _text(body, "content"),
        body.get("is_error") is True,
        tuple(part_from_json(item) for item in _items(body, "parts")),
    )


def _filter(raw: object) -> ToolFilter:
    body = _object({} if raw is None else raw, "'tools'")
    return ToolFilter(allow=None if body.get("allow") is None else _texts(body, "allow"), deny=_texts(body, "deny"))


def _limits(raw: object) -> dict[str, float | None]:
    out: dict[str, float | None] = {}
    for key, value in _object({} if raw is None else raw, "'limits'").items():
        if isinstance(value, bool) or not (value is None or isinstance(value, int | float)):
            raise ValueError(f"limit {key!r} is no number")
        out[key] = value
    return out


def _ledger(raw: object) -> dict[str, str]:
    body = _object({} if raw is None else raw, "'ledger'")
    return {key: _text(body, key) for key in body}


def _pending(raw: object) -> PendingAsk:
    body = _object(raw, "'pending'")
    return PendingAsk(
        ask_id=_text(body, "ask_id"),
        call_id=_text(body, "call_id"),
        tool=_text(body, "tool"),
        reason=_text(body, "reason"),
        arguments=_object(body.get("arguments", {}), "'arguments'"),
        rule=_text(body, "rule"),
        rememberable=body.get("rememberable") is not False,
    )


def _usage(raw: object) -> Usage:
    body = _object({} if raw is None else raw, "'usage'")
    return Usage(**{key: _count(body, key) for key in _USAGE})


def _object(raw: object, what: str) -> Mapping[str, object]:
    if not isinstance(raw, Mapping):
        raise ValueError(f"{what} is no object")
    return raw


def _text(body: Mapping[str, object], key: str, *, required: bool = False) -> str:
    value = body.get(key, None if required else "")
    if not isinstance(value, str):
        raise ValueError(f"{key!r} is no text")
    return value


def _count(body: Mapping[str, object], key: str) -> int:
    value = body.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{key!r} is no whole number")
    return value


def _items(body: Mapping[str, object], key: str) -> list[object]:
    value = body.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{key!r} is no list")
    return value


def _texts(body: Mapping[str, object], key: str) -> tuple[str, ...]:
    values = _items(body, key)
    texts = tuple(value for value in values if isinstance(value, str))
    if len(texts) != len(values):
        raise ValueError(f"{key!r} holds something other than text")
    return texts


def _member(kind: Callable[[str], T], body: Mapping[str, object], key: str, default: T) -> T:
    return kind(_text(body, key)) if key in body else default
