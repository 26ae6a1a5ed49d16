"""Puts the stages of the funnel together for one conversation: the same way for a session and for a bare agent."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field

import anyio

from hilt.core.disclosure import DisclosureSetup
from hilt.core.frozen import frozen
from hilt.core.permission import PermissionRule
from hilt.core.rulebook import RuleBook
from hilt.core.session import Limits
from hilt.core.shaping import Keep
from hilt.engine.answer import RETRY_DELAYS_S
from hilt.engine.asking import AskDesk, Checkpoint
from hilt.engine.catalog import Catalog
from hilt.engine.dispatch import Dispatcher, DispatchOptions
from hilt.engine.emitter import Emitter
from hilt.engine.gate import Gate, GateSetup
from hilt.engine.guardrail import Guardrail, GuardrailChain
from hilt.engine.hook import HookChain
from hilt.engine.loop import AgentLoop, LoopSetup
from hilt.engine.settle import TEXT_CAP_BYTES, Settler, SettleSetup, keep_nothing
from hilt.ports.clock import Clock
from hilt.ports.execution import Execution
from hilt.ports.hook import HookRunner
from hilt.ports.model import Model
from hilt.ports.permission import Approver
from hilt.ports.store import ToolCallRecorder
from hilt.ports.tool import Environment


@frozen
class Parts:
    """What a funnel is made of. `keep` retains an uncut text; `lost_servers` are client MCP servers of a past life.

    Funnels of one session share `asking`, so that one question of theirs is open at a time. A child agent has an
    `agent_id`, and an `agent_name` for those who are asked.
    """

    catalog: Catalog
    model: Model
    env: Environment
    execution: Execution
    rules: RuleBook
    hooks: Sequence[HookRunner] = ()
    guardrails: Sequence[Guardrail] = ()
    approver: Approver | None = None
    recorder: ToolCallRecorder | None = None
    clock: Clock | None = None
    limits: Limits = field(default_factory=Limits)
    options: DispatchOptions = field(default_factory=DispatchOptions)
    cap_bytes: int = TEXT_CAP_BYTES
    keep: Keep = keep_nothing
    filters: bool = False
    redact: Callable[[str], str] = str
    cwd: str = ""
    agent_id: str = ""
    agent_name: str = ""
    asking: anyio.Lock | None = None
    lost_servers: tuple[str, ...] = ()
    disclosure: DisclosureSetup = field(default_factory=DisclosureSetup)
    retry_delays_s: Sequence[float] = RETRY_DELAYS_S


@frozen
class Funnel:
    """The stages of one conversation."""

    dispatcher: Dispatcher
    loop: AgentLoop


def build_funnel(  # noqa: PLR0913 - keyword-only parts of one conversation
    parts: Parts,
    *,
    emitter: Emitter,
    session_id: str = "",
    checkpoint: Callable[[], Awaitable[None]] | None = None,
    ask_opened: Checkpoint | None = None,
    persist: Callable[[PermissionRule], Awaitable[None]] | None = None,
    refresh: Callable[[], Awaitable[None]] | None = None,
    correct: Callable[[str], str] | None = None,
    halted: Callable[[], bool] | None = None,
) -> Funnel:
    """Wire gate, dispatch, settling and loop over the parts."""
    monotonic = None if parts.clock is None else parts.clock.monotonic
    hooks = HookChain(parts.hooks, execution=parts.execution, emitter=emitter, monotonic=monotonic)
    guardrails = None
    if parts.guardrails:
        guardrails = GuardrailChain(parts.guardrails, emitter=emitter, monotonic=monotonic)
    desk = AskDesk(
        parts.approver,
        emitter=emitter,
        session_id=session_id,
        child=parts.agent_name or parts.agent_id,
        redact=parts.redact,
        new_id=None if parts.clock is None else parts.clock.new_id,
        opened=ask_opened,
        persist=persist,
        one_at_a_time=parts.asking,
    )
    gate = Gate(
        GateSetup(session_id=session_id, cwd=parts.cwd, agent_id=parts.agent_id, lost_servers=parts.lost_servers),
        catalog=parts.catalog,
        rules=parts.rules,
        hooks=hooks,
        desk=desk,
        guardrails=guardrails,
        workspace=parts.env.workspace,
    )
    settler = Settler(
        SettleSetup(
            session_id=session_id,
            cwd=parts.cwd,
            agent_id=parts.agent_id,
            cap_bytes=parts.cap_bytes,
            keep=parts.keep,
            filters=parts.filters,
        ),
        hooks=hooks,
        guardrails=guardrails,
        execution=parts.execution,
        recorder=parts.recorder,
        emitter=emitter,
    )
    dispatcher = Dispatcher(
        gate=gate,
        settler=settler,
        execution=parts.execution,
        env=parts.env,
        emitter=emitter,
        options=parts.options,
        monotonic=monotonic,
        redact=parts.redact,
        halted=halted,
    )
    setup = LoopSetup(
        session_id=session_id,
        cwd=parts.cwd,
        agent_id=parts.agent_id,
        retry_delays_s=parts.retry_delays_s,
        checkpoint=checkpoint,
        refresh=refresh,
        correct=correct,
        disclosure=parts.disclosure,
    )
    loop = AgentLoop(
        setup,
        catalog=parts.catalog,
        model=parts.model,
        dispatcher=dispatcher,
        hooks=hooks,
        emitter=emitter,
    )
    return Funnel(dispatcher=dispatcher, loop=loop)
