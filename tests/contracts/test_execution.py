"""What every `Execution` keeps: deadlines, places, ends that are told once, nothing that is waited for in vain."""

import time
from collections.abc import Callable

import anyio
import pytest

from hilt.adapters.execution_asyncio import AsyncioExecution
from hilt.ports.execution import Execution, Finished, Job, Outcome, Overdue, Raised, Stopped

EXECUTIONS: dict[str, Callable[[], Execution]] = {"asyncio": AsyncioExecution}


@pytest.fixture(params=EXECUTIONS)
def execution(request: pytest.FixtureRequest) -> Execution:
    return EXECUTIONS[request.param]()


class Told:
    """Outcomes in the order in which they were told."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []

    def job(self, work: Callable[[], object], **deadlines: float) -> Job:
        """Return a job over an async function."""
        deadlines.setdefault("timeout_s", 5.0)
        return Job(work, end=self.outcomes.append, **deadlines)  # type: ignore[arg-type]  # an async function


async def seven() -> int:
    return 7


async def for_ever() -> None:
    await anyio.sleep_forever()


async def test_no_jobs_are_no_work(execution: Execution) -> None:
    await execution.run_all([], limit=1)


async def test_a_value_and_an_exception_are_told(execution: Execution) -> None:
    told, error = Told(), ValueError("x")

    async def fails() -> None:
        raise error

    await execution.run_all([told.job(seven), told.job(fails)], limit=2)
    assert told.outcomes == [Finished(7), Raised(error)]


async def test_work_past_its_deadline_is_overdue(execution: Execution) -> None:
    told = Told()
    await execution.run_all([told.job(for_ever, timeout_s=0.05), told.job(seven)], limit=2)
    assert told.outcomes == [Finished(7), Overdue(0.05)]


async def test_the_next_deadline_is_kept_after_an_earlier_one(execution: Execution) -> None:
    told = Told()
    with anyio.fail_after(5):
        await execution.run_all([told.job(for_ever, timeout_s=late) for late in (0.1, 0.05, 0.15)], limit=3)
    assert told.outcomes == [Overdue(0.05), Overdue(0.1), Overdue(0.15)]


async def test_an_idle_deadline_is_restarted_and_never_passes_the_total(execution: Execution) -> None:
    told = Told()
    jobs: list[Job] = []

    async def reports() -> str:
        for _ in range(4):
            await anyio.sleep(0.05)
            restart = jobs[0].restart_idle
            if restart is not None:
                restart()
        return "done"

    jobs.append(told.job(reports, idle_s=0.12, timeout_s=2.0))
    jobs.append(told.job(for_ever, idle_s=0.1, timeout_s=2.0))
    with anyio.fail_after(5):
        await execution.run_all(jobs, limit=2)
    assert told.outcomes == [Overdue(0.1), Finished("done")]


async def test_no_more_jobs_run_than_there_are_places(execution: Execution) -> None:
    inside = highest = 0

    async def work() -> None:
        nonlocal inside, highest
        inside += 1
        highest = max(highest, inside)
        await anyio.lowlevel.checkpoint()
        inside -= 1

    told = Told()
    await execution.run_all([told.job(work) for _ in range(9)], limit=2)
    assert (highest, len(told.outcomes)) == (2, 9)


async def test_a_cancel_stops_what_runs_and_begins_nothing_more(execution: Execution) -> None:
    told = Told()
    begun: list[str] = []
    jobs = [told.job(for_ever), told.job(for_ever)]
    for name, job in zip("ab", jobs, strict=True):
        job.begin = lambda name=name: begun.append(name)
    with anyio.move_on_after(0.05):
        await execution.run_all(jobs, limit=1)
    assert begun == ["a"]
    assert told.outcomes == [Stopped()]


async def test_a_second_cancel_does_not_cut_the_grace_short(execution: Execution) -> None:
    told, cleaned = Told(), anyio.Event()

    async def cleans_up() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.1)
            cleaned.set()

    begin = time.monotonic()
    with anyio.move_on_after(0.05):
        await execution.run_all([told.job(cleans_up)], limit=1)
    assert cleaned.is_set()
    assert time.monotonic() - begin < 2.0
    assert told.outcomes == [Stopped()]


@pytest.mark.parametrize("which", ["begin", "end"])
async def test_a_callback_that_raises_is_raised_once_all_jobs_have_ended(execution: Execution, which: str) -> None:
    told = Told()

    def broken(*_: object) -> None:
        raise RuntimeError("callback")

    bad = told.job(seven)
    setattr(bad, which, broken)
    with anyio.fail_after(5), pytest.raises(RuntimeError, match="callback"):
        await execution.run_all([bad, told.job(seven)], limit=1)
    assert Finished(7) in told.outcomes
