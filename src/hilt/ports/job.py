"""Commands of one session that go on in the background."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hilt.core.job import Job
from hilt.ports.runner import CommandResult


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """A job and what it gave so far."""

    job: Job
    output: CommandResult


class ShellJobs(Protocol):
    """The jobs of one session: those that run, and the last that ended.

    The end of each is told to the model as one notice. Those that ended stay known for at least 300 seconds, as long
    as there are no more than 100 of them.
    """

    async def start(self, command: str, *, timeout_s: int, working_dir: str = "") -> Job:
        """Start a command and return its job at once.

        Raises:
            ToolError: It cannot be started, or the session is being closed.
        """
        ...

    def jobs(self) -> Sequence[Job]:
        """Return all jobs, in the order in which they were started."""
        ...

    async def report(self, id_: str, *, wait_s: float = 0.0) -> JobReport:
        """Return a job and its output so far, as soon as it has ended or after `wait_s` seconds.

        Raises:
            ToolError: No job has this id.
        """
        ...

    async def cancel(self, id_: str) -> Job:
        """End a job with all its processes and return it, as `cancelled` whatever else happens meanwhile.

        Raises:
            ToolError: No job has this id, or it has ended.
        """
        ...
