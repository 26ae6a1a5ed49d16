"""Runs the hooks of the settings on a stored event, outside any session: `hilt hooks test`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from hilt.adapters.clock_system import SystemClock
from hilt.adapters.execution_asyncio import AsyncioExecution
from hilt.app.config import Config
from hilt.app.hooks import hook_runners
from hilt.core.errors import ConfigError
from hilt.core.event import Event, HookRan
from hilt.core.hook import HookEvent, HookInput
from hilt.core.record import result_from_json
from hilt.core.tool import ToolResult
from hilt.engine.emitter import Emitter
from hilt.engine.hook import HookChain, HookPass

_TEXTS = ("session_id", "cwd", "tool_name", "prompt", "permission_mode", "call_id", "agent_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What the hooks said: each run, and what all of them come to."""

    runs: tuple[HookRan, ...]
    blocked_by: str = ""
    blocked: str = ""
    asked_by: str = ""
    asked: str = ""
    contexts: tuple[str, ...] = ()
    rewrote: bool = False
    after: HookInput | None = None


def stored_event(text: str, event: HookEvent, *, source: str) -> HookInput:
    """Return the event of a JSON document with the keys that hooks are given; all may be absent.

    Raises:
        ConfigError: It is no JSON object, is of another event, or a key is unknown or not of its type.
    """
    try:
        body: object = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise ConfigError(f"not valid JSON: {exc}", source=source) from None
    if not isinstance(body, Mapping):
        raise ConfigError("an event is a JSON object", source=source)
    known = {*_TEXTS, "hook_event_name", "tool_input", "tool_response", "stop_hook_active"}
    unknown = sorted(set(body) - known)
    if unknown:
        raise ConfigError(f"unknown key; known are {', '.join(sorted(known))}", source=source, key=unknown[0])
    named = body.get("hook_event_name", event)
    if named != event:
        raise ConfigError(f"is an event {named!r}, not {event}", source=source, key="hook_event_name")
    for key in (key for key in _TEXTS if not isinstance(body.get(key, ""), str)):
        raise ConfigError("expected text", source=source, key=key)
    tool_input = body.get("tool_input", {})
    if not isinstance(tool_input, Mapping):
        raise ConfigError("expected an object", source=source, key="tool_input")
    return HookInput(
        event=event,
        session_id=body.get("session_id", "ses_test"),
        cwd=body.get("cwd", ""),
        tool_name=body.get("tool_name", ""),
        tool_input=dict(tool_input),
        tool_response=_response(body.get("tool_response"), source),
        prompt=body.get("prompt", ""),
        permission_mode=body.get("permission_mode", "default"),
        stop_hook_active=body.get("stop_hook_active") is True,
        call_id=body.get("call_id", ""),
        agent_id=body.get("agent_id", ""),
    )


def _response(raw: object, source: str) -> ToolResult | None:
    if raw is None:
        return None
    try:
        return result_from_json(raw if isinstance(raw, str) else {"call_id": "", "content": "", **_object(raw)})
    except ValueError as exc:
        raise ConfigError(str(exc), source=source, key="tool_response") from None


def _object(raw: object) -> Mapping[str, object]:
    if not isinstance(raw, Mapping):
        raise ValueError("a result is an object")
    return raw


async def try_hooks(config: Config, seen: HookInput) -> Trial:
    """Run the hooks that the event has, in their order, and return what they said."""
    emitter = Emitter(clock=SystemClock())
    runs: list[HookRan] = []

    def take(event: Event) -> None:
        if isinstance(event.body, HookRan):
            runs.append(event.body)

    emitter.subscribe(take)
    chain = HookChain(
        hook_runners(config), execution=AsyncioExecution(), emitter=emitter, monotonic=SystemClock().monotonic
    )
    one = HookPass(hooks=chain.matching(seen.event, *([seen.tool_name] if seen.tool_name else [])), seen=seen)
    await chain.run([one])
    return Trial(
        runs=tuple(runs),
        blocked_by=one.blocked_by,
        blocked=one.blocked,
        asked_by=one.asked_by,
        asked=one.asked,
        contexts=tuple(one.contexts),
        rewrote=bool(one.rewrote_by),
        after=one.seen,
    )
