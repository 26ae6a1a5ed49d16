"""Section 4: notices, and requests to the client."""

import time
from collections.abc import Mapping

import anyio

from tests.faults.matrix.table import expects
from tests.faults.matrix.trial import CI_FACTOR, Trial, check, check_time


@expects("list-changed-storm")
async def list_changed_storm(trial: Trial) -> None:
    """Notices cause no request; each new session asks once at most."""
    trial.warns = 1
    async with trial.mounted(connect_timeout_s=10.0) as far:
        await far.until(lambda: far.log("storm"), "the storm", within_s=20)
        await far.works("a call")
        check(len(far.received("tools/list")) == 1, f"{len(far.received('tools/list'))} lists during the storm")
        await far.until(lambda: far.server.listing_due, "a notice", within_s=10)
        before = len(far.received("tools/list"))
        await far.server.fresh_listing()
        lists = len(far.received("tools/list")) - before
        check(lists == 1, f"{lists} lists for a new session")


@expects("list-changed-on-list")
async def list_changed_on_list(trial: Trial) -> None:
    """One list for each new session, and no loop."""
    trial.warns = 0
    async with trial.mounted(connect_timeout_s=6.0) as far:
        lists = len(far.received("tools/list"))
        check(lists == 1, f"{lists} lists at start")
        for session in (1, 2):
            await far.server.fresh_listing()
            found = len(far.received("tools/list")) - lists
            check(found <= session, f"{found} lists for {session} new sessions, {far.dials} dials")
        found = len(far.received("tools/list"))
        await anyio.sleep(0.5)
        check(len(far.received("tools/list")) == found, "a list without a session")
        await far.works("a call")


@expects("get-hostile")
async def get_hostile(trial: Trial) -> None:
    """Three tries, one word, and calls go on."""
    trial.warns = 1
    async with trial.mounted(connect_timeout_s=6.0) as far:

        def tries() -> int:
            return len(far.gets()) + len(far.received("subscriptions/listen"))

        await far.until(lambda: tries() >= 3, "three tries", within_s=10)
        await anyio.sleep(1)
        check(tries() == 3, f"{tries()} tries")
        await far.works("a call")


@expects("get-405")
async def get_405(trial: Trial) -> None:
    """It is asked once, and nothing is said."""
    trial.warns = 0
    async with trial.mounted() as far:
        await far.until(far.gets, "the one try")
        await far.works("a call")
        await anyio.sleep(0.7)
        check(len(far.gets()) == 1, f"{len(far.gets())} tries")


@expects("asking")
async def asking(trial: Trial) -> None:
    """Each request is answered as it is due, and the call is not held up."""
    trial.warns = 0
    async with trial.mounted(connect_timeout_s=6.0) as far:
        outcome = await far.call("idem", {"text": "mine"})
        arrived = time.time()
        check(outcome.text == "the title is 'mine'", f"the call gave {outcome.text!r}")
        sent = far.log("sent")[-1]["time"]
        check(arrived - float(str(sent)) < 1 * CI_FACTOR, f"the answer came {arrived - float(str(sent)):.2f} s late")
        if trial.case.kind in ("logs", "progress"):
            return
        await far.until(lambda: len(_answers(far.log("received"))) >= 64, "the answers")
        answers = _answers(far.log("received"))
        for answer in answers:
            check(_is_due(trial, answer), f"it was answered with {answer}")
        ids = [repr(answer.get("id")) for answer in answers]
        check(len(ids) == len(set(ids)), "a request was answered twice")


def _answers(records: list[dict[str, object]]) -> list[Mapping[str, object]]:
    messages = [record.get("message") for record in records]
    return [m for m in messages if isinstance(m, dict) and "method" not in m and ("result" in m or "error" in m)]


def _is_due(trial: Trial, answer: Mapping[str, object]) -> bool:
    result, error = answer.get("result"), answer.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    match trial.case.kind:
        case "pings":
            return result == {}
        case "elicitations":
            return result == {"action": "decline"} or code == -32601
        case "roots" if trial.stdio:
            return isinstance(result, dict) and len(result.get("roots", ())) == 1
        case _:
            return code == -32601


CALLS = 50


@expects("random-messages")
async def random_messages(trial: Trial) -> None:
    """Every call has a result in time, and nothing breaks."""
    async with trial.mounted(connect_timeout_s=6.0, settings={"seed": trial.name.removeprefix("c")}) as far:
        for number in range(CALLS):
            began = anyio.current_time()
            outcome = await far.call("look" if number % 2 else "echo")
            check_time(anyio.current_time() - began, 0, 5, f"call {number}, which gave {outcome.text[:80]!r},")
