"""Makes a child agent ready to run, anew or once more: what it sees, what it may use, which model it has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import anyio
from anyio.abc import TaskGroup

from hilt.core.child import (
    FAMILIES,
    SCRIPTED,
    Child,
    ChildOrder,
    Room,
    admitted,
    model_name,
    narrowed,
    share,
    split_model,
)
from hilt.core.child_answer import checked_schema, corrections, instruction
from hilt.core.child_definition import ChildDefinition
from hilt.core.errors import ConfigError, ToolError
from hilt.core.pattern import matches_name
from hilt.core.session import Limits, Message, ToolMessage
from hilt.core.tool import ToolResult
from hilt.engine.budget import Payer
from hilt.engine.child_run import Halt, OwnParts, Parent, child_loop
from hilt.engine.conversation import Conversation
from hilt.engine.loop import AgentLoop
from hilt.engine.visibility import Visibility
from hilt.ports.child import Progress
from hilt.ports.clock import Clock
from hilt.ports.model import Model

FORKED: Final = "This call is the one that started you: you are the fork. Your task is in the next message."
UNKNOWN: Final = "This call belongs to the agent that you were forked from; its result is not known to you."

_PLAIN: Final = ChildDefinition(name="", description="")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildrenHost:
    """Where children of all sessions run, at most `places` of one session at once, and how they can be defined."""

    places: int
    tasks: TaskGroup
    clock: Clock
    definitions: Mapping[str, ChildDefinition] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildrenSetup:
    """How children of one session are made: `own` is called with a child's model and whether it is a fork."""

    host: ChildrenHost
    own: Callable[[Model, bool], OwnParts]
    load_model: Callable[[str], Model]


@dataclass(slots=True, kw_only=True)
class Kept:
    """A child with what runs it; `reach` are all names that it could see, `system` its prompt without a schema.

    `began` and `ended_at` are seconds of the monotonic clock; what is `before` was spent in earlier runs.
    """

    child: Child
    order: ChildOrder
    state: Conversation
    system: str
    model: Model
    own: OwnParts
    reach: frozenset[str]
    began: float = 0.0
    ended_at: float | None = None
    tokens_before: int = 0
    calls_before: int = 0
    halt: Halt = field(default_factory=Halt)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)


def new(parent: Parent, order: ChildOrder, payer: Payer, *, setup: ChildrenSetup, number: int, running: int) -> Kept:
    """Return a new child, ready to run; `running` are those that run already.

    Raises:
        ToolError: The order cannot be carried out.
    """
    kind = _definition(order.agent, setup.host.definitions)
    visible = _visible(parent)
    if kind.tools is not None:
        visible = {name: reads for name, reads in visible.items() if any(matches_name(t, name) for t in kind.tools)}
    names = admitted(visible, order.access, read_only=order.read_only)
    _refuse_script(parent, order)
    model = _model(parent, order if order.model else replace(order, model=kind.model), setup.load_model)
    tokens = order.limits.max_tokens or None
    if order.fork:
        part = share(order.budget_policy, payer.tokens_left(), running=running, places=setup.host.places)
        tokens = min((one for one in (part, tokens) if one is not None), default=None)
    order = replace(order, limits=replace(order.limits, max_tokens=tokens))
    parents = parent.state
    state = Conversation(
        messages=forked(parents, order.call_id) if order.fork else [],
        hydrated=set(parents.hydrated) if order.fork else set(),
        grants=parents.grants,
        started=True,
    )
    system = kind.system_prompt or parents.system if order.system_prompt is None else order.system_prompt
    _prepare(parent, state, order, payer, system=system, names=names)
    own = setup.own(model, order.fork)
    own.bind(state)
    state.share_call_ids(parents)
    child = Child(
        id=f"agent_{setup.host.clock.new_id()}",
        name=f"{order.agent or 'agent'}-{number}",
        model=model.name,
        started_at=int(setup.host.clock.now().timestamp()),
        inherited=len(parents.messages) if order.fork else 0,
    )
    reach = admitted(visible, order.access, read_only=False)
    return Kept(child=child, order=order, state=state, system=system, model=model, own=own, reach=reach)


def again(parent: Parent, old: Kept, order: ChildOrder, payer: Payer) -> Kept:
    """Return an ended child for another run; it sees of what it saw before what its parent sees now.

    Raises:
        ToolError: It still runs, or the order cannot be carried out.
    """
    if not old.ended.is_set():
        raise ToolError.execution_failed(f"the child agent {order.resume} still runs; wait for its end or cancel it")
    visible = {name: reads for name, reads in _visible(parent).items() if name in old.reach}
    names = admitted(visible, order.access, read_only=order.read_only)
    _prepare(parent, old.state, order, payer, system=old.system, names=names)
    return Kept(
        child=replace(old.child, state="running", output="", error="", duration_s=0.0),
        order=order,
        state=old.state,
        system=old.system,
        model=old.model,
        own=old.own,
        reach=old.reach,
        tokens_before=old.child.tokens,
        calls_before=old.child.calls,
    )


def run_of(parent: Parent, kept: Kept, progress: Progress | None) -> AgentLoop:
    """Return what runs a child that is ready."""
    schema = kept.order.output_schema
    return child_loop(
        parent,
        kept.child,
        kept.state,
        model=kept.model,
        own=kept.own,
        halt=kept.halt,
        correct=None if schema is None else corrections(schema),
        progress=progress,
    )


def forked(parent: Conversation, call_id: str) -> list[Message]:
    """Return the parent's messages for a fork, the calls under way paired with a word on what they are to it."""
    messages = list(parent.messages)
    calls = parent.open_calls()
    if calls:
        results = [ToolResult.text(call.id, FORKED if call.id == call_id else UNKNOWN) for call in calls]
        messages.append(ToolMessage(results=tuple(results)))
    return messages


def _prepare(
    parent: Parent, state: Conversation, order: ChildOrder, payer: Payer, *, system: str, names: frozenset[str]
) -> None:
    """Put into a child's conversation what holds for its next run."""
    schema = order.output_schema
    asked = "" if schema is None else instruction(checked_schema(schema))
    limits = _limits(parent.state, order, payer)
    state.system = "\n\n".join(filter(None, (system, asked)))
    state.visibility = Visibility(names=names)
    state.reads_only = order.read_only
    state.mode = parent.state.mode
    state.limits = limits
    state.outer = payer
    state.begin_run()


def _limits(parent: Conversation, order: ChildOrder, payer: Payer) -> Limits:
    room = Room(
        turns=max(parent.limits.max_turns - parent.run_turns + 1, 1),
        calls=max(payer.calls_left(), 0),
        tokens=payer.tokens_left(),
        seconds=None if parent.run_until is None else max(parent.run_until - anyio.current_time(), 0.0),
    )
    return narrowed(order.limits, room, parent.limits)


def _visible(parent: Parent) -> dict[str, bool]:
    """Return the names that a child may get, each with whether the tool only reads."""
    state = parent.state
    return {
        entry.spec.name: entry.read_only
        for entry in parent.parts.catalog.available_entries(state.mode)
        if entry.family not in FAMILIES and state.visibility.sees(entry.spec.name)
    }


def _definition(name: str, known: Mapping[str, ChildDefinition]) -> ChildDefinition:
    if not name:
        return _PLAIN
    found = known.get(name)
    if found is None:
        names = f"known are {', '.join(sorted(known))}" if known else "none is defined here"
        raise ToolError.invalid_arguments(f"agent: no agent is named {name!r}; {names}")
    return found


def _refuse_script(parent: Parent, order: ChildOrder) -> None:
    """Refuse a script that a call names: whoever writes calls may not have files opened past the rules.

    Raises:
        ToolError: It names one, and the parent's model is none itself.
    """
    own = parent.parts.model.name
    asked = split_model(model_name(order.provider, order.model, parents=own))[0]
    if asked == SCRIPTED and split_model(own)[0] != SCRIPTED:
        raise ToolError.invalid_arguments("model: a script can be named by whoever starts hilt, not by a call")


def _model(parent: Parent, order: ChildOrder, load: Callable[[str], Model]) -> Model:
    own = parent.parts.model
    name = model_name(order.provider, order.model, parents=own.name)
    if name == own.name:
        return own
    try:
        return load(name)
    except ConfigError as exc:
        if split_model(name)[0] == SCRIPTED:
            # What a script says that is none belongs to a file that the rules may keep from the model.
            raise ToolError.invalid_arguments("model: that script cannot be used") from None
        raise ToolError.invalid_arguments(f"model: {exc}") from None
