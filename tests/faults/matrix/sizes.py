"""Section 3: answers that are very large. These run one after another, because memory is measured."""

from typing import Final

import anyio

from hilt.core.content import ImagePart
from hilt.core.mcp import McpLimits
from tests.faults.matrix.table import expects
from tests.faults.matrix.trial import Outcome, Trial, check, check_time
from tests.faults.matrix.weight import MIB, Peak

GROWTH: Final = {
    "huge-text": 5 * 19.1,
    "huge-base64": 5 * 32,
    "huge-json": 12 * 19.1,
    "over-limit": 200.0,
    "gzip-bomb": 200.0,
}


@expects("huge-text", "huge-json", "huge-base64", "over-limit", "gzip-bomb")
async def huge(trial: Trial) -> None:
    """It is cut, outlined, noted or refused in time, without much memory, and nobody else waits."""
    entry = trial.case.entry
    async with trial.mounted(
        limits=McpLimits(first_pause_s=0.2),
        connect_timeout_s=10.0,
        idle_timeout_s=30.0,
        call_timeout_s=30.0,
        settings={"times": 1},
    ) as far:
        done, waited = anyio.Event(), 0.0

        async def others() -> None:
            nonlocal waited
            waited = await far.longest_wait_of_others(done)

        peak = Peak()
        async with anyio.create_task_group() as group:
            group.start_soon(others)
            outcome = await far.call()
            done.set()
        growth = peak.growth / MIB
        _check_shown(entry, outcome)
        check_time(outcome.seconds, 0, 20, "the call")
        check(growth < GROWTH[entry], f"memory grew by {growth:.0f} MiB, not {GROWTH[entry]:.0f}")
        if entry.startswith("huge"):
            check_time(waited, 0, 0.5, "the longest call to another server")


def _check_shown(entry: str, outcome: Outcome) -> None:
    shown = f"the call gave {outcome.text[:300]!r}"
    match entry:
        case "huge-text":
            check(not outcome.failed and len(outcome.text) < 30_000 and "ReadResult" in outcome.text, shown)
        case "huge-json":
            check(outcome.failed and "rows" in outcome.text and len(outcome.text) < 30_000, shown)
        case "huge-base64":
            check("image" in outcome.text and "too large" in outcome.text, shown)
            check(not any(isinstance(part, ImagePart) for part in outcome.result.parts), "the image is there")
        case "over-limit":
            check(outcome.failed and "longer than" in outcome.text, shown)
        case _:
            check(outcome.failed and ("compressed" in outcome.text or "longer than" in outcome.text), shown)
