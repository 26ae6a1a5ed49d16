"""Runs the calls of one model answer: reads of a phase together, every other call alone. The only caller of a tool."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import anyio

from hilt.core.errors import ErrorCode, ToolError
from hilt.core.event import ToolCallTaken, ToolEnd, ToolProgress, ToolStart
from hilt.core.frozen import frozen
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.emitter import Emitter
from hilt.engine.gate import Gate, TurnView
from hilt.engine.pending import Pending, own_copy
from hilt.engine.plan import best_match, phases
from hilt.engine.settle import Settler, failure
from hilt.ports.execution import Execution, Finished, Job, Outcome, Overdue, Raised, Stopped
from hilt.ports.permission import Verdict
from hilt.ports.tool import Environment, Tool

logger = logging.getLogger(__name__)

CALL_TIMEOUT_S = 600.0
CONCURRENT_MAX = 16


@frozen
class DispatchOptions:
    """How calls run; `timeouts` maps globs of tool names to seconds and wins over a tool's own deadline."""

    max_concurrent: int = CONCURRENT_MAX
    timeout_s: float = CALL_TIMEOUT_S
    timeouts: Mapping[str, float] = field(default_factory=dict)


@frozen(kw_only=False)
class _Crash:
    """What a tool raised that would have ended the process."""

    error: BaseException


class Dispatcher:
    """Takes the calls of an answer through gate, execution and settling."""

    def __init__(  # noqa: PLR0913 - keyword-only parts of the funnel
        self,
        *,
        gate: Gate,
        settler: Settler,
        execution: Execution,
        env: Environment,
        emitter: Emitter,
        options: DispatchOptions | None = None,
        monotonic: Callable[[], float] | None = None,
        redact: Callable[[str], str] = str,
        halted: Callable[[], bool] | None = None,
    ) -> None:
        """`halted` says that the run was ended: from then on no tool starts, whatever had been cleared before."""
        self.gate = gate
        self.settler = settler
        self.execution = execution
        self.env = env
        self.emitter = emitter
        self.options = options or DispatchOptions()
        self.redact = redact
        self._halted = halted
        self._monotonic = monotonic
        self._fixed: dict[str, float] = {}

    def now(self) -> float:
        """Return the run's time in seconds; always 0 without a clock, so that all durations are 0."""
        return 0.0 if self._monotonic is None else self._monotonic()

    async def unless_halted(self) -> None:
        """Return at once, or never after the run was ended: its cancellation is on its way."""
        if self._halted is not None and self._halted():
            await anyio.sleep_forever()

    def timeout_s(self, pending: Pending) -> float:
        """Return a call's deadline: the setting, else the least of its own and its targets', else the default."""
        entry = pending.entry
        if entry is not None and not pending.targets:
            fixed = self._fixed.get(entry.spec.name)
            if fixed is not None:
                return fixed
        calls = [(pending.tool, pending.call)]
        calls.extend((target.entry.tool, target.call) for target in pending.targets)
        set_ = [seconds for _, call in calls if (seconds := self._set(call.name)) is not None]
        own = [seconds for tool, call in calls if (seconds := _own_timeout_s(tool, call)) is not None]
        found = min(set_ or own, default=self.options.timeout_s)
        if entry is not None and not pending.targets and (set_ or not hasattr(entry.tool, "deadline_s")):
            self._fixed[entry.spec.name] = found
        return found

    def _set(self, name: str) -> float | None:
        hit = best_match(name, list(self.options.timeouts)) if self.options.timeouts else None
        return None if hit is None else self.options.timeouts[hit]

    def turn(
        self,
        calls: Sequence[ToolCall],
        view: TurnView,
        *,
        done: Mapping[str, ToolResult] | None = None,
        verdicts: Mapping[str, Verdict] | None = None,
        allowed: int | None = None,
    ) -> "Turn":
        """Open a turn: `done` holds results that calls already have, `verdicts` answers given beforehand.

        `allowed` is how many of the calls may run; those past it are answered with the limit's name.
        """
        return Turn(self, calls, view, done=done or {}, verdicts=verdicts or {}, allowed=allowed)


def _own_timeout_s(tool: Tool | None, call: ToolCall) -> float | None:
    per_call = getattr(tool, "deadline_s", None)
    if callable(per_call):
        try:
            return float(per_call(call))
        except Exception:
            logger.exception("deadline_crashed tool=%s call=%s: the default holds", call.name, call.id)
            return None
    fixed = getattr(tool, "timeout_s", None)
    return float(fixed) if isinstance(fixed, int | float) and fixed > 0 else None


def _idle_s(tools: Sequence[Tool | None]) -> float | None:
    """Return the least of the idle deadlines of a call's tool and its targets."""
    found = [getattr(tool, "idle_timeout_s", None) for tool in tools]
    return min((float(seconds) for seconds in found if isinstance(seconds, int | float)), default=None)


class Turn:
    """The calls of one answer, from `tool.call` to `tool.result`."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        calls: Sequence[ToolCall],
        view: TurnView,
        *,
        done: Mapping[str, ToolResult],
        verdicts: Mapping[str, Verdict],
        allowed: int | None,
    ) -> None:
        self._d = dispatcher
        self._view = view
        self._done = done
        self._verdicts = verdicts
        self._entered = dispatcher.now()
        resumed = bool(done or verdicts)
        self.calls = [self._take(call, position, resumed, allowed) for position, call in enumerate(calls)]

    def _take(self, call: ToolCall, position: int, resumed: bool, allowed: int | None) -> Pending:
        pending = Pending(asked=call, call=call, entered=self._entered)
        if call.id in self._done:
            pending.result = self._done[call.id]
            pending.settled = True
            return pending
        if not resumed:
            self._d.emitter.tell(lambda: ToolCallTaken(call_id=call.id, tool=call.name, args=call.args))
        if allowed is not None and position >= allowed:
            text = "The limit max_tool_calls of this run is reached; the call was not run."
            pending.refuse(ToolError(ErrorCode.TOOL_ERROR, text))
        return pending

    @property
    def results(self) -> list[ToolResult]:
        """The results so far, in the order of the calls."""
        return [call.result for call in self.calls if call.settled and call.result is not None]

    async def run(self) -> list[ToolResult]:
        """Run every call and return one result for each, in order."""
        open_ = [call for call in self.calls if not call.settled]
        for call in open_:
            self._d.gate.open(call, self._view)
        for phase in phases([call.read_only for call in open_]):
            await self._phase([open_[position] for position in phase])
        return self.results

    async def close(self) -> list[ToolResult]:
        """Give every call that has none a result, after a cancel; runs no hook and no tool."""
        for call in self.calls:
            if not call.settled and call.refusal is None and call.result is None:
                call.unfinished(ran=call.started is not None)
        await self._d.settler.close(self.calls, mode=self._view.mode, now=self._d.now())
        return self.results

    async def _phase(self, calls: Sequence[Pending]) -> None:
        await self._d.gate.admit(calls, self._view, self._verdicts)
        # A rewrite can turn a read into a change: then it leaves its phase and runs alone at its place.
        for part in phases([call.read_only or call.refusal is not None for call in calls]):
            await self._execute([calls[position] for position in part])

    async def _execute(self, calls: Sequence[Pending]) -> None:
        cleared = [call for call in calls if call.refusal is None]
        if len(cleared) == 1 and not cleared[0].read_only:
            await self._announce(cleared[0])
        jobs = [self._job(call) for call in cleared if call.refusal is None]
        await self._d.execution.run_all(jobs, limit=self._d.options.max_concurrent)
        await self._d.settler.settle(calls, mode=self._view.mode, now=self._d.now())

    async def _announce(self, call: Pending) -> None:
        """Put the fact that a change starts on stable storage before it does."""
        emitter = self._d.emitter
        emitter.emit(ToolStart(call_id=call.call.id, tool=call.name, read_only=False))
        try:
            await emitter.barrier(durable=True)
        except Exception:
            logger.exception("start_not_recorded session=%s call=%s", self._d.env.session_id, call.call.id)
            emitter.emit(ToolEnd(call_id=call.call.id, tool=call.name, duration_ms=0.0, is_error=True))
            text = "its start could not be recorded, so it was not run; check the session store"
            call.refuse(ToolError.execution_failed(text))

    def _job(self, pending: Pending) -> Job:
        d = self._d
        call = pending.call.with_arguments(own_copy(pending.call.arguments))
        tool = pending.tool
        job: Job

        def keep_alive() -> None:
            if job.restart_idle is not None:
                job.restart_idle()

        def progress(done: float, total: float | None, text: str) -> None:
            d.emitter.emit(ToolProgress(call_id=call.id, done=done, total=total, text=text))

        env = d.env.for_call(progress=progress, keep_alive=keep_alive)

        async def work() -> object:
            if tool is None:
                raise RuntimeError("a call without a tool was cleared")
            await d.unless_halted()
            try:
                return await tool.execute(call, env)
            except (SystemExit, KeyboardInterrupt, GeneratorExit) as exc:
                # asyncio would let these end the process; one tool must not.
                return _Crash(exc)

        def begin() -> None:
            if pending.read_only:
                d.emitter.tell(lambda: ToolStart(call_id=call.id, tool=call.name, read_only=True))
            pending.started = d.now()

        def end(outcome: Outcome) -> None:
            self._ended(pending, outcome)

        idle = _idle_s([tool, *(target.entry.tool for target in pending.targets)])
        job = Job(
            work,
            begin=begin,
            end=end,
            timeout_s=d.timeout_s(pending),
            idle_s=idle,
            name=f"tool call {call.id}",
        )
        return job

    def _ended(self, pending: Pending, outcome: Outcome) -> None:
        if pending.started is not None:
            pending.took = max(self._d.now() - pending.started, 0.0)
        match outcome:
            case Finished(ToolResult() as result):
                pending.answered(self._own_id(pending, result))
            case Finished(_Crash(error)) | Raised(error):
                self._crashed(pending, error)
            case Finished(value):
                kind = type(value).__name__
                pending.fail(ToolError.execution_failed(f"{pending.name} returned {kind}, not a ToolResult"))
            case Overdue(seconds):
                pending.fail(ToolError.timeout(round(seconds * 1000)))
            case Stopped():
                pending.unfinished(ran=True)
        is_error = pending.result is not None and pending.result.is_error
        self._d.emitter.tell(
            lambda: ToolEnd(
                call_id=pending.call.id,
                tool=pending.name,
                duration_ms=pending.took * 1000,
                is_error=is_error,
            )
        )

    def _crashed(self, pending: Pending, error: BaseException) -> None:
        if not isinstance(error, ToolError):
            logger.error(
                "tool_crashed session=%s call=%s tool=%s",
                self._d.env.session_id,
                pending.call.id,
                pending.name,
                exc_info=error,
            )
        pending.fail(failure(error, self._d.redact))

    def _own_id(self, pending: Pending, result: ToolResult) -> ToolResult:
        if result.call_id == pending.call.id:
            return result
        if result.call_id:
            logger.warning("result_with_foreign_call_id tool=%s call=%s", pending.name, pending.call.id)
        return ToolResult(pending.call.id, result.content, result.is_error, result.parts)
