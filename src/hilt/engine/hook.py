"""Runs the hooks of an event: in order for one call, at the same time for the calls of a phase, each in its deadline.

Hooks run in rounds: the first hook of every call, then the second, and so on. A call executes only when its
whole phase has passed, so waiting for a round costs nothing.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from hilt.core.content import TextPart
from hilt.core.errors import HookFailedError
from hilt.core.event import HookRan
from hilt.core.hook import BLOCKS_ON_FAILURE, HookAnswer, HookEvent, HookInput, ResultRewrite, matches
from hilt.core.tool import ToolResult
from hilt.engine.emitter import Emitter
from hilt.ports.execution import Execution, Finished, Job, Outcome, Overdue, Raised, Stopped
from hilt.ports.hook import HookRunner

logger = logging.getLogger(__name__)

TOOL_EVENTS = frozenset({HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE})


@dataclass(slots=True, kw_only=True)
class HookPass:
    """One call's (or one event's) way through its hooks and what they said so far."""

    hooks: Sequence[HookRunner]
    seen: HookInput
    blocked: str = ""
    blocked_by: str = ""
    asked: str = ""
    asked_by: str = ""
    rewrote_input: bool = False
    rewrote_by: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)

    @property
    def stopped(self) -> bool:
        """Whether a hook ended the chain."""
        return bool(self.blocked_by)


class HookChain:
    """All hooks of a session, in the order in which they run."""

    def __init__(
        self,
        hooks: Sequence[HookRunner],
        *,
        execution: Execution,
        emitter: Emitter,
        monotonic: Callable[[], float] | None = None,
    ) -> None:
        self._hooks = tuple(hooks)
        self._execution = execution
        self._emitter = emitter
        self._monotonic = monotonic
        self._matching: dict[tuple[HookEvent, str], tuple[HookRunner, ...]] = {}

    def matching(self, event: HookEvent, *tools: str) -> tuple[HookRunner, ...]:
        """Return the hooks of an event that match any of the tool names; without names all of the event."""
        if len(tools) <= 1:
            key = (event, tools[0] if tools else "")
            known = self._matching.get(key)
            if known is None:
                known = self._matching[key] = self._select(event, tools)
            return known
        return self._select(event, tools)

    def _select(self, event: HookEvent, tools: Sequence[str]) -> tuple[HookRunner, ...]:
        return tuple(
            hook
            for hook in self._hooks
            if hook.event is event
            and (event not in TOOL_EVENTS or not hook.match or any(matches(hook.match, tool) for tool in tools))
        )

    async def run(self, passes: Sequence[HookPass], *, limit: int = 16) -> None:
        """Run every pass to its end; what the hooks said is in the passes."""
        round_ = 0
        while True:
            jobs = [self._job(one, one.hooks[round_]) for one in passes if len(one.hooks) > round_ and not one.stopped]
            if not jobs:
                return
            await self._execution.run_all(jobs, limit=limit)
            round_ += 1

    def _job(self, one: HookPass, hook: HookRunner) -> Job:
        started = self._monotonic() if self._monotonic is not None else 0.0
        seen = one.seen

        async def work() -> object:
            try:
                return await hook.run(seen)
            except (SystemExit, KeyboardInterrupt) as exc:
                raise HookFailedError(f"it ended with {type(exc).__name__}") from exc

        def end(outcome: Outcome) -> None:
            now = self._monotonic() if self._monotonic is not None else 0.0
            self._settle(one, hook, outcome, (now - started) * 1000)

        return Job(work, end=end, timeout_s=hook.timeout_s, name=f"hook {hook.name}")

    def _settle(self, one: HookPass, hook: HookRunner, outcome: Outcome, duration_ms: float) -> None:
        one.ran.append(hook.name)
        match outcome:
            case Finished(HookAnswer() as answer):
                said, rewrote, message = _take(one, hook, answer)
            case Stopped():
                return
            case _:
                said, rewrote, message = _failed(one, hook, outcome)
        self._emitter.emit(
            HookRan(
                hook=hook.name,
                event=str(hook.event),
                outcome=said,
                duration_ms=duration_ms,
                rewrote=rewrote,
                call_id=one.seen.call_id,
                message=message,
            )
        )


def _failed(one: HookPass, hook: HookRunner, outcome: Outcome) -> tuple[str, bool, str]:
    match outcome:
        case Overdue(seconds):
            why = f"it passed its deadline of {seconds:g} s"
        case Raised(HookFailedError() as error):
            why = str(error)
        case Raised(error):
            why = f"it raised {type(error).__name__}"
            logger.error("hook_crashed hook=%s", hook.name, exc_info=error)
        case _:
            why = "its answer is no hook answer"
    means = hook.on_failure or ("block" if hook.event in BLOCKS_ON_FAILURE else "allow")
    if means == "block":
        one.blocked_by = hook.name
        one.blocked = f"the hook failed: {why}"
    else:
        logger.warning("hook_failed hook=%s event=%s why=%s", hook.name, hook.event, why)
    return "failed", False, why


def _take(one: HookPass, hook: HookRunner, answer: HookAnswer) -> tuple[str, bool, str]:
    """Fold one answer into the pass; a deny beats a rewrite, and nothing an answer says can loosen."""
    message = answer.system_message or answer.reason
    if answer.additional_context:
        one.contexts.append(answer.additional_context)
    if answer.block or answer.permission == "deny":
        one.blocked_by = hook.name
        one.blocked = answer.reason or "no reason was given"
        return "deny" if hook.event is HookEvent.PRE_TOOL_USE else "block", False, message
    rewrote = _rewrite(one, hook, answer)
    if answer.permission == "ask" and hook.event is HookEvent.PRE_TOOL_USE:
        one.asked_by = one.asked_by or hook.name
        one.asked = one.asked or answer.reason or "the hook asks"
        return "ask", rewrote, message
    return "context" if answer.additional_context else "allow", rewrote, message


def _rewrite(one: HookPass, hook: HookRunner, answer: HookAnswer) -> bool:
    seen = one.seen
    match hook.event:
        case HookEvent.PRE_TOOL_USE if answer.updated_input is not None:
            one.seen = replace(seen, tool_input=dict(answer.updated_input))
            one.rewrote_input = True
        case HookEvent.POST_TOOL_USE if answer.updated_result is not None and seen.tool_response is not None:
            one.seen = replace(seen, tool_response=rewritten(seen.tool_response, answer.updated_result))
        case HookEvent.USER_PROMPT_SUBMIT if answer.updated_prompt is not None:
            one.seen = replace(seen, prompt=answer.updated_prompt)
        case _:
            return False
    one.rewrote_by.append(hook.name)
    return True


def rewritten(result: ToolResult, change: ResultRewrite) -> ToolResult:
    """Return the result with what the rewrite gives; what it does not give stays.

    Parts of text are the text once more, so a new text takes their place too.
    """
    parts = result.parts
    if change.content is not None:
        parts = tuple(part for part in parts if not isinstance(part, TextPart))
    return ToolResult(
        result.call_id,
        result.content if change.content is None else change.content,
        result.is_error if change.is_error is None else change.is_error,
        parts if change.parts is None else change.parts,
    )
