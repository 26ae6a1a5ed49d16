"""Hooks as values and as JSON: the event that a hook sees, the answer that it gives."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final, Literal

from hilt.core.content import Part, part_from_json
from hilt.core.errors import HookFailedError
from hilt.core.frozen import frozen
from hilt.core.pattern import compile_name
from hilt.core.tool import ToolResult


class HookEvent(StrEnum):
    """When a hook runs."""

    SESSION_START = "SessionStart"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    STOP = "Stop"
    SUBAGENT_STOP = "SubagentStop"


OnFailure = Literal["block", "allow"]
Permission = Literal["", "allow", "ask", "deny"]
BLOCKS_ON_FAILURE = frozenset({HookEvent.SESSION_START, HookEvent.USER_PROMPT_SUBMIT, HookEvent.PRE_TOOL_USE})
TIMEOUT_DEFAULT_S = 30.0


@frozen
class HookInput:
    """What a hook is told. `tool_response` is None before execution; `agent_id` is "" for the main agent."""

    event: HookEvent
    session_id: str
    cwd: str = ""
    tool_name: str = ""
    tool_input: Mapping[str, object] | None = None
    tool_response: ToolResult | None = None
    prompt: str = ""
    permission_mode: str = "default"
    stop_hook_active: bool = False
    call_id: str = ""
    agent_id: str = ""


@frozen
class ResultRewrite:
    """What a post-hook puts in place of a result; None keeps that part of it."""

    content: str | None = None
    is_error: bool | None = None
    parts: tuple[Part, ...] | None = None


@frozen
class HookAnswer:
    """A hook's answer in hilt's own form; the default says nothing."""

    block: bool = False
    reason: str = ""
    system_message: str = ""
    permission: Permission = ""
    updated_input: Mapping[str, object] | None = None
    updated_prompt: str | None = None
    updated_result: ResultRewrite | None = None
    additional_context: str = ""


NO_ANSWER = HookAnswer()

_PERMISSIONS: Final[dict[str, Permission]] = {"allow": "allow", "ask": "ask", "deny": "deny"}
_SPECIFIC: Final = "hookSpecificOutput"
_RESULT_KEYS: Final = ("content", "is_error", "parts")

# Which events take which key; a key at another event has no meaning and is reported as unknown.
_TAKES: Final[dict[str, frozenset[HookEvent]]] = {
    "permissionDecision": frozenset({HookEvent.PRE_TOOL_USE}),
    "permissionDecisionReason": frozenset({HookEvent.PRE_TOOL_USE}),
    "updatedInput": frozenset({HookEvent.PRE_TOOL_USE}),
    "updatedPrompt": frozenset({HookEvent.USER_PROMPT_SUBMIT}),
    "updatedResult": frozenset({HookEvent.POST_TOOL_USE}),
    "additionalContext": frozenset(HookEvent) - {HookEvent.STOP, HookEvent.SUBAGENT_STOP},
}


def matches(patterns: Sequence[str], tool: str) -> bool:
    """Tell whether a hook with these globs is for the tool; no globs are for every tool."""
    return not patterns or any(compile_name(pattern).match(tool) for pattern in patterns)


def event_json(hook_input: HookInput) -> dict[str, object]:
    """Return the event as the JSON object that hooks get; `tool_response` is there only after execution."""
    body: dict[str, object] = {
        "session_id": hook_input.session_id,
        "cwd": hook_input.cwd,
        "hook_event_name": str(hook_input.event),
        "tool_name": hook_input.tool_name,
        "tool_input": dict(hook_input.tool_input or {}),
        "prompt": hook_input.prompt,
        "permission_mode": hook_input.permission_mode,
        "stop_hook_active": hook_input.stop_hook_active,
        "call_id": hook_input.call_id,
        "agent_id": hook_input.agent_id,
    }
    if hook_input.tool_response is not None:
        body["tool_response"] = hook_input.tool_response.to_json()
    return body


def parse_answer(raw: object, event: HookEvent) -> tuple[HookAnswer, tuple[str, ...]]:
    """Return the answer of a hook, and the keys that mean nothing here, dotted.

    Raises:
        HookFailedError: It is not of the shape; says which key.
    """
    body = _object(raw, "the answer")
    unknown = [key for key in body if key not in ("decision", "reason", "systemMessage", _SPECIFIC)]
    if "decision" in body and body["decision"] != "block":
        raise HookFailedError("decision can only be 'block'")
    answer = HookAnswer(
        block="decision" in body, reason=_text(body, "reason"), system_message=_text(body, "systemMessage")
    )
    if _SPECIFIC not in body:
        return answer, tuple(unknown)
    specific = _object(body[_SPECIFIC], _SPECIFIC)
    if specific.get("hookEventName") != event:
        raise HookFailedError(f"{_SPECIFIC}.hookEventName is not {str(event)!r}")
    usable = {key: value for key, value in specific.items() if event in _TAKES.get(key, ())}
    unknown += [f"{_SPECIFIC}.{key}" for key in specific if key not in usable and key != "hookEventName"]
    rewrite, unknown_parts = _result_rewrite(usable)
    return (
        replace(
            answer,
            permission=_permission(usable),
            reason=_text(usable, "permissionDecisionReason") or answer.reason,
            updated_input=_object(usable["updatedInput"], "updatedInput") if "updatedInput" in usable else None,
            updated_prompt=_text(usable, "updatedPrompt") if "updatedPrompt" in usable else None,
            updated_result=rewrite,
            additional_context=_text(usable, "additionalContext"),
        ),
        (*unknown, *unknown_parts),
    )


def _input(body: Mapping[str, object]) -> Mapping[str, object] | None:
    return _object(body["updatedInput"], "updatedInput") if "updatedInput" in body else None


def _permission(body: Mapping[str, object]) -> Permission:
    said = body.get("permissionDecision", "")
    if said == "":
        return ""
    if not isinstance(said, str) or said not in _PERMISSIONS:
        raise HookFailedError("permissionDecision is none of allow, ask, deny")
    return _PERMISSIONS[said]


def _result_rewrite(body: Mapping[str, object]) -> tuple[ResultRewrite | None, list[str]]:
    if "updatedResult" not in body:
        return None, []
    change = _object(body["updatedResult"], "updatedResult")
    is_error = change.get("is_error")
    if "is_error" in change and not isinstance(is_error, bool):
        raise HookFailedError("updatedResult.is_error is neither true nor false")
    rewrite = ResultRewrite(
        content=_text(change, "content") if "content" in change else None,
        is_error=is_error if isinstance(is_error, bool) else None,
        parts=_parts(change["parts"]) if "parts" in change else None,
    )
    return rewrite, [f"{_SPECIFIC}.updatedResult.{key}" for key in change if key not in _RESULT_KEYS]


def _parts(raw: object) -> tuple[Part, ...]:
    if not isinstance(raw, list):
        raise HookFailedError("updatedResult.parts is no list")
    try:
        return tuple(part_from_json(item) for item in raw)
    except ValueError as exc:
        raise HookFailedError(f"updatedResult.parts: {exc}") from exc


def _object(raw: object, name: str) -> Mapping[str, object]:
    if not isinstance(raw, Mapping) or not all(isinstance(key, str) for key in raw):
        raise HookFailedError(f"{name} is not a JSON object")
    return raw


def _text(body: Mapping[str, object], key: str) -> str:
    value = body.get(key, "")
    if not isinstance(value, str):
        raise HookFailedError(f"{key} is not a text")
    return value
