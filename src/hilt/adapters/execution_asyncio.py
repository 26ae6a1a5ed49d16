"""Runs jobs as plain asyncio tasks, so that one that refuses to end can be left behind.

A task group waits for its children whatever they do; a tool that swallows its cancellation would hold a run for
ever. Here each job is a task of its own with its own context, and only the waiting is structured. One timer
serves all jobs of a phase: it goes off at the earliest deadline and is set again for the next.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import Sequence

import anyio

from hilt.ports.execution import Finished, Job, Outcome, Overdue, Raised, Stopped

logger = logging.getLogger(__name__)

GRACE_S = 0.5

_left_behind: set["asyncio.Task[object]"] = set()


class AsyncioExecution:
    """See `ports.execution.Execution`."""

    async def run_all(self, jobs: Sequence[Job], *, limit: int) -> None:
        """See `Execution.run_all`."""
        if not jobs:
            return
        phase = _Phase(jobs, limit)
        phase.fill()
        try:
            await phase.done
        except asyncio.CancelledError:
            await phase.stop()
            raise
        finally:
            phase.disarm()


class _Phase:
    """Jobs that run together, the timer of their deadlines, and the future that ends when all have."""

    def __init__(self, jobs: Sequence[Job], limit: int) -> None:
        self.loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self.loop.create_future()
        self._jobs = jobs
        self._next = 0
        self._places = max(limit, 1)
        self._open = len(jobs)
        self._running: set[_Running] = set()
        self._halted = False
        self._fault: Exception | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._armed = math.inf

    def fill(self) -> None:
        """Start jobs while there are places."""
        while self._places and self._next < len(self._jobs) and not self._halted:
            job = self._jobs[self._next]
            self._next += 1
            self._places -= 1
            running = _Running(self, job)
            self._running.add(running)
            self.arm(running.due)

    def ended(self, running: "_Running") -> None:
        """Give the place of an ended job to the next one."""
        self._running.discard(running)
        self._places += 1
        self._open -= 1
        if self._next < len(self._jobs):
            self.fill()
        if self._open or self.done.done():
            return
        if self._fault is not None:
            self.done.set_exception(self._fault)
        else:
            self.done.set_result(None)

    def fault(self, error: Exception) -> None:
        """Note what a job's `begin` or `end` raised, against its promise: it is raised when all have ended."""
        logger.error("job_callback_failed", exc_info=error)
        self._fault = self._fault or error

    def arm(self, due: float) -> None:
        """Have the timer go off at `due`, unless it does so earlier."""
        if due < self._armed:
            if self._timer is not None:
                self._timer.cancel()
            self._armed = due
            self._timer = self.loop.call_at(due, self._rings)

    def disarm(self) -> None:
        """Let the timer go."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._armed = math.inf

    def _rings(self) -> None:
        self._timer = None
        self._armed = math.inf
        now = self.loop.time()
        for running in tuple(self._running):
            if running.due <= now:
                running.overdue()
        for running in self._running:
            self.arm(running.due)

    async def stop(self) -> None:
        """Cancel what runs, start nothing more, and wait for at most the grace time."""
        self._halted = True
        running = tuple(self._running)
        for item in running:
            item.cancel(Stopped())
        tasks = [item.task for item in running if not item.task.done()]
        if tasks:
            # A second cancellation of the caller must not cut the grace short.
            waiter = asyncio.ensure_future(asyncio.wait(tasks, timeout=GRACE_S))
            with anyio.CancelScope(shield=True):
                while not waiter.done():
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.shield(waiter)
        for item in running:
            item.leave()


class _Running:
    """One job under way. `due` is the loop's time at which something must happen to it."""

    __slots__ = ("_outcome", "_total", "due", "job", "phase", "task")

    def __init__(self, phase: _Phase, job: Job) -> None:
        self.phase: _Phase | None = phase
        self.job = job
        self._outcome: Outcome | None = None
        if job.begin is not None:
            try:
                job.begin()
            except Exception as error:
                phase.fault(error)
        loop = phase.loop
        self.task: asyncio.Task[object] = loop.create_task(job.work(), name=job.name or None)
        self.due = self._total = loop.time() + job.timeout_s
        if job.idle_s is not None and job.idle_s < job.timeout_s:
            job.restart_idle = self._restart_idle
            self._restart_idle()
        self.task.add_done_callback(self._finished)

    def cancel(self, outcome: Outcome) -> None:
        """Tell the work to stop; `outcome` is what its end will mean."""
        if self._outcome is None:
            self._outcome = outcome
        self.due = math.inf
        self.task.cancel()

    def leave(self) -> None:
        """Settle now, whether the work has ended or not."""
        phase, self.phase = self.phase, None
        if phase is None:
            return
        if not self.task.done():
            _left_behind.add(self.task)
            self.task.remove_done_callback(self._finished)
            self.task.add_done_callback(_log_late_end)
        self._end(phase, self._outcome or Stopped())

    def overdue(self) -> None:
        """Stop work past its deadline; past the grace time too, leave it behind."""
        if self.phase is None or self.task.done():
            return
        if self._outcome is not None:
            self.leave()
            return
        late = self.job.timeout_s if self.due >= self._total else self.job.idle_s
        self.cancel(Overdue(late if late is not None else self.job.timeout_s))
        self.due = self.phase.loop.time() + GRACE_S

    def _restart_idle(self) -> None:
        if self.phase is not None and self._outcome is None and self.job.idle_s is not None:
            self.due = min(self._total, self.phase.loop.time() + self.job.idle_s)

    def _finished(self, task: "asyncio.Task[object]") -> None:
        phase, self.phase = self.phase, None
        if phase is None:
            return
        outcome = self._outcome
        if task.cancelled():
            outcome = outcome or Raised(asyncio.CancelledError("the work cancelled itself"))
        elif (error := task.exception()) is not None:
            outcome = outcome or Raised(error)
        else:
            outcome = outcome or Finished(task.result())
        self._end(phase, outcome)

    def _end(self, phase: _Phase, outcome: Outcome) -> None:
        try:
            self.job.end(outcome)
        except Exception as error:
            phase.fault(error)
        phase.ended(self)


def _log_late_end(task: "asyncio.Task[object]") -> None:
    _left_behind.discard(task)
    how = "cancelled"
    if not task.cancelled():
        how = "raised" if task.exception() is not None else "returned"
    logger.warning("abandoned_work_ended work=%s how=%s", task.get_name(), how)
