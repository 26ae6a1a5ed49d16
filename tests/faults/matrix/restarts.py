"""Section 3: servers that restart, go away, come back, or do not.

Of each the standing channel may be given up, with a word, when its streams fail before the next call.
"""

import anyio

from hilt.core.mcp import McpLimits
from tests.faults.matrix.calls import headers_of
from tests.faults.matrix.table import expects
from tests.faults.matrix.trial import Trial, check, check_time

MANY = 50


@expects("restart-404")
async def restart_404(trial: Trial) -> None:
    """A new session, and the same call once more; with many calls at once it is one session too."""
    trial.warns = 2
    async with trial.mounted() as far:
        outcome = await far.call("add_note")
        check(not outcome.failed, f"the call failed: {outcome.text}")
        openings = far.received("initialize")
        check(len(openings) == 2, f"{len(openings)} handshakes")
        check(all("mcp-session-id" not in headers_of(record) for record in openings), "the old id came with one")
        check(len(far.received("tools/call")) == 2, f"{len(far.received('tools/call'))} sends")
        check(len(far.log("executed")) == 1, f"{len(far.log('executed'))} executions")
        check(len(far.received("tools/list")) == 1, "the tools were listed again")
    async with trial.mounted() as far:
        outcomes = await far.calls(MANY)
        failed = [outcome.text for outcome in outcomes if outcome.failed]
        check(len(outcomes) == MANY and not failed, f"{len(failed)} of many failed: {failed[:1]}")
        check(len(far.received("initialize")) == 2, f"{len(far.received('initialize'))} handshakes for many calls")


@expects("restart-404-rpc", "restart-400-rpc")
async def restart_rpc(trial: Trial) -> None:
    """It is shown once; the next call has a new session."""
    trial.warns = 1
    async with trial.mounted() as far:
        outcome = await far.call("look")
        check(outcome.failed and "session has ended" in outcome.text, f"the call gave {outcome.text!r}")
        check(len(far.received("tools/call")) == 1, "it was sent again")
        await far.works("the next call")
        check(len(far.received("initialize")) == 2, f"{len(far.received('initialize'))} handshakes")


@expects("away-and-back")
async def away_and_back(trial: Trial) -> None:
    """It is told at once that nobody is there, and found out again when somebody is."""
    trial.warns = 2
    async with trial.mounted(settings={"away": 2}) as far:
        await far.works("the first call")
        await far.until(lambda: far.log("away"), "its leave")
        outcome = await far.call("look")
        check(not far.log("back"), "it took too long to call it while it was away")
        check("unavailable after reconnect" in outcome.text, f"the call gave {outcome.text!r}")
        check_time(outcome.seconds, 0, 1, "the call")
        await far.until(lambda: far.log("back"), "its return")
        await far.until(lambda: far.server.retry_in_s == 0, "the end of the pause")
        outcome = await far.call()
        check(not outcome.failed, f"the call after its return failed: {outcome.text}")


@expects("dead-for-good")
async def dead_for_good(trial: Trial) -> None:
    """One dial for all who call; and none while the pause lasts."""
    trial.warns = 2
    limits = McpLimits(first_pause_s=20.0, pages_max=100)
    async with trial.mounted(limits=limits, connect_timeout_s=2.0) as far:
        await far.works("the first call")
        await far.until(lambda: far.log("away", "exit"), "its leave")
        await anyio.sleep(0.5)
        outcomes = await far.calls(MANY, "look")
        check(all(outcome.failed for outcome in outcomes), "a call worked")
        check_time(max(outcome.seconds for outcome in outcomes), 0, 3, "the slowest of many calls")
        check(far.dials == 2, f"{far.dials - 1} dials for many calls")
        seconds = sorted([(await far.call("look")).seconds for _ in range(MANY)])
        check_time(seconds[MANY * 9 // 10], 0, 0.05, "a call during the pause")
        check(far.dials == 2, "a call during the pause dialled")


@expects("dead-hanging")
async def dead_hanging(trial: Trial) -> None:
    """All wait for one dial, and fail with it."""
    trial.warns = 2
    async with trial.mounted(limits=McpLimits(first_pause_s=20.0, pages_max=100)) as far:
        await far.works("the first call")
        await far.until(lambda: far.log("away", "exit"), "its leave")
        await anyio.sleep(0.5)
        outcomes = await far.calls(MANY, "look")
        check(all(outcome.failed for outcome in outcomes), "a call worked")
        seconds = sorted(outcome.seconds for outcome in outcomes)
        check_time(seconds[-1], 1.9, 3, f"the slowest of many calls, which gave {outcomes[-1].text[:100]!r},")
        check(seconds[-1] - seconds[0] < 1, f"they failed one after another, from {seconds[0]:.1f} s on")
        check(far.dials <= 2, f"{far.dials - 1} dials for many calls")


@expects("changed-definition")
async def changed_definition(trial: Trial) -> None:
    """What was listed at start stays what the session has."""
    trial.warns = 1
    async with trial.mounted(connect_timeout_s=6.0) as far:
        before = [(tool.spec, tool.read_only) for tool in far.tools()]
        await far.works("the first call")
        await far.until(lambda: far.log("restart", "exit"), "its restart")
        await anyio.sleep(0.5)
        outcome = await far.call("look")
        check(not outcome.failed, f"the call after the restart failed: {outcome.text}")
        check([(tool.spec, tool.read_only) for tool in far.tools()] == before, "the tools changed")
