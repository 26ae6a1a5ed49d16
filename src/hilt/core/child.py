"""Child agents: what may be asked of one, what it may use, how it stands, and what the model is told of its end."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from hilt.core.errors import ToolError
from hilt.core.session import AssistantMessage, Limits, Message, StopReason, ToolMessage, UserMessage

ChildState = Literal["running", "completed", "failed", "cancelled"]
Policy = Literal["inherit", "allow_list", "deny_list"]

FAMILIES: Final = frozenset({"subagent", "parallel", "team"})
"""The families of tools that no child agent has."""

TOKENS_FLOOR: Final = 25_000
ENDED_MAX: Final = 256
CORRECTIONS_MAX: Final = 2
STARTED: Final = "It works in the background"
"""How the message of a start begins, so that one can be told from every other result."""

BUDGET_POLICY: Final = r"^(equal|remaining|proportional|fixed:[1-9][0-9]{0,14})$"
SCRIPTED: Final = "scripted"
_STARTERS: Final = frozenset({"agent_spawn", "agent_fork", "Subagent"})
_NAMED: Final = re.compile(r"agent_id: (\S+)\s*\Z")
_SHOWN_CHARS: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAccess:
    """Which of its parent's visible tools a child has: all, only `tools`, or all but `tools`."""

    policy: Policy = "inherit"
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLimits:
    """Limits asked for; None, and 0 as well, takes what the parent has left."""

    max_turns: int | None = None
    max_tool_calls: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildOrder:
    """What a child agent is started with.

    `model` is a model's name, with its provider or without, "" for the parent's; `agent` names a definition;
    `system_prompt` None is the parent's. A fork has the parent's messages, and `budget_policy` divides the parent's
    tokens for it. `resume` is the id of an ended child that goes on. Where `waits` is true the start waits for a
    place, else it fails for want of one. `call_id` is the call that starts it.
    """

    prompt: str
    description: str = ""
    agent: str = ""
    provider: str = ""
    model: str = ""
    system_prompt: str | None = None
    access: ToolAccess = field(default_factory=ToolAccess)
    limits: ChildLimits = field(default_factory=ChildLimits)
    fork: bool = False
    budget_policy: str = "remaining"
    resume: str = ""
    read_only: bool = False
    output_schema: Mapping[str, object] | None = None
    waits: bool = False
    call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A child agent at one moment; `started_at` in seconds of Unix time, `tokens` and `calls` all that it spent.

    `output` is its final text; `error` says why it failed or was cancelled. `inherited` are the parent's messages
    that a fork began with.
    """

    id: str
    name: str
    description: str = ""
    model: str = ""
    background: bool = False
    started_at: int = 0
    state: ChildState = "running"
    duration_s: float = 0.0
    tokens: int = 0
    calls: int = 0
    output: str = ""
    error: str = ""
    inherited: int = 0

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.state != "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a parent has left for a child; None is no limit."""

    turns: int
    calls: int
    tokens: int | None = None
    seconds: float | None = None


def check_order(order: ChildOrder, *, read_write: bool, background: bool) -> None:
    """Pass if what is asked for goes together.

    Raises:
        ToolError: It does not; names the two.
    """
    if order.fork:
        for name in ("agent", "model", "resume"):
            if getattr(order, name):
                raise ToolError.invalid_arguments(f"fork: cannot go with {name}; a fork goes on as its parent does")
    for name in ("agent", "model") if order.resume else ():
        if getattr(order, name):
            raise ToolError.invalid_arguments(f"resume: cannot go with {name}; a child that goes on stays what it is")
    if read_write and background:
        raise ToolError.invalid_arguments("mode: read-write cannot go with background; leave one of them out")


def admitted(visible: Mapping[str, bool], access: ToolAccess, *, read_only: bool) -> frozenset[str]:
    """Return the names that a child sees; `visible` maps the parent's names to whether the tool only reads.

    Raises:
        ToolError: The parent lacks a name.
    """
    missing = [name for name in access.tools if name not in visible]
    if missing:
        raise ToolError.invalid_arguments(
            f"tools: {missing[0]!r} is not among the tools that a child agent can get from this one"
        )
    names = {name for name, reads in visible.items() if reads or not read_only}
    if access.policy == "allow_list":
        names &= set(access.tools)
    elif access.policy == "deny_list":
        names -= set(access.tools)
    return frozenset(names)


def narrowed(asked: ChildLimits, room: Room, limits: Limits) -> Limits:
    """Return the limits of a child: those asked for, at most what its parent has left.

    A limit of tokens below 25,000 is raised to that, as far as the parent has them.

    Raises:
        ToolError: A limit is negative.
    """
    for name in ("max_turns", "max_tool_calls", "max_tokens", "max_seconds"):
        if (getattr(asked, name) or 0) < 0:
            raise ToolError.invalid_arguments(f"{name}: expected 0 or more; 0 takes what is left")
    tokens = max(asked.max_tokens, TOKENS_FLOOR) if asked.max_tokens else None
    seconds = [one for one in (asked.max_seconds or None, room.seconds) if one is not None]
    return Limits(
        max_turns=min(asked.max_turns or room.turns, room.turns),
        max_tool_calls=min(asked.max_tool_calls or room.calls, room.calls),
        max_consecutive_failures=limits.max_consecutive_failures,
        max_tokens=min((one for one in (tokens, room.tokens) if one is not None), default=None),
        max_seconds=min(seconds, default=None),
    )


def share(policy: str, tokens: int | None, *, running: int, places: int) -> int | None:
    """Return how many of the tokens that its parent has left a fork may use, None for no limit.

    `equal` divides them among the parent, its children that run and the fork; `proportional` gives each place for a
    child the same part, taken or not; `fixed:N` gives N.
    """
    if policy.startswith("fixed:"):
        return int(policy.removeprefix("fixed:"))
    if tokens is None or policy == "remaining":
        return tokens
    return max(tokens // (running + 2 if policy == "equal" else places + 1), 1)


def model_name(provider: str, model: str, *, parents: str) -> str:
    """Return the name that settings use for a model; one without a provider is of the parent's.

    Raises:
        ToolError: A provider is named alone.
    """
    if not model:
        if provider:
            raise ToolError.invalid_arguments("provider: name the model too; without both it is the parent's")
        return parents
    if not provider and ("/" in model or ":" in model):
        return model
    own = provider or split_model(parents)[0]
    return f"{own}{':' if own == SCRIPTED else '/'}{model}"


def split_model(name: str) -> tuple[str, str]:
    """Return provider and model of a name that settings use."""
    provider, _, model = name.partition(":" if name.startswith(f"{SCRIPTED}:") else "/")
    return provider, model


def state_of(reason: StopReason) -> ChildState:
    """Return what the end of its run makes of a child."""
    if reason is StopReason.END_TURN:
        return "completed"
    return "cancelled" if reason is StopReason.CANCELLED else "failed"


def not_found(id_: str) -> ToolError:
    """Return the error of an id that no child has."""
    return ToolError.execution_failed(f"Sub-agent not found: {id_}")


def short(text: str, limit: int = _SHOWN_CHARS) -> str:
    """Return the text in one line, cut after `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def notice(child: Child) -> str:
    """Return how the model is told that a child has ended in the background."""
    what = f" ({short(child.description)})" if child.description else ""
    why = f": {short(child.error, 500)}" if child.error else ""
    return (
        f"The background agent {child.name}{what} has ended: {child.state}{why}, after {child.duration_s:.1f} s. "
        f"Ask for the status of {child.id} to read what it found."
    )


def lost(messages: Sequence[Message]) -> list[str]:
    """Return the ids of background children that the messages start and tell no end of, oldest first.

    Of a conversation that is opened again these did not survive.
    """
    told = "\n".join(message.text for message in messages if isinstance(message, UserMessage) and message.notice)
    calls = [call for message in messages if isinstance(message, AssistantMessage) for call in message.calls]
    starts = {call.id for call in calls if call.name in _STARTERS}
    results = [each for message in messages if isinstance(message, ToolMessage) for each in message.results]
    started = [_started(each.content) for each in results if each.call_id in starts and not each.is_error]
    return [id_ for id_ in dict.fromkeys(started) if id_ and told.count(id_) < started.count(id_)]


def lost_notice(id_: str) -> str:
    """Return how the model is told that a child did not survive."""
    return f"The background agent {id_} was lost: the session was closed or the program ended before its end was told."


def _started(content: str) -> str:
    """Return the id of the child that a result tells the start of, "" where it tells of none."""
    if content.startswith(STARTED):
        found = _NAMED.search(content)
        return "" if found is None else found[1]
    if STARTED not in content:
        return ""
    try:
        body: object = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    id_, message = (body.get("agent_id"), body.get("message")) if isinstance(body, dict) else (None, None)
    told = isinstance(message, str) and message.startswith(STARTED)
    return id_ if told and isinstance(id_, str) else ""
