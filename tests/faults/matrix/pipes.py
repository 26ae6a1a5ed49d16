"""Section 5: standard input and output."""

import os

import anyio

from hilt.core.tool import ToolCall
from hilt.ports.tool import Environment
from tests.faults.matrix.calls import check_timeout
from tests.faults.matrix.table import expects
from tests.faults.matrix.trial import Mounted, Trial, check, check_time
from tests.faults.matrix.watch import processes
from tests.faults.matrix.weight import MIB, Peak


@expects("noise")
async def noise(trial: Trial) -> None:
    """Calls work; one word is said of it."""
    trial.warns = 1
    async with trial.mounted(connect_timeout_s=6.0) as far:
        for text in ("one", "two", "three"):
            outcome = await far.call("idem", {"text": text})
            check(outcome.text == f"the title is {text!r}", f"the call gave {outcome.text!r}")
        check(len(far.log("start")) == 1, f"{len(far.log('start'))} starts")


@expects("stderr-flood")
async def stderr_flood(trial: Trial) -> None:
    """It is read away, and answers come."""
    trial.warns = 0
    async with trial.mounted(connect_timeout_s=6.0, idle_timeout_s=6.0) as far:
        peak = Peak()
        for text in ("one", "two", "three"):
            outcome = await far.call("idem", {"text": text})
            check(outcome.text == f"the title is {text!r}", f"the call gave {outcome.text!r}")
            check_time(outcome.seconds, 0, 3, "the call")
        check(peak.growth < 8 * MIB, f"memory grew by {peak.growth / MIB:.0f} MiB with 30 MB of noise")


LENGTHS = {"letters": 70_000, "line": 8 << 20}


@expects("long-line")
async def long_line(trial: Trial) -> None:
    """It is read whole."""
    trial.warns = 0
    async with trial.mounted(connect_timeout_s=6.0, idle_timeout_s=10.0) as far:
        result = await far.tool("echo").execute(ToolCall("1", "echo", arguments={"text": "x"}), Environment())
        check(not result.is_error, f"the call failed: {result.content[:200]}")
        check(len(result.content) == LENGTHS[trial.case.kind], f"{len(result.content)} letters")


@expects("exit-mid-call")
async def exit_mid_call(trial: Trial) -> None:
    """Exit code and last words are told at once, and the next call starts it again, once."""
    async with trial.mounted(connect_timeout_s=6.0) as far:
        outcome = await far.call("add_note")
        check(outcome.failed, "the call worked")
        check_time(outcome.seconds, 0, 1, "the call")
        for word in ("7", "out of disk"):
            check(word in outcome.text, f"the call does not say {word!r}: {outcome.text!r}")
        await far.works("the next call")
        check(len(far.log("start")) == 2, f"{len(far.log('start'))} starts")


@expects("crash-loop")
async def crash_loop(trial: Trial) -> None:
    """One start for each call, none without one."""
    async with trial.mounted(connect_timeout_s=6.0) as far:
        for tool in ("add_note", "look", "look"):
            starts = len(far.log("start"))
            outcome = await far.call(tool)
            check(outcome.failed, "a call worked")
            check(len(far.log("start")) - starts <= 1, f"{len(far.log('start')) - starts} starts for one call")
        starts = len(far.log("start"))
        await anyio.sleep(1)
        check(len(far.log("start")) == starts, "a start without a call")


def _family(far: Mounted) -> list[int]:
    return [int(str(record["pid"])) for record in far.log("child")]


def _alive(pids: list[int]) -> list[int]:
    found = []
    for pid in pids:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            continue
        found.append(pid)
    return found


@expects("grandchildren")
async def grandchildren(trial: Trial) -> None:
    """None of them is left, whichever way it ends."""
    async with trial.mounted(connect_timeout_s=6.0, settings={"life": 60}) as far:
        far.close_most_s = 10.0
        await far.until(lambda: len(_family(far)) == 4, "the family", within_s=10)
        first = _family(far)
        outcome = await far.call("add_note")
        check(outcome.failed == (trial.case.kind == "exits"), f"the call gave {outcome.text!r}")
        if trial.case.kind == "exits":
            await far.until(lambda: not _alive(first), "the end of the family", within_s=10)
            check((await far.call()).failed, "the call after the restart worked")
            check(len(far.log("start")) == 2, f"{len(far.log('start'))} starts")
        last = _family(far)
    await far.until(lambda: not _alive(last) and not processes(trial.name), "the end of all", within_s=10)


@expects("closed-stdout")
async def closed_stdout(trial: Trial) -> None:
    """Open calls fail at once."""
    async with trial.mounted(connect_timeout_s=6.0) as far:
        outcome = await far.call("add_note")
        check(outcome.failed, "the call worked")
        check_time(outcome.seconds, 0, 1, "the call")
        outcome = await far.call()
        check(outcome.failed or outcome.text, "the next call said nothing")


@expects("not-reading")
async def not_reading(trial: Trial) -> None:
    """The call that it does not read ends at its deadline."""
    async with trial.mounted(connect_timeout_s=6.0) as far:
        await far.works("the first call")
        check_timeout(await far.call("echo", {"text": "x" * 1_000_000}))
