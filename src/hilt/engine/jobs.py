"""Keeps the background jobs of one session: starts, watches and ends them, and tells the model of each end."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import anyio
from anyio.abc import TaskGroup

from hilt.core.errors import ErrorCode, ToolError
from hilt.core.job import ENDED_MAX, KEPT_S, Job, lost, lost_notice, notice, status_of
from hilt.engine.conversation import Conversation
from hilt.ports.clock import Clock
from hilt.ports.job import JobReport
from hilt.ports.runner import CommandResult, CommandStarter, StartedCommand

logger = logging.getLogger(__name__)

OUTPUTS_MAX_BYTES: Final = 32 * 1024 * 1024


@dataclass(slots=True, kw_only=True)
class _Kept:
    """A job with what runs it; `began` and `ended_at` are seconds of the monotonic clock."""

    job: Job
    command: StartedCommand
    began: float
    ended_at: float | None = None
    output: CommandResult | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)


class SessionJobs:
    """See `ShellJobs`. Watchers run in `tasks`, which outlives the session; `close` waits for all of them."""

    def __init__(self, starter: CommandStarter, *, tasks: TaskGroup, clock: Clock) -> None:
        self._starter = starter
        self._tasks = tasks
        self._clock = clock
        self._jobs: dict[str, _Kept] = {}
        self._conversation: Conversation | None = None
        self._closed = False

    def bind(self, conversation: Conversation) -> None:
        """Take the conversation that notices go to, and tell it of jobs of an earlier time that did not survive."""
        self.attend(conversation)
        conversation.notices += map(lost_notice, lost(conversation.messages))

    def attend(self, conversation: Conversation) -> None:
        """Take the conversation that notices go to: one that began in this process."""
        self._conversation = conversation

    @property
    def busy(self) -> bool:
        """Whether a job runs."""
        return any(not kept.ended.is_set() for kept in self._jobs.values())

    async def start(self, command: str, *, timeout_s: int, working_dir: str = "") -> Job:
        """See `ShellJobs.start`."""
        self._refuse_closed()
        started = await self._starter.start(command, timeout_s=float(timeout_s), working_dir=working_dir)
        job = Job(
            id=self._clock.new_id(),
            command=command,
            working_dir=working_dir,
            timeout_s=timeout_s,
            started_at=int(self._clock.now().timestamp()),
        )
        kept = self._jobs[job.id] = _Kept(job=job, command=started, began=self._clock.monotonic())
        self._tasks.start_soon(self._watch, kept, name=f"job {job.id}")
        if self._closed:
            _stop(kept)
            await kept.ended.wait()
            self._refuse_closed()
        self._prune()
        return job

    def jobs(self) -> Sequence[Job]:
        """See `ShellJobs.jobs`."""
        self._prune()
        return [self._shown(kept) for kept in self._jobs.values()]

    async def report(self, id_: str, *, wait_s: float = 0.0) -> JobReport:
        """See `ShellJobs.report`."""
        kept = self._found(id_)
        with anyio.move_on_after(wait_s):
            await kept.ended.wait()
        output = kept.output if kept.output is not None else kept.command.so_far()
        return JobReport(job=self._shown(kept), output=output)

    async def cancel(self, id_: str) -> Job:
        """See `ShellJobs.cancel`."""
        kept = self._found(id_)
        if kept.job.status != "running":
            state = {"job_id": id_, "status": kept.job.status, "exit_code": kept.job.exit_code}
            raise ToolError(ErrorCode.EXECUTION_FAILED, "Job is not running", data=state)
        _stop(kept)
        await kept.ended.wait()
        return self._shown(kept)

    async def close(self) -> None:
        """End every job and wait until nothing of them is left; no notice tells of it."""
        self._closed = True
        await self.end_all()

    async def end_all(self) -> None:
        """End every job that runs and wait until nothing of them is left."""
        running = [kept for kept in self._jobs.values() if not kept.ended.is_set()]
        for kept in running:
            _stop(kept)
        for kept in running:
            await kept.ended.wait()

    async def _watch(self, kept: _Kept) -> None:
        try:
            with kept.scope:
                kept.output = await kept.command.finish()
        except Exception:
            logger.exception("job_failed id=%s", kept.job.id)
        finally:
            self._settle(kept)

    def _settle(self, kept: _Kept) -> None:
        done = kept.output
        if done is None:
            kept.output = kept.command.so_far()
        kept.ended_at = self._clock.monotonic()
        job = replace(kept.job, duration_s=kept.ended_at - kept.began)
        if job.status == "running":
            ended = status_of(done.exit_code, timed_out=done.timed_out) if done is not None else "failed"
            job = replace(job, status=ended, exit_code=None if done is None else done.exit_code)
        kept.job = job
        kept.ended.set()
        if not self._closed and self._conversation is not None:
            self._conversation.notices.append(notice(job))

    def _refuse_closed(self) -> None:
        if self._closed:
            raise ToolError.unavailable("the session is closed")

    def _found(self, id_: str) -> _Kept:
        kept = self._jobs.get(id_)
        if kept is None:
            raise ToolError.execution_failed(f"Job not found: {id_}")
        return kept

    def _shown(self, kept: _Kept) -> Job:
        if kept.ended_at is not None:
            return kept.job
        return replace(kept.job, duration_s=self._clock.monotonic() - kept.began)

    def _prune(self) -> None:
        """Forget ended jobs beyond the last 100, and older ones while their outputs take too much memory."""
        ended = sorted(
            (kept for kept in self._jobs.values() if kept.ended_at is not None), key=lambda kept: kept.ended_at or 0.0
        )
        size = sum(_size(kept) for kept in ended)
        now = self._clock.monotonic()
        for place, kept in enumerate(ended, start=1):
            old = now - (kept.ended_at or 0.0) > KEPT_S
            if len(ended) - place < ENDED_MAX and not (old and size > OUTPUTS_MAX_BYTES):
                break
            size -= _size(kept)
            del self._jobs[kept.job.id]


def _stop(kept: _Kept) -> None:
    """Settle first that it was cancelled, so that an end of its own at this moment changes nothing."""
    if kept.job.status == "running":
        kept.job = replace(kept.job, status="cancelled")
    kept.scope.cancel()


def _size(kept: _Kept) -> int:
    return 0 if kept.output is None else len(kept.output.stdout) + len(kept.output.stderr)
