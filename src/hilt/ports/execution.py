"""Running work that may refuse to end."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Protocol

from hilt.core.frozen import frozen


@frozen(kw_only=False)
class Finished:
    """The work returned `value`."""

    value: object


@frozen(kw_only=False)
class Raised:
    """The work raised `error`; a cancellation that it made itself counts as raised."""

    error: BaseException


@frozen(kw_only=False)
class Overdue:
    """The deadline passed after `seconds`; the work was told to stop, and left behind if it did not."""

    seconds: float


@frozen(kw_only=False)
class Stopped:
    """The caller was cancelled while the work ran."""


Outcome = Finished | Raised | Overdue | Stopped


class Job:
    """One piece of work and its deadlines, in seconds.

    `begin` is called when it gets a place, just before it starts; `end` exactly once after that, also when the
    work is left behind. Both are plain functions that must not raise.
    """

    __slots__ = ("begin", "end", "idle_s", "name", "restart_idle", "timeout_s", "work")

    def __init__(
        self,
        work: Callable[[], Coroutine[object, object, object]],
        *,
        begin: Callable[[], None] | None = None,
        end: Callable[[Outcome], None],
        timeout_s: float,
        idle_s: float | None = None,
        name: str = "",
    ) -> None:
        self.work = work
        self.begin = begin
        self.end = end
        self.timeout_s = timeout_s
        self.idle_s = idle_s
        self.name = name
        self.restart_idle: Callable[[], None] | None = None


class Execution(Protocol):
    """Runs jobs at the same time and never waits for one that will not stop."""

    async def run_all(self, jobs: Sequence[Job], *, limit: int) -> None:
        """Run every job, at most `limit` at once, and return when each has ended.

        A job past its deadline, or past its idle deadline, is cancelled, and left behind when it does not end
        within half a second; it holds no place then, its late result is dropped and its end is logged. When
        the caller is cancelled the running jobs are treated the same way, no further one begins, and the
        cancellation goes on within one second. While a job runs its `restart_idle` restarts the idle deadline.
        """
        ...
