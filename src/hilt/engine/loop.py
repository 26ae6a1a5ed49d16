"""The agent loop: ask the model, dispatch its calls, answer, until it stops or a limit says so."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from hilt.core.disclosure import DisclosureSetup
from hilt.core.errors import HiltError, ModelError
from hilt.core.event import Notice, RunResult, RunStart, TurnEnd, TurnStart
from hilt.core.frozen import frozen
from hilt.core.hook import HookEvent, HookInput
from hilt.core.session import (
    AssistantMessage,
    StopReason,
    SummaryMessage,
    ToolMessage,
    Usage,
    UserMessage,
)
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.answer import RETRY_DELAYS_S, ask_model
from hilt.engine.catalog import Catalog
from hilt.engine.compaction import WINDOW_SHARE, cut_for_summary, request_tokens, summarise
from hilt.engine.conversation import Conversation, paired, unique_ids, used_ids
from hilt.engine.disclosure import ToolList
from hilt.engine.dispatch import Dispatcher, Turn
from hilt.engine.emitter import Emitter
from hilt.engine.gate import TurnView
from hilt.engine.hook import HookChain, HookPass
from hilt.engine.tokens import TokenMeter
from hilt.engine.wire import WireList
from hilt.ports.model import Model, ModelRequest
from hilt.ports.permission import Verdict

logger = logging.getLogger(__name__)

SAME_TURNS_MAX = 5
STOP_BLOCKS_MAX = 3
WIND_UP_S = 10.0


@frozen
class LoopSetup:
    """Who runs. `checkpoint` stores the conversation; it is awaited after each change that must survive a crash.

    `refresh` is awaited before each turn: it may add to the catalog. `correct` is asked for each final text: it returns
    what the model is told instead of ending, "" to end. A child agent has an `agent_id`: the session has started
    before it, and nobody submits its prompt.
    """

    session_id: str = ""
    cwd: str = ""
    agent_id: str = ""
    retry_delays_s: Sequence[float] = RETRY_DELAYS_S
    checkpoint: Callable[[], Awaitable[None]] | None = None
    refresh: Callable[[], Awaitable[None]] | None = None
    correct: Callable[[str], str] | None = None
    disclosure: DisclosureSetup = field(default_factory=DisclosureSetup)


class _Ended(Exception):
    """The run is over for a reason."""

    def __init__(self, reason: StopReason, error: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.error = error


@dataclass(slots=True)
class _Count:
    """What the limits of one run are held against, beside what the conversation counts itself."""

    failures: int = 0
    same: int = 0
    last: tuple[list[tuple[str, str]], list[str]] | None = None
    stop_blocks: int = 0


class AgentLoop:
    """Runs prompts of one conversation, one at a time."""

    def __init__(
        self,
        setup: LoopSetup,
        *,
        catalog: Catalog,
        model: Model,
        dispatcher: Dispatcher,
        hooks: HookChain,
        emitter: Emitter,
    ) -> None:
        self._setup = setup
        self._catalog = catalog
        self._model = model
        self._dispatcher = dispatcher
        self._hooks = hooks
        self._emitter = emitter
        self._names = WireList(model.capabilities.profile)
        self._tools = ToolList(catalog, setup.disclosure)
        self._meter = TokenMeter(model)
        self._scope: anyio.CancelScope | None = None
        self._turn: Turn | None = None

    def cancel(self) -> None:
        """End the run under way as cancelled; without one nothing happens."""
        if self._scope is not None:
            self._scope.cancel()

    async def run(self, state: Conversation, prompt: UserMessage) -> RunResult:
        """Run one prompt to its end and return how it ended; the result is also the run's last event."""
        start = RunStart(prompt=prompt.text, mode=str(state.mode), model=self._model.name)
        self._emitter.emit(start)
        return await self._guarded(state, lambda count: self._from_prompt(state, prompt, count))

    async def resume(
        self,
        state: Conversation,
        *,
        done: Mapping[str, ToolResult],
        verdicts: Mapping[str, Verdict],
    ) -> RunResult:
        """Go on with a run that a restart cut off while a person was asked.

        `done` holds the results of calls that had ended, `verdicts` the answers given since, by call id.
        """

        async def go_on(count: _Count) -> None:
            calls = state.open_calls()
            if calls:
                await self._dispatch(state, count, calls, done=done, verdicts=verdicts)
            await self._turns(state, count)

        return await self._guarded(state, go_on)

    async def _guarded(self, state: Conversation, work: Callable[[_Count], Awaitable[None]]) -> RunResult:
        """Run the work within its time, turn every way to end into a result, and leave no call unpaired."""
        count = _Count()
        seconds = state.limits.max_seconds
        state.begin_run(until=None if seconds is None else anyio.current_time() + seconds)
        reason, error = StopReason.ERROR, ""
        cancelled = anyio.get_cancelled_exc_class()
        try:
            with anyio.CancelScope() as self._scope:
                with anyio.move_on_after(seconds) as timed:
                    await work(count)
                reason = StopReason.MAX_SECONDS if timed.cancelled_caught else StopReason.END_TURN
            if self._scope.cancelled_caught:
                reason = StopReason.CANCELLED
        except _Ended as end:
            reason, error = end.reason, end.error
        except cancelled:
            with anyio.move_on_after(WIND_UP_S, shield=True):
                await self._wind_up(state, StopReason.CANCELLED, "")
            raise
        except (ModelError, HiltError) as exc:
            error = str(exc)
            logger.warning("run_failed session=%s why=%s", self._setup.session_id, error)
        except Exception as exc:
            error = f"an internal error ended the run ({type(exc).__name__}); the log has the details"
            logger.exception("run_crashed session=%s", self._setup.session_id)
        finally:
            self._scope = None
        with anyio.move_on_after(WIND_UP_S, shield=True):
            return await self._wind_up(state, reason, error)
        return RunResult(stop_reason=reason, error=error)

    async def _wind_up(self, state: Conversation, reason: StopReason, error: str) -> RunResult:
        turn, self._turn = self._turn, None
        open_ = state.open_calls()
        if turn is None and open_:
            # The run ended between the answer and its dispatch.
            turn = self._dispatcher.turn(open_, self._view(state))
            state.spend(calls=len(open_))
        if turn is not None:
            results = await turn.close()
            if open_:
                state.messages.append(ToolMessage(results=tuple(results)))
        result = RunResult(
            stop_reason=reason,
            final_text=state.final_text(),
            usage=state.run_usage,
            error=error,
            tool_calls=state.run_calls,
            turns=state.run_turns,
        )
        self._emitter.emit(result)
        await self._checkpoint()
        await self._emitter.barrier()
        return result

    async def _from_prompt(self, state: Conversation, prompt: UserMessage, count: _Count) -> None:
        text = prompt.text if self._setup.agent_id else await self._submitted(state, prompt.text)
        state.messages.append(UserMessage(text=text, parts=prompt.parts, typed=prompt.typed))
        await self._checkpoint()
        await self._turns(state, count)

    async def _submitted(self, state: Conversation, prompt: str) -> str:
        """Return a person's prompt as hooks let it through, with what they add."""
        contexts: list[str] = []
        if not state.started:
            state.started = True
            one = await self._event(HookEvent.SESSION_START, state, prompt)
            contexts.extend(one.contexts)
        one = await self._event(HookEvent.USER_PROMPT_SUBMIT, state, prompt)
        contexts.extend(one.contexts)
        return "\n\n".join((one.seen.prompt, *contexts))

    async def _event(self, event: HookEvent, state: Conversation, prompt: str, *, active: bool = False) -> HookPass:
        """Run the hooks of an event of the whole run; a block ends it, but for Stop, which goes on."""
        seen = HookInput(
            event=event,
            session_id=self._setup.session_id,
            cwd=self._setup.cwd,
            prompt=prompt,
            permission_mode=str(state.mode),
            stop_hook_active=active,
            agent_id=self._setup.agent_id,
        )
        one = HookPass(hooks=self._hooks.matching(event), seen=seen)
        if one.hooks:
            await self._hooks.run([one])
        if one.stopped and event in (HookEvent.SESSION_START, HookEvent.USER_PROMPT_SUBMIT):
            raise _Ended(StopReason.BLOCKED, f"hook {one.blocked_by!r}: {one.blocked}")
        return one

    async def _turns(self, state: Conversation, count: _Count) -> None:
        while True:
            _check_limits(state, count)
            state.take_notices()
            if self._setup.refresh is not None:
                await self._setup.refresh()
            state.run_turns += 1
            state.turns += 1
            self._emitter.turn = state.turns
            await self._compact(state)
            calls, usage = await self._ask(state)
            if calls:
                await self._dispatch(state, count, calls)
            tokens = self._meter.turn(state, self._tools, self._catalog) if self._emitter.listened else None
            self._emitter.emit(TurnEnd(calls=len(calls), usage=usage, tokens=tokens))
            if not calls and not await self._stop_blocked(state, count) and not await self._corrected(state):
                return

    def specs(self, state: Conversation) -> Sequence[ToolSpec]:
        """Return the specs that the next request lists, under their catalog names."""
        return self._tools.specs(state)

    async def _ask(self, state: Conversation) -> tuple[tuple[ToolCall, ...], Usage]:
        try:
            message, usage = await self._answer(state)
        except ModelError as error:
            if not self._names.refused(error):
                raise
            why = "the provider refused a tool, which is withheld from now on"
            self._emitter.emit(Notice(topic="tool_list_changed", text=f"The tool list was made anew: {why}."))
            message, usage = await self._answer(state)
        state.spend(usage)
        calls = unique_ids(message.calls, state.turns, used_ids(state.messages) | state.other_call_ids)
        state.note_call_ids(calls)
        state.messages.append(
            AssistantMessage(
                text=message.text,
                reasoning=message.reasoning,
                calls=calls,
                reasoning_signature=message.reasoning_signature,
            )
        )
        await self._checkpoint()
        return calls, usage

    async def _answer(self, state: Conversation) -> tuple[AssistantMessage, Usage]:
        """Send one request and return its answer.

        Raises:
            ModelError: The request failed for good.
        """
        specs = self._names.specs(self.specs(state), self._catalog.names)
        if self._tools.changed:
            self._emitter.emit(
                Notice(topic="tool_list_changed", text=f"The tool list was made anew: {self._tools.changed}.")
            )
            self._tools.changed = ""
        self._emitter.emit(TurnStart(tools=len(specs)))
        request = ModelRequest(
            system=state.system,
            messages=paired(state.messages),
            tools=specs,
            turn=state.turns,
        )
        return await ask_model(self._model, request, self._emitter, delays_s=self._setup.retry_delays_s)

    def _view(self, state: Conversation) -> TurnView:
        """Return what holds for the calls of the answer that was asked for last."""
        return TurnView(
            mode=state.mode,
            visibility=state.visibility,
            names=self._names.catalog_names,
            grants=state.grants,
            learn=lambda name: self._tools.full_schema(state, name),
            canonical=self._names.canonical,
            reads_only=state.reads_only,
        )

    async def _dispatch(
        self,
        state: Conversation,
        count: _Count,
        calls: Sequence[ToolCall],
        *,
        done: Mapping[str, ToolResult] | None = None,
        verdicts: Mapping[str, Verdict] | None = None,
    ) -> None:
        allowed = max(state.calls_left(), 0)
        state.spend(calls=len(calls))
        turn = self._turn = self._dispatcher.turn(
            calls, self._view(state), done=done, verdicts=verdicts, allowed=allowed
        )
        results = await turn.run()
        self._turn = None
        state.messages.append(ToolMessage(results=tuple(results)))
        await self._checkpoint()
        count.failures = count.failures + 1 if all(result.is_error for result in results) else 0
        turn_ = ([(call.name, call.args) for call in calls], [result.content for result in results])
        count.same = count.same + 1 if turn_ == count.last else 1
        count.last = turn_

    async def _stop_blocked(self, state: Conversation, count: _Count) -> bool:
        """Tell whether a Stop hook sends the model on, at most three times in a run."""
        if count.stop_blocks >= STOP_BLOCKS_MAX:
            return False
        event = HookEvent.SUBAGENT_STOP if self._setup.agent_id else HookEvent.STOP
        one = await self._event(event, state, "", active=count.stop_blocks > 0)
        if not one.stopped:
            return False
        count.stop_blocks += 1
        await self._told(state, f"Not done yet: {one.blocked}")
        return True

    async def _corrected(self, state: Conversation) -> bool:
        """Tell whether the final text does not do yet, so that the model goes on."""
        text = "" if self._setup.correct is None else self._setup.correct(state.final_text())
        if text:
            await self._told(state, text)
        return bool(text)

    async def _told(self, state: Conversation, text: str) -> None:
        state.messages.append(UserMessage(text=text, notice=True))
        await self._checkpoint()

    async def _compact(self, state: Conversation) -> None:
        window = self._model.capabilities.window_tokens
        tokens = request_tokens(state.system, state.messages, self.specs(state))
        if tokens <= window * WINDOW_SHARE:
            return
        cut = cut_for_summary(state.messages)
        if not cut:
            return
        try:
            text = await summarise(self._model, state.system, state.messages[:cut], state.turns)
        except (ModelError, ValueError) as exc:
            logger.warning("compaction_failed session=%s why=%s", self._setup.session_id, exc)
            self._emitter.emit(Notice(topic="compaction_failed", text=str(exc)))
            return
        if self._setup.checkpoint is not None:
            state.gone += state.messages[:cut]
        state.messages[:cut] = [SummaryMessage(text=text)]
        self._tools.renew("the conversation was compacted")
        self._emitter.emit(Notice(topic="compacted", text=f"{cut} messages gave way to a summary."))
        await self._checkpoint()

    async def _checkpoint(self) -> None:
        if self._setup.checkpoint is not None:
            await self._setup.checkpoint()


def _check_limits(state: Conversation, count: _Count) -> None:
    """End the run when one of its limits, or of those that it counts towards, is reached."""
    if state.run_turns >= state.limits.max_turns:
        raise _Ended(StopReason.MAX_TURNS)
    if state.calls_left() <= 0:
        raise _Ended(StopReason.MAX_TOOL_CALLS)
    tokens = state.tokens_left()
    if tokens is not None and tokens <= 0:
        raise _Ended(StopReason.MAX_TOKENS)
    if count.failures >= state.limits.max_consecutive_failures:
        raise _Ended(StopReason.MAX_CONSECUTIVE_FAILURES)
    if count.same >= SAME_TURNS_MAX:
        raise _Ended(StopReason.NO_PROGRESS)
