"""Commands that go on in the background: how each stands."""

from dataclasses import dataclass
from typing import Final, Literal

JobStatus = Literal["running", "completed", "failed", "timed_out", "cancelled"]

ENDED_MAX: Final = 100
KEPT_S: Final = 300.0
_SHOWN_CHARS: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job at one moment. `started_at` is in seconds of Unix time; `exit_code` is None while it runs.

    It is also None after a signal. `completed` is an exit code of 0, `failed` any other end of its own.
    """

    id: str
    command: str
    working_dir: str = ""
    timeout_s: int
    started_at: int
    status: JobStatus = "running"
    exit_code: int | None = None
    duration_s: float = 0.0


def status_of(exit_code: int | None, *, timed_out: bool) -> JobStatus:
    """Return what the end of a command makes of its job."""
    if timed_out:
        return "timed_out"
    return "completed" if exit_code == 0 else "failed"


def short(command: str, limit: int = _SHOWN_CHARS) -> str:
    """Return the command, cut after `limit` characters."""
    return command if len(command) <= limit else f"{command[: limit - 1]}…"


def notice(job: Job) -> str:
    """Return how the model is told that a job has ended."""
    code = "" if job.exit_code is None else f", exit code {job.exit_code}"
    return (
        f"The background job {job.id} ({short(' '.join(job.command.split()))}) has ended: {job.status}{code}, "
        f"after {job.duration_s:.1f} s. shell_job_status shows its output."
    )
