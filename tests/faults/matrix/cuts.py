"""Section 3: connections that break in the middle of a call, and redirects."""

import anyio

from tests.faults.matrix.calls import check_timeout, headers_of
from tests.faults.matrix.table import expects
from tests.faults.matrix.trial import Mounted, Outcome, Trial, check, check_time


def check_unknown(outcome: Outcome, far: Mounted, *, sends: int = 1) -> None:
    """Check that a call that changes something ended at once, was sent once, and its outcome is said to be unknown."""
    check(outcome.failed and "outcome is unknown" in outcome.text, f"the call gave {outcome.text!r}")
    check("nothing was sent again" in outcome.text, f"the call gave {outcome.text!r}")
    check_time(outcome.seconds, 0, 1, "the call")
    found = len(far.received("tools/call"))
    check(found == sends, f"{found} sends")


@expects("reset-after-delivery", "cut-stream", "short-body")
async def cut_after_delivery(trial: Trial) -> None:
    """What changes something is sent once; what does not, at most twice."""
    async with trial.mounted() as far:
        check_unknown(await far.call("add_note"), far)
        outcome = await far.call("add_note")
        check(not outcome.failed, f"the next call failed: {outcome.text}")
    for tool in ("look", "idem"):
        async with trial.mounted() as far:
            outcome = await far.call(tool)
            check(not outcome.failed, f"{tool} failed: {outcome.text}")
            check(len(far.received("tools/call")) == 2, f"{tool}: {len(far.received('tools/call'))} sends")
    async with trial.mounted(settings={"times": 2}) as far:
        outcome = await far.call("look")
        check("unavailable after reconnect" in outcome.text, f"cut twice, it gave {outcome.text!r}")
        check(len(far.received("tools/call")) == 2, f"cut twice: {len(far.received('tools/call'))} sends")


@expects("reset-one-of-two")
async def reset_one_of_two(trial: Trial) -> None:
    """The other call goes on."""
    async with trial.mounted() as far:
        found: list[Outcome] = []

        async def one() -> None:
            found.append(await far.call())

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            await far.until(lambda: far.received("tools/call"), "the first call")
            group.start_soon(one)
        check([outcome.failed for outcome in found].count(True) == 1, f"got {[o.text for o in found]}")


@expects("flapping")
async def flapping(trial: Trial) -> None:
    """At most two sends and one dial for each call, and none without one."""
    async with trial.mounted(connect_timeout_s=6.0) as far:
        for tool, most in (("add_note", 1), ("look", 2), ("look", 2)):
            dials, sends = far.dials, len(far.received("tools/call"))
            outcome = await far.call(tool)
            check(outcome.failed, "a call worked")
            check(len(far.received("tools/call")) - sends <= most, f"{tool}: too many sends")
            check(far.dials - dials <= 1, f"{far.dials - dials} dials")
        dials = far.dials
        await anyio.sleep(0.7)
        check(far.dials == dials, "a dial without a call")


@expects("idle-close")
async def idle_close(trial: Trial) -> None:
    """A connection that closes as the call arrives leaves the outcome unknown."""
    async with trial.mounted() as far:
        check_unknown(await far.call("add_note"), far)
    async with trial.mounted() as far:
        outcome = await far.call("look")
        check(not outcome.failed, f"look failed: {outcome.text}")
        check(len(far.received("tools/call")) == 2, f"{len(far.received('tools/call'))} sends")


@expects("cut-stream-resumable")
async def cut_stream_resumable(trial: Trial) -> None:
    """The answer is fetched where it was left, after the pause that was asked for, three times at most."""
    async with trial.mounted(idle_timeout_s=5.0, settings={"times": 1}) as far:
        outcome = await far.call("add_note")
        resumed = [record for record in far.gets() if "last-event-id" in headers_of(record)]
        check(len(far.received("tools/call")) == 1, "it was sent again")
        if trial.case.kind == "once":
            check(not outcome.failed, f"the call failed: {outcome.text}")
            check(len(resumed) == 1, f"{len(resumed)} streams after the first")
            check_time(outcome.seconds, 0.7, 2, "the call")
            return
        check(outcome.failed and "outcome is unknown" in outcome.text, f"the call gave {outcome.text!r}")
        check(len(resumed) == 3, f"{len(resumed)} streams after the first")


@expects("slow-body")
async def slow_body(trial: Trial) -> None:
    """It is too slow to be an answer."""
    async with trial.mounted() as far:
        check_timeout(await far.call())
        await far.works("the next call")


@expects("redirect-away", "redirect-loop", "redirect-to-file")
async def redirected(trial: Trial) -> None:
    """Nothing goes where it leads, and the call fails at once."""
    trial.warns = 0
    async with trial.mounted() as far:
        outcome = await far.call()
        check(outcome.failed, f"the call gave {outcome.text!r}")
        check_time(outcome.seconds, 0, 1, "the call")
        check(far.log("disturbed") == [], "something was sent to another origin")


@expects("redirect-same")
async def redirect_same(trial: Trial) -> None:
    """A redirect within the origin works."""
    trial.warns = 0
    async with trial.mounted() as far:
        outcome = await far.call("idem", {"text": "moved"})
        check(outcome.text == "the title is 'moved'", f"the call gave {outcome.text!r}")
