"""Section 3: calls that are not answered, answered late, or answered with a failure."""

from collections.abc import Mapping

import anyio

from tests.faults.matrix.table import expects
from tests.faults.matrix.trial import Mounted, Outcome, Trial, check, check_time


def check_timeout(outcome: Outcome, least: float = 2, most: float = 3) -> None:
    """Check that a call ended at its deadline."""
    check(outcome.failed and "timeout" in outcome.text, f"it is no timeout: {outcome.text[:300]!r}")
    check_time(outcome.seconds, least, most, "the call")


async def check_cancel_told(far: Mounted) -> None:
    """Check that the server was told that nobody waits any more."""
    if far.trial.stateless_http:
        await far.until(lambda: far.log("gone"), "the end of the stream", within_s=1)
    else:
        await far.until(lambda: far.received("notifications/cancelled"), "the cancellation", within_s=1)


@expects("hang-call", "drip-comments", "drip-progress")
async def no_answer(trial: Trial) -> None:
    """The call ends at its deadline, and the server is told."""
    async with trial.mounted(connect_timeout_s=6.0, settings={"times": 1}) as far:
        check_timeout(await far.call(), *((6, 7) if trial.case.kind == "rising" else (2, 3)))
        await check_cancel_told(far)
        await far.works("the next call")


@expects("deaf-to-cancel")
async def deaf_to_cancel(trial: Trial) -> None:
    """Whoever cancels is free at once, and the late answer reaches nobody."""
    trial.warns = 0
    async with trial.mounted(connect_timeout_s=6.0, settings={"delay": 1.5}) as far:
        with anyio.move_on_after(0.5) as scope:
            await far.call()
        check(scope.cancelled_caught, "the call ended before it was cancelled")
        check_time(anyio.current_time() - scope.deadline, 0, 1, "the end of the cancelled call")
        if not trial.stateless_http:
            # There a deaf server does not see that its stream was closed.
            await check_cancel_told(far)
        outcome = await far.call("idem", {"text": "mine"})
        check(outcome.text == "the title is 'mine'", f"the next call got {outcome.text!r}")
        await far.until(lambda: len(far.log("executed")) == 2, "the late answer")
        outcome = await far.call("idem", {"text": "mine too"})
        check(outcome.text == "the title is 'mine too'", f"the call after that got {outcome.text!r}")


@expects("hang-on-cancelled")
async def hang_on_cancelled(trial: Trial) -> None:
    """The next call does not wait for the cancellation to arrive."""
    async with trial.mounted() as far:
        check_timeout(await far.call())
        outcome = await far.call()
        check(not outcome.failed, f"the next call failed: {outcome.text}")
        check_time(outcome.seconds, 0, 1, "the next call")


@expects("wrong-ids")
async def wrong_ids(trial: Trial) -> None:
    """An answer counts for the request with its id, and for no other."""
    trial.warns = 1
    async with trial.mounted(connect_timeout_s=6.0) as far:
        if trial.case.kind == "swapped":
            found: dict[str, str] = {}

            async def one(text: str) -> None:
                found[text] = (await far.call("idem", {"text": text})).text

            async with anyio.create_task_group() as group:
                for text in ("first", "second"):
                    group.start_soon(one, text)
            check(found == {text: f"the title is {text!r}" for text in ("first", "second")}, f"got {found}")
        elif trial.case.kind == "twice":
            check((await far.call("idem", {"text": "a"})).text == "the title is 'a'", "another answer")
        else:
            check_timeout(await far.call())
        check((await far.call("idem", {"text": "b"})).text == "the title is 'b'", "the next got another answer")


def _openings(far: Mounted) -> int:
    return len(far.received("initialize")) + len(far.received("server/discover"))


@expects("declared", "mimic")
async def declared(trial: Trial) -> None:
    """It is shown once, nothing is sent again, and the session stays."""
    trial.warns = 0
    async with trial.mounted(connect_timeout_s=6.0) as far:
        before = _openings(far)
        outcome = await far.call("look")
        check(outcome.failed, "it did not fail")
        check_time(outcome.seconds, 0, 1, "the call")
        shown = trial.case.kind if trial.case.kind.isdigit() else "error -32"
        check(shown in outcome.text, f"the answer does not say {shown!r}: {outcome.text!r}")
        check(len(far.received("tools/call")) == 1, f"{len(far.received('tools/call'))} sends")
        await far.works("the next call")
        check(_openings(far) == before and far.dials == 1, "there was another handshake")


def headers_of(record: Mapping[str, object]) -> Mapping[str, object]:
    """Return the headers of a received message."""
    found = record.get("headers")
    return found if isinstance(found, Mapping) else {}
