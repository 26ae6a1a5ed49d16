"""Section 6: closing while something is under way. These stand beside the table, for entries that are in it."""

import anyio

from tests.faults.matrix.table import Expectation
from tests.faults.matrix.trial import Mounted, Outcome, Trial, check, check_time


async def close_in_a_call(trial: Trial) -> None:
    """The open call has a result."""
    async with trial.mounted(connect_timeout_s=6.0, idle_timeout_s=60.0, call_timeout_s=60.0) as far:
        found: list[Outcome] = []

        async def calling() -> None:
            found.append(await far.call_until_closed("add_note"))

        async with anyio.create_task_group() as group:
            group.start_soon(calling)
            await far.until(lambda: far.received("tools/call"), "the call")
            await _closed(far)
        check(len(found) == 1 and found[0].failed, f"the open call gave {[outcome.text for outcome in found]}")


async def close_in_a_dial(trial: Trial) -> None:
    """A dial does not hold it up."""
    async with trial.mounted(connect_timeout_s=30.0, wait=False) as far:
        await far.until(lambda: far.received("server/discover") or far.received("initialize"), "the dial")
        await _closed(far)


async def close_in_a_refresh(trial: Trial) -> None:
    """Neither does a list that is read again."""
    async with trial.mounted(connect_timeout_s=30.0, settings={"after": 1}) as far:
        await far.until(lambda: far.server.listing_due, "the notice of a change")
        async with anyio.create_task_group() as group:
            group.start_soon(far.server.fresh_listing)
            await far.until(lambda: len(far.received("tools/list")) == 2, "the second list")
            await _closed(far)


async def _closed(far: Mounted) -> None:
    """Close from a task other than the one that opened."""
    began = anyio.current_time()
    async with anyio.create_task_group() as group:
        group.start_soon(far.close)
    check_time(anyio.current_time() - began, 0, 6, "the close")


WHILE_CLOSING: dict[str, Expectation] = {
    "hang-call": close_in_a_call,
    "hang-initialize": close_in_a_dial,
    "hang-list": close_in_a_refresh,
}


async def closing(trial: Trial) -> None:
    """Close while what the entry hangs in is under way."""
    await WHILE_CLOSING[trial.case.entry](trial)
