"""One run of a child agent: the funnel that it passes through, and what its session hears of it."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace

import anyio

from hilt.core.child import Child
from hilt.core.dialect import tools_max
from hilt.core.event import AskClosed, AskOpened, Event, HookRan, Notice, ToolCallTaken, ToolStart
from hilt.core.permission import PermissionRule
from hilt.core.session import AssistantMessage, SummaryMessage, UserMessage
from hilt.core.shaping import Keep
from hilt.engine.asking import Checkpoint
from hilt.engine.conversation import Conversation
from hilt.engine.emitter import Emitter
from hilt.engine.funnel import Parts, build_funnel
from hilt.engine.loop import AgentLoop
from hilt.ports.child import Progress
from hilt.ports.model import Capabilities, Model, ModelItem, ModelRequest
from hilt.ports.permission import Approver, Ask, Verdict
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The agent that starts children, as its session runs it; `ask_opened` is awaited around asks of children."""

    session_id: str
    state: Conversation
    emitter: Emitter
    parts: Parts
    persist: Callable[[PermissionRule], Awaitable[None]] | None = None
    ask_opened: Checkpoint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnParts:
    """What a child has for itself; `rest` ends what it left running and is called after each of its runs."""

    env: Environment
    keep: Keep
    bind: Callable[[Conversation], None]
    rest: Callable[[], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class Halt:
    """Whether a run was ended: from then on no model request and no tool of it starts, whatever was under way."""

    halted: bool = False

    def __call__(self) -> bool:
        """Tell it."""
        return self.halted


class HaltedModel:
    """A model that starts no request once its run was ended; see `Model`."""

    def __init__(self, inner: Model, halted: Callable[[], bool]) -> None:
        self._inner = inner
        self._halted = halted

    @property
    def name(self) -> str:
        """See `Model.name`."""
        return self._inner.name

    @property
    def capabilities(self) -> Capabilities:
        """See `Model.capabilities`."""
        return self._inner.capabilities

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """See `Model.stream`."""
        return _nothing() if self._halted() else self._inner.stream(request)


async def _nothing() -> AsyncGenerator[ModelItem, None]:
    """Wait for the cancellation that is on its way."""
    await anyio.sleep_forever()
    yield  # type: ignore[misc]  # never reached; it makes this a stream


class _Told:
    """An approver whose asks are in the event log before they are put."""

    def __init__(self, inner: Approver, emitter: Emitter) -> None:
        self._inner = inner
        self._emitter = emitter

    async def decide(self, ask: Ask) -> Verdict:
        """See `Approver.decide`."""
        await self._emitter.barrier()
        return await self._inner.decide(ask)


class ChildStream:
    """Takes from a child's events what its session's stream has of it: asks, hooks, notices, and changes as they start.

    Everything else stays in the child's transcript.
    """

    def __init__(self, child: Child, emitter: Emitter, progress: Progress | None) -> None:
        self._child = child
        self._emitter = emitter
        self._progress = progress
        self._calls = 0

    def take(self, event: Event) -> None:
        """Receive one event of the child."""
        name = f"{self._child.name} ({self._child.id})"
        match event.body:
            case AskOpened() | AskClosed() | HookRan():
                self._emitter.emit(event.body)
            case Notice(topic=topic, text=text):
                self._emitter.emit(Notice(topic=topic, text=f"{name}: {text}"))
            case ToolStart(read_only=False, tool=tool, call_id=call_id):
                self._emitter.emit(Notice(topic="child_call", text=f"{name} starts {tool}, call {call_id}."))
            case ToolCallTaken(tool=tool):
                self._calls += 1
                if self._progress is not None:
                    self._progress(self._calls, f"{self._child.name}: {tool}")


def child_loop(  # noqa: PLR0913 - keyword-only parts of one run
    parent: Parent,
    child: Child,
    state: Conversation,
    *,
    model: Model,
    own: OwnParts,
    halt: Halt,
    correct: Callable[[str], str] | None = None,
    progress: Progress | None = None,
) -> AgentLoop:
    """Return what runs a child: its parent's funnel with what is the child's own."""

    async def follow() -> None:
        state.mode = parent.state.mode

    capabilities = model.capabilities
    parts = parent.parts
    approver = parts.approver
    if approver is not None and parent.ask_opened is None:
        approver = _Told(approver, parent.emitter)
    parts = replace(
        parts,
        model=HaltedModel(model, halt),
        env=own.env,
        keep=own.keep,
        approver=approver,
        agent_id=child.id,
        agent_name=child.name,
        disclosure=replace(
            parts.disclosure, window_tokens=capabilities.window_tokens, tools_max=tools_max(capabilities.profile)
        ),
    )
    emitter = Emitter(clock=parts.clock, flush=lambda durable: parent.emitter.barrier(durable=durable))
    emitter.subscribe(ChildStream(child, parent.emitter, progress).take)
    funnel = build_funnel(
        parts,
        emitter=emitter,
        session_id=parent.session_id,
        ask_opened=parent.ask_opened,
        persist=parent.persist,
        refresh=follow,
        correct=correct,
        halted=halt,
    )
    return funnel.loop


def own_text(state: Conversation) -> str:
    """Return the child's last answer since its prompt, "" without one."""
    for message in reversed(state.messages):
        if isinstance(message, AssistantMessage):
            return message.text
        if isinstance(message, SummaryMessage) or (isinstance(message, UserMessage) and not message.notice):
            break
    return ""
