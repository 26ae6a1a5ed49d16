"""Keeps the child agents of one session: starts, watches and ends them, and tells the model of ends it did not see.

Each child runs in a task of its own, whoever waits for it; `close` waits for all of them.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

import anyio

from hilt.core.child import ENDED_MAX, Child, ChildOrder, lost, lost_notice, not_found, notice, state_of
from hilt.core.child_answer import json_answer
from hilt.core.errors import ToolError
from hilt.core.event import Notice, RunResult
from hilt.core.session import StopReason, UserMessage
from hilt.engine.budget import Payer, SharedBudget
from hilt.engine.child_run import Parent, own_text
from hilt.engine.child_start import ChildrenSetup, Kept, again, new, run_of
from hilt.engine.loop import AgentLoop
from hilt.engine.places import Places
from hilt.ports.child import Begun, ChildAgents, Progress, Transcript

logger = logging.getLogger(__name__)

STOP_S: Final = 0.3
CLOSE_S: Final = 8.0
REST_S: Final = 5.0


class SessionChildren:
    """See `ChildAgents`. Until it is bound to its session no child can be started."""

    def __init__(self, setup: ChildrenSetup) -> None:
        self._setup = setup
        self._places = Places(setup.host.places)
        self._kept: dict[str, Kept] = {}
        self._parent: Parent | None = None
        self._closed = False
        self._count = 0

    def bind(self, parent: Parent) -> None:
        """Take the agent that starts children, and tell it of those of an earlier time that did not survive."""
        self._parent = parent
        parent.state.notices += map(lost_notice, lost(parent.state.messages))

    @property
    def places(self) -> int:
        """See `ChildAgents.places`."""
        return self._places.total

    @property
    def busy(self) -> bool:
        """Whether a child runs."""
        return any(kept.ended_at is None for kept in self._kept.values())

    async def start(self, order: ChildOrder, *, payer: Payer | None = None) -> Child:
        """See `ChildAgents.start`; `payer` counts what the child spends, its parent where there is none."""
        return self._shown(await self._begin(order, background=True, payer=payer))

    async def run(
        self,
        order: ChildOrder,
        *,
        progress: Progress | None = None,
        begun: Begun | None = None,
        payer: Payer | None = None,
    ) -> Child:
        """See `ChildAgents.run` and `start`."""
        kept = await self._begin(order, background=False, payer=payer, progress=progress)
        try:
            if begun is not None:
                begun(self._shown(kept))
            await kept.ended.wait()
        except BaseException:
            _stop(kept, "the call that it worked for was ended")
            with anyio.move_on_after(STOP_S, shield=True):
                await kept.ended.wait()
            raise
        return self._shown(kept)

    def together(self, *, max_tokens: int | None) -> ChildAgents:
        """See `ChildAgents.together`."""
        return _Together(self, SharedBudget(self._attended().state, max_tokens=max_tokens))

    def children(self) -> Sequence[Child]:
        """See `ChildAgents.children`."""
        return [self._shown(kept) for kept in self._kept.values()]

    async def report(self, id_: str, *, wait_s: float = 0.0) -> Child:
        """See `ChildAgents.report`."""
        kept = self._found(id_)
        with anyio.move_on_after(wait_s):
            await kept.ended.wait()
        return self._shown(kept)

    async def cancel(self, id_: str) -> tuple[Child, Child]:
        """See `ChildAgents.cancel`."""
        kept = self._found(id_)
        before = self._shown(kept)
        if not before.ended:
            _stop(kept, "the agent that started it cancelled it")
            with anyio.move_on_after(STOP_S):
                await kept.ended.wait()
        return before, self._shown(kept)

    def transcript(self, id_: str) -> Transcript:
        """See `ChildAgents.transcript`."""
        kept = self._found(id_)
        return Transcript(child=self._shown(kept), messages=tuple(kept.state.messages))

    async def stop(self) -> None:
        """End every child because their parent was cancelled; what does not end at once ends by itself."""
        await self._end_all("the agent that started it was cancelled", within_s=STOP_S)

    async def close(self) -> None:
        """End every child and wait until nothing of them is left; no notice tells of it."""
        self._closed = True
        await self._end_all("the session was closed", within_s=CLOSE_S)

    async def _end_all(self, why: str, *, within_s: float) -> None:
        running = [kept for kept in self._kept.values() if not kept.ended.is_set()]
        for kept in running:
            _stop(kept, why)
        with anyio.move_on_after(within_s) as late:
            for kept in running:
                await kept.ended.wait()
        if late.cancelled_caught:
            logger.warning("child_agents_end_late agents=%s why=%s", ",".join(one.child.id for one in running), why)

    # ------------------------------------------------------------ a start

    async def _begin(
        self, order: ChildOrder, *, background: bool, payer: Payer | None, progress: Progress | None = None
    ) -> Kept:
        self._attended()
        if not order.prompt.strip():
            raise ToolError.invalid_arguments("prompt: is blank; say what the child agent is to do")
        if order.waits:
            await self._places.wait()
        elif not self._places.take():
            total = self._places.total
            raise ToolError.execution_failed(
                f"Concurrency limit exceeded: {total} child agents run, limit is {total} (agents.max_concurrent)"
            )
        try:
            parent = self._attended()
            kept = self._made(parent, order, payer or parent.state)
            kept.child = replace(kept.child, background=background, description=order.description)
            loop = run_of(parent, kept, progress)
        except BaseException:
            self._places.give_back()
            raise
        self._kept.pop(kept.child.id, None)
        self._kept[kept.child.id] = kept
        kept.began = self._setup.host.clock.monotonic()
        how = "in the background" if background else "for a call"
        text = f"{kept.child.name} ({kept.child.id}) started {how}."
        parent.emitter.emit(Notice(topic="child_started", text=text))
        self._setup.host.tasks.start_soon(self._drive, parent, kept, loop, name=f"child {kept.child.id}")
        return kept

    def _made(self, parent: Parent, order: ChildOrder, payer: Payer) -> Kept:
        if order.resume:
            return again(parent, self._found(order.resume), order, payer)
        running = sum(kept.ended_at is None for kept in self._kept.values())
        kept = new(parent, order, payer, setup=self._setup, number=self._count + 1, running=running)
        self._count += 1
        return kept

    # ------------------------------------------------------------ a run and its end

    async def _drive(self, parent: Parent, kept: Kept, loop: AgentLoop) -> None:
        """Run a child to its end; whatever happens, it has ended and its place is free afterwards."""
        result: RunResult | None = None
        try:
            with kept.scope:
                result = await loop.run(kept.state, UserMessage(text=kept.order.prompt))
        except Exception as exc:
            logger.exception("child_failed session=%s agent=%s", parent.session_id, kept.child.id)
            what = f"an internal error ended it ({type(exc).__name__}); the log has the details"
            result = RunResult(stop_reason=StopReason.ERROR, error=what)
        finally:
            try:
                await _bounded(kept.own.rest, "child_left_something", kept)
                self._settle(parent, kept, result)
                await _bounded(parent.emitter.barrier, "event_log_failed", kept)
            finally:
                self._places.give_back()
                kept.ended.set()

    def _settle(self, parent: Parent, kept: Kept, result: RunResult | None) -> None:
        kept.ended_at = self._setup.host.clock.monotonic()
        child = self._shown(kept)
        output, error = own_text(kept.state), child.error
        if child.state == "running":
            child = replace(child, state="cancelled" if result is None else state_of(result.stop_reason))
            error = _why(result)
        schema = kept.order.output_schema
        if child.state == "completed" and schema is not None:
            answer = json_answer(output, schema)
            output = answer.text
            if answer.violations:
                child = replace(child, state="failed")
                error = "its answer does not fit output_schema: " + "; ".join(answer.violations)
        error = "" if child.state == "completed" else error
        kept.child = child = replace(child, output=output, error=error)
        text = f"{child.name} ({child.id}) ended: {child.state}{error and ': '}{error}"
        parent.emitter.emit(Notice(topic="child_ended", text=text))
        if child.background and not self._closed:
            parent.state.notices.append(notice(child))
        self._prune()

    def _attended(self) -> Parent:
        if self._closed or self._parent is None:
            raise ToolError.unavailable("the session is closed")
        return self._parent

    def _found(self, id_: str) -> Kept:
        kept = self._kept.get(id_)
        if kept is None:
            raise not_found(id_)
        return kept

    def _shown(self, kept: Kept) -> Child:
        """Return a child as it is now; one that was settled stays so."""
        if kept.ended.is_set():
            return kept.child
        now = self._setup.host.clock.monotonic() if kept.ended_at is None else kept.ended_at
        state = kept.state
        return replace(
            kept.child,
            duration_s=now - kept.began,
            tokens=kept.tokens_before + state.run_usage.total,
            calls=kept.calls_before + state.run_calls,
        )

    def _prune(self) -> None:
        """Forget ended children beyond the last 256."""
        ended = [kept for kept in self._kept.values() if kept.ended_at is not None]
        ended.sort(key=lambda kept: kept.ended_at or 0.0)
        for kept in ended[: max(len(ended) - ENDED_MAX, 0)]:
            del self._kept[kept.child.id]


class _Together:
    """Children that spend from one budget; see `ChildAgents`."""

    def __init__(self, children: SessionChildren, payer: Payer) -> None:
        self._children = children
        self._payer = payer
        self.places = children.places
        self.together = children.together
        self.children = children.children
        self.report = children.report
        self.cancel = children.cancel
        self.transcript = children.transcript

    async def start(self, order: ChildOrder) -> Child:
        """See `ChildAgents.start`."""
        return await self._children.start(order, payer=self._payer)

    async def run(self, order: ChildOrder, *, progress: Progress | None = None, begun: Begun | None = None) -> Child:
        """See `ChildAgents.run`."""
        return await self._children.run(order, progress=progress, begun=begun, payer=self._payer)


async def _bounded(work: Callable[[], Awaitable[None]], event: str, kept: Kept) -> None:
    """Do something at the end of a child, also when it was cancelled; a failure is logged and keeps nothing open."""
    with anyio.move_on_after(REST_S, shield=True):
        try:
            await work()
        except Exception:
            logger.exception("%s agent=%s", event, kept.child.id)


def _why(result: RunResult | None) -> str:
    """Return why a child did not complete by itself."""
    if result is None:
        return "it was ended from outside"
    return result.error or f"it was stopped by {result.stop_reason}"


def _stop(kept: Kept, why: str) -> None:
    """Settle first that it was cancelled, so that an end of its own at this moment changes nothing."""
    if kept.child.state == "running":
        kept.child = replace(kept.child, state="cancelled", error=why)
    kept.halt.halted = True
    kept.scope.cancel()
