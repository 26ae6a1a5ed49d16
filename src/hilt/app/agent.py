"""An agent over one catalog, without sessions or settings: the smallest way to embed the funnel."""

from collections.abc import Callable, Sequence

from hilt.adapters.execution_asyncio import AsyncioExecution
from hilt.app.root_user import auto_refusal
from hilt.core.errors import ConfigError
from hilt.core.event import Event, RunResult
from hilt.core.permission import PermissionRule
from hilt.core.rulebook import RuleBook
from hilt.core.session import Limits, Mode, UserMessage
from hilt.engine.answer import RETRY_DELAYS_S
from hilt.engine.catalog import Catalog
from hilt.engine.conversation import Conversation
from hilt.engine.defaults import host_defaults
from hilt.engine.dispatch import DispatchOptions
from hilt.engine.emitter import Emitter
from hilt.engine.funnel import Parts, build_funnel
from hilt.engine.guardrail import Guardrail
from hilt.ports.clock import Clock
from hilt.ports.hook import HookRunner
from hilt.ports.model import Model
from hilt.ports.permission import Approver
from hilt.ports.store import ToolCallRecorder
from hilt.ports.tool import Environment


class Agent:
    """Runs prompts against a model with the tools of one catalog; keeps the conversation between prompts.

    Without `approver` every ask is denied at once; without `clock` the times `queued` and `took` are 0. A tool of
    the catalog that no rule names runs unasked if it is read-only, and is asked for otherwise.

    Raises:
        ConfigError: Mode `auto` for the root user, unless `HILT_SANDBOX=1` says that the process is contained.
    """

    def __init__(  # noqa: PLR0913 - keyword-only, as catalog.md section 9 lists it
        self,
        *,
        catalog: Catalog,
        model: Model,
        env: Environment | None = None,
        hooks: Sequence[HookRunner] = (),
        guardrails: Sequence[Guardrail] = (),
        rules: Sequence[PermissionRule] = (),
        approver: Approver | None = None,
        recorder: ToolCallRecorder | None = None,
        clock: Clock | None = None,
        limits: Limits | None = None,
        mode: Mode = Mode.DEFAULT,
        system: str = "",
        options: DispatchOptions | None = None,
        retry_delays_s: Sequence[float] = RETRY_DELAYS_S,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        refusal = auto_refusal() if mode is Mode.AUTO else ""
        if refusal:
            raise ConfigError(refusal, key="mode")
        self._emitter = Emitter(clock=clock)
        if on_event is not None:
            self._emitter.subscribe(on_event)
        parts = Parts(
            catalog=catalog,
            model=model,
            env=env or Environment(),
            execution=AsyncioExecution(),
            rules=RuleBook([*rules, *host_defaults(catalog)]),
            hooks=hooks,
            guardrails=guardrails,
            approver=approver,
            recorder=recorder,
            clock=clock,
            options=options or DispatchOptions(),
            retry_delays_s=retry_delays_s,
        )
        self._state = Conversation(mode=mode, system=system, limits=limits or Limits())
        self._funnel = build_funnel(parts, emitter=self._emitter)

    @property
    def conversation(self) -> Conversation:
        """The conversation so far."""
        return self._state

    async def run(self, prompt: str) -> RunResult:
        """Run one prompt to its end and return how it ended."""
        return await self._funnel.loop.run(self._state, UserMessage(text=prompt))

    def cancel(self) -> None:
        """End the run under way as cancelled."""
        self._funnel.loop.cancel()
