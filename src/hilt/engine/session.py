"""One session: its state, its runs, its asks; what it stores and how it goes on after a restart."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

import anyio

from hilt.core.content import Part
from hilt.core.errors import ConflictError, RequestError, SessionBusyError
from hilt.core.event import AskClosed, RunResult
from hilt.core.session import Mode, PendingAsk, SessionRecord, SessionState, StopReason, ToolFilter, UserMessage
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.assembly import Assembly, Host
from hilt.engine.catalog import Catalog
from hilt.engine.child_run import Parent
from hilt.engine.direct_call import DirectCall
from hilt.engine.emitter import Emitter, Receiver
from hilt.engine.funnel import Funnel, build_funnel
from hilt.engine.journal import Journal
from hilt.engine.keeper import RecordKeeper, check_mode, narrowed_limits, restored
from hilt.engine.recovery import Recovery
from hilt.engine.run import Run
from hilt.engine.visibility import Visibility
from hilt.engine.waiting import ChildAsks, WaitingAsk, pending_of
from hilt.ports.permission import Ask, Verdict, VerdictKind
from hilt.ports.tool import Environment

logger = logging.getLogger(__name__)

CLOSE_S = 10.0
VERDICTS = frozenset({"allow_once", "allow_always", "deny"})


class _Left(BaseException):
    """The application ended while an ask waited: the run is given up as it is stored, without being wound up."""


class Session:
    """A conversation with its mode, limits, grants, catalog and environment."""

    def __init__(self, record: SessionRecord, assembly: Assembly, host: Host, *, last_seq: int = 0) -> None:
        self._host = host
        self._assembly = assembly
        self._journal = Journal(host.log, record.id)
        self._emitter = Emitter(clock=host.clock, last_seq=max(last_seq, record.last_seq), flush=self._journal.write)
        self._emitter.turn = record.turns
        self._emitter.subscribe(self._journal.take)
        for receiver in host.receivers:
            self._emitter.subscribe(receiver)
        self._state = restored(record, assembly)
        if assembly.bind is not None:
            assembly.bind(self._state)
        self._keeper = RecordKeeper(record, host, state=self._state, emitter=self._emitter, ledger=assembly.ledger)
        parts = replace(assembly.parts, approver=self) if assembly.via_session else assembly.parts
        self._recovery = Recovery(host, self._keeper, self._state, self._emitter, self._journal, parts.recorder)
        self._waiting: WaitingAsk | None = None
        self._child_asks = ChildAsks(self._emitter.barrier)
        self._left = self._ended = self._closing = False
        self._close_turn = anyio.Lock()
        self._run: Run | None = None
        self.touched = host.clock.monotonic()
        self._funnel: Funnel = build_funnel(
            parts,
            emitter=self._emitter,
            session_id=record.id,
            checkpoint=self._checkpoint,
            ask_opened=self._ask_opened,
            persist=assembly.persist,
            refresh=assembly.refresh,
        )
        if assembly.children is not None:
            parent = Parent(
                session_id=record.id,
                state=self._state,
                emitter=self._emitter,
                parts=replace(parts, approver=self._child_asks) if assembly.via_session else parts,
                persist=assembly.persist,
                ask_opened=self._child_asks.opened if assembly.via_session else None,
            )
            assembly.children.bind(parent)

    @property
    def id(self) -> str:
        """The session's id."""
        return self._keeper.record.id

    @property
    def record(self) -> SessionRecord:
        """The record as it was stored last."""
        return self._keeper.record

    @property
    def state(self) -> SessionState:
        """Where the session stands; it also awaits a verdict while a child agent of its run asks for one."""
        state = self._keeper.record.state
        return SessionState.AWAITING if state is SessionState.RUNNING and self._child_asks.pending else state

    @property
    def ended(self) -> bool:
        """Whether it was closed here; one that was closed before and only opened again has not ended."""
        return self._ended and self.state is SessionState.CLOSED

    @property
    def at_rest(self) -> bool:
        """Whether nothing of it goes on: no run, no ask that waits, no background job."""
        return self._run is None and self.state in (SessionState.IDLE, SessionState.CLOSED) and not self.busy

    @property
    def running(self) -> bool:
        """Whether a run goes on that waits for no verdict."""
        return self._run is not None and self.state is not SessionState.AWAITING

    @property
    def mode(self) -> Mode:
        """The mode that the next model request has."""
        return self._state.mode

    @property
    def catalog(self) -> Catalog:
        """The session's own catalog."""
        return self._assembly.parts.catalog

    @property
    def env(self) -> Environment:
        """What the session lends to its tools."""
        return self._assembly.parts.env

    @property
    def pending_ask(self) -> PendingAsk | None:
        """The ask that waits for a verdict, of a child agent too; None without one."""
        return self._keeper.record.pending or self._child_asks.pending

    @property
    def busy(self) -> bool:
        """Whether a job or a child agent of it goes on."""
        return self._assembly.busy is not None and self._assembly.busy()

    def specs(self) -> Sequence[ToolSpec]:
        """Return the specs that the next model request would list."""
        return self._funnel.loop.specs(self._state)

    def subscribe(self, receiver: Receiver) -> Callable[[], None]:
        """Add a receiver of events and return the function that takes it away."""
        return self._emitter.subscribe(receiver)

    async def settled(self) -> None:
        """Return when a run that has told its result is stored, so that the next one can start."""
        run = self._run
        if run is not None and run.result is not None:
            await run.finished()

    async def flush(self) -> None:
        """Return when everything emitted so far is in the event log."""
        await self._journal.write()

    def prompt(self, content: str | Sequence[Part], *, text: str = "", typed: str = "") -> Run:
        """Start a run and return it: iterate over it for its events; leaving early cancels it.

        `typed` is kept beside the prompt: the command line that it was expanded from.

        Raises:
            SessionBusyError: Another prompt runs or waits for a verdict.
            ConflictError: The session was closed.
        """
        parts = () if isinstance(content, str) else tuple(content)
        prompt = UserMessage(text=content if isinstance(content, str) else text, parts=parts, typed=typed)
        return self._start(lambda: self._funnel.loop.run(self._state, prompt))

    async def approve(
        self, ask_id: str, verdict: VerdictKind | str, *, persist: bool = False, message: str = ""
    ) -> Run | None:
        """Give the verdict on the open ask; after a restart this goes on with the run, which is returned.

        Raises:
            RequestError: The verdict is unknown; the ask stays open.
            ConflictError: No such ask is open, or it has its verdict.
        """
        if verdict not in VERDICTS:
            raise RequestError(f"unknown verdict {verdict!r}; known are {', '.join(sorted(VERDICTS))}")
        given = Verdict(kind=verdict, message=message, persist=persist)  # type: ignore[arg-type]  # checked above
        waiting = self._waiting
        if self._child_asks.answer(ask_id, given) or (waiting is not None and waiting.answer(ask_id, given)):
            return None
        record = self._keeper.record
        pending = record.pending if record.state is SessionState.AWAITING else None
        if waiting is None and self._run is None and pending is not None and pending.ask_id == ask_id:
            return await self._go_on(pending, given)
        raise ConflictError(f"no ask {ask_id!r} is open in this session")

    async def cancel(self) -> None:
        """End the run under way, or the ask that waits since a restart, as cancelled, and every child agent."""
        run = self._run
        if run is not None:
            await run.aclose()
        elif self._keeper.record.state is SessionState.AWAITING:
            await self._recovery.end_open(StopReason.CANCELLED, "")
        if self._assembly.children is not None:
            await self._assembly.children.stop()

    async def close(self) -> None:
        """Close the session: cancel its run, end what only it holds, keep its record; twice is no error."""
        async with self._close_turn:
            if self.ended:
                return
            self._closing = True
            with anyio.move_on_after(CLOSE_S):
                await self.cancel()
            if self._assembly.close is not None:
                with anyio.move_on_after(CLOSE_S):
                    await self._assembly.close()
            self._ended = True
            if self._keeper.record.state is not SessionState.CLOSED:
                await self._keeper.move(SessionState.CLOSED)

    async def leave(self) -> None:
        """End with the application: close, but leave an ask that waits for `approve` as it is stored."""
        run, waiting = self._run, self._waiting
        if self._keeper.record.state is not SessionState.AWAITING or (run is not None and waiting is None):
            return await self.close()
        if run is not None and waiting is not None:
            await self._journal.write()
            self._emitter.silence()
            self._left = True
            waiting.answered.set()
            await run.finished()
        if self._assembly.close is not None:
            with anyio.move_on_after(CLOSE_S):
                await self._assembly.close()

    async def set(
        self,
        *,
        title: str | None = None,
        mode: Mode | str | None = None,
        tools: ToolFilter | None = None,
        limits: Mapping[str, float | None] | None = None,
    ) -> None:
        """Change title, mode, filter or limits; it holds from the next model request on.

        Raises:
            RequestError: The mode is unknown or refused here, or a limit is above the server's.
            ConflictError: The session was closed.
        """
        self._refuse_closed()
        check_mode(mode)
        if mode == Mode.AUTO and self._assembly.refuses_auto:
            raise RequestError(self._assembly.refuses_auto, code="forbidden")
        if limits is not None:
            self._state.limits = narrowed_limits(self._assembly.parts.limits, limits)
            self._keeper.record = replace(self._keeper.record, limits=dict(limits))
        if mode is not None:
            self._state.mode = Mode(mode)
        if title is not None:
            self._keeper.record = replace(self._keeper.record, title=title)
        if tools is not None:
            self._keeper.record = replace(self._keeper.record, tools=tools)
            self._state.visibility = Visibility((*self._assembly.layers, tools))
            Visibility((tools,)).report_unknown(self.catalog, complete=self._assembly.refresh is None)
        await self._keeper.save()

    async def call_tool(self, name: str, args: str = "{}") -> ToolResult:
        """Run one call through the whole funnel, as a model's call would, without a model.

        Raises:
            SessionBusyError: A prompt runs.
            ConflictError: The session was closed.
        """
        call = ToolCall(f"call_{self._host.clock.new_id()}", name, args)
        direct = DirectCall(call, self._state, self._funnel.dispatcher, self._emitter)
        run = self._start(direct.run)
        async with run:
            async for _ in run:
                pass
        if not direct.results:
            raise RequestError("the call was cancelled", code="conflict")
        return direct.results[0]

    async def decide(self, ask: Ask) -> Verdict:
        """Wait for `approve`: the approver of sessions whose caller answers asks."""
        waiting = self._waiting
        if waiting is None or waiting.ask is not ask:
            raise ConflictError("an ask is stored before it is put")
        try:
            await waiting.answered.wait()
        finally:
            self._waiting = None
        if self._left:
            raise _Left
        return waiting.verdict or Verdict(kind="deny")

    def _refuse_closed(self) -> None:
        if self._closing:
            raise ConflictError(f"session {self.id!r} was closed; open it again")

    def _start(self, work: Callable[[], Awaitable[RunResult]]) -> Run:
        self._refuse_closed()
        if self._run is not None or self._keeper.record.state in (SessionState.RUNNING, SessionState.AWAITING):
            raise SessionBusyError(f"session {self.id!r} runs another prompt; wait for its result or cancel it")
        run = self._run = Run(f"run_{self._host.clock.new_id()}")
        self.touched = self._host.clock.monotonic()
        self._emitter.run = run.id
        self._host.tasks.start_soon(self._drive, run, work, name=f"run of session {self.id}")
        return run

    async def _drive(self, run: Run, work: Callable[[], Awaitable[RunResult]]) -> None:
        """Run the work with its journal; whatever happens, the session is idle and the run ended afterwards."""
        leave = self._emitter.subscribe(run.take)
        result: RunResult | None = None
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._journal.run)
                await self._keeper.move(SessionState.RUNNING)
                with run.scope:
                    result = await self._unless_left(run, work)
                group.cancel_scope.cancel()
        except Exception as error:
            self._failed(run, error)
        finally:
            if result is not None and run.result is None:
                self._emitter.emit(result)
            leave()
            self._waiting = None
            self.touched = self._host.clock.monotonic()
            with anyio.move_on_after(CLOSE_S, shield=True):
                # The child agents of any other run than a cancelled one go on in the background.
                cancelled = run.result is not None and run.result.stop_reason is StopReason.CANCELLED
                if cancelled and self._assembly.children is not None:
                    await self._assembly.children.stop()
                await self._rest(run)
            self._run = None
            run.end()

    async def _unless_left(self, run: Run, work: Callable[[], Awaitable[RunResult]]) -> RunResult | None:
        try:
            return await work()
        except _Left:
            run.failed(RequestError("the application ended while an ask waits for its verdict", code="unavailable"))
            return None

    def _failed(self, run: Run, error: Exception) -> None:
        """Tell the run's reader of a fault, as itself where it came alone out of the run's tasks."""
        while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        logger.error("session_run_failed session=%s", self.id, exc_info=error)
        run.failed(error)

    async def _rest(self, run: Run) -> None:
        """Store that the session is idle, unless it was closed or left meanwhile."""
        if self._left or self._keeper.record.state is SessionState.CLOSED:
            return
        self._keeper.record = replace(self._keeper.record, pending=None)
        try:
            await self._keeper.move(SessionState.IDLE)
        except Exception as error:
            self._failed(run, error)

    async def _go_on(self, pending: PendingAsk, verdict: Verdict) -> Run:
        """Take up the run that waited for this verdict when the process ended."""
        record = self._keeper.record
        self._keeper.record = replace(record, pending=None)  # a second verdict finds none open
        try:
            found = await self._recovery.trace()
        except BaseException:
            self._keeper.record = record
            raise
        self._keeper.record = replace(self._keeper.record, state=SessionState.IDLE)
        closed = AskClosed(
            ask_id=pending.ask_id,
            call_id=pending.call_id,
            verdict=str(verdict.kind),
            message=verdict.message,
            remembered=verdict.kind == "allow_always" and pending.rememberable,
        )
        open_ids = {call.id for call in self._state.open_calls()}
        done = {call_id: result for call_id, result in found.results.items() if call_id in open_ids}
        verdicts = {**found.verdicts, pending.call_id: verdict}

        async def work() -> RunResult:
            self._emitter.emit(closed)
            return await self._funnel.loop.resume(self._state, done=done, verdicts=verdicts)

        run = self._start(work)
        run.id = self._emitter.run = record.run or run.id
        return run

    async def recover(self) -> None:
        """Bring a session that a restart cut off into a state that goes on: idle, or awaiting with its ask told."""
        await self._recovery.recover()

    async def _ask_opened(self, ask: Ask | None) -> None:
        if ask is not None and self._assembly.via_session:
            self._waiting = WaitingAsk(ask)
        await self._journal.write()
        self._keeper.record = replace(self._keeper.record, pending=None if ask is None else pending_of(ask))
        await self._keeper.move(SessionState.RUNNING if ask is None else SessionState.AWAITING)

    async def _checkpoint(self) -> None:
        await self._journal.write()
        await self._keeper.save()
