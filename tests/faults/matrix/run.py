"""Runs trials side by side and says of each what did not hold."""

import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Final
from zlib import crc32

import anyio

from hilt.faults.entry import Case
from hilt.faults.protocol import Era, Transport
from hilt.faults.run import running
from tests.faults.matrix.expectations import ALL
from tests.faults.matrix.farm import Farm, farm
from tests.faults.matrix.table import Expectation
from tests.faults.matrix.trial import Trial
from tests.faults.matrix.watch import TRIAL, Footprint, LogWatch, complaints, grown, left_behind, watching_logs

AT_ONCE: Final = 16
AT_ONCE_AGAIN: Final = 4
_OF_TIME: Final = (
    " took ",
    " did not come within ",
    "not ready within",
    "no connection within",
    "s late",
    " timed out ",
)
TRIAL_MAX_S: Final = 60.0
_HONEST: Final = Case(entry="honest", transport=Transport.HTTP, era=Era.HANDSHAKE)


@dataclass(frozen=True, slots=True)
class Place:
    """What the trials of a run share."""

    farm: Farm
    other_url: str
    folder: Path
    logs: LogWatch


@asynccontextmanager
async def place(folder: Path) -> AsyncIterator[Place]:
    """Start what the trials share."""
    # The honest server has a process of its own: what starves the others is no fault of the client.
    with watching_logs() as logs, running("honest", era="handshake") as other:
        async with farm() as servers:
            yield Place(servers, other.address, folder, logs)


async def run(
    cases: Iterable[Case],
    folder: Path,
    *,
    known: Sequence[str] = (),
    at_once: int = AT_ONCE,
    expectation: Expectation | None = None,
) -> list[str]:
    """Run the cases and return one line for each thing that does not hold.

    `known` are patterns of cases that are known to fail: one that passes is a line too. `expectation` stands in for
    those of the table.
    """
    found: list[str] = []
    late: list[tuple[int, Case]] = []
    async with place(folder) as shared:
        limiter = anyio.CapacityLimiter(at_once)
        # What is made once in a process is made now.
        await _tried(Trial(_HONEST, "warm", folder, shared.farm, shared.other_url), ALL["honest"], shared)
        shared.logs.lines.clear()
        before = Footprint.now()

        async def one(number: int, case: Case, *, last: bool) -> None:
            async with limiter:
                # The name differs, so that nothing of the first try counts for the second.
                name = f"{'d' if last else 'c'}{number:03}"
                trial = Trial(case, name, folder, shared.farm, shared.other_url)
                problems = await _tried(trial, expectation or ALL[case.entry], shared)
            expected = [pattern for pattern in known if fnmatchcase(case.id, pattern)]
            if expected and not problems:
                found.append(f"{case.id}: it is well now, take {expected[0]!r} out of KNOWN")
            elif not expected and not last and all(map(_is_of_time, problems)):
                late.extend([(number, case)] * bool(problems))
            elif not expected:
                found.extend(f"{case.id}: {problem}" for problem in problems)

        async with anyio.create_task_group() as group:
            # In an order without order, so that not all that start processes do so together.
            for number, case in enumerate(sorted(cases, key=lambda case: crc32(case.id.encode()))):
                group.start_soon(partial(one, number, case, last=False))
        # A bound of time is tried once more, with few others: a machine is busy now and then. Nothing else is.
        limiter = anyio.CapacityLimiter(min(at_once, AT_ONCE_AGAIN, len(late)) or 1)
        async with anyio.create_task_group() as group:
            for number, case in late:
                group.start_soon(partial(one, number, case, last=True))
        found += [f"after all of them: {line}" for line in await grown(before)]
        found += [
            f"of no entry: {line.text[:300]}"
            for line in shared.logs.lines.get("", ())
            if line.level >= logging.WARNING or line.has_traceback
        ]
    return found


async def _tried(trial: Trial, expectation: Expectation, shared: Place) -> list[str]:
    token = TRIAL.set(trial.name)
    try:
        with anyio.fail_after(TRIAL_MAX_S):
            await expectation(trial)
    except TimeoutError:
        trial.problems.append(f"it was not over after {TRIAL_MAX_S:g} s")
    except Exception as exc:
        # Whatever breaks breaks this case, and the others are still to be seen.
        trial.problems += [_shown(error) for error in _leaves(exc)]
    finally:
        TRIAL.reset(token)
    trial.problems += [f"clean: {line}" for line in await left_behind(trial.name, trial.ports)]
    lines = shared.logs.lines.get(trial.name, [])
    trial.problems += [f"quiet: {line}" for line in complaints(lines, warns=trial.warns, secret=trial.secret)]
    return trial.problems


def _is_of_time(problem: str) -> bool:
    """Whether a bound of time is all that did not hold, or follows from one that did not."""
    return any(word in problem for word in _OF_TIME)


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for each in error.exceptions for leaf in _leaves(each)]
    return [error]


def _shown(error: BaseException) -> str:
    if isinstance(error, AssertionError):
        return str(error)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    return f"{error!r}{where}"
