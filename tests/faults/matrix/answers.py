"""Section 3: answers that are odd, false, or want something."""

import anyio

from hilt.core.content import ImagePart
from tests.faults.matrix.table import expects
from tests.faults.matrix.trial import Trial, check, check_time

ALMOST = "a" * 40 + "!"


@expects("odd-json")
async def odd_json(trial: Trial) -> None:
    """There is an answer or an error at once, and no crash."""
    async with trial.mounted(connect_timeout_s=6.0) as far:
        outcome = await far.call()
        check_time(outcome.seconds, 0, 1, "the call")
        if trial.case.kind == "utf8":
            check("broken" in outcome.text, f"the call gave {outcome.text[:200]!r}")
        if trial.case.kind == "surrogates":
            check("lone" in outcome.text, f"the call gave {outcome.text[:200]!r}")
            outcome.text.encode("utf-8")


@expects("odd-blocks")
async def odd_blocks(trial: Trial) -> None:
    """The good blocks arrive, each other one is a line."""
    trial.warns = 0
    kind = trial.case.kind
    async with trial.mounted(connect_timeout_s=6.0) as far:
        outcome = await far.call()
        lines = outcome.text.splitlines()
        check(not outcome.failed, f"the call failed: {outcome.text}")
        if kind in ("unknown", "base64", "missing", "all"):
            check("the good block" in lines, f"the good block is not there: {lines}")
            bad = sum("left out" in line for line in lines)
            due = {"unknown": 1, "base64": 1, "missing": 7, "all": 4}[kind]
            check(bad == due, f"{bad} lines for {due} bad blocks: {lines}")
        if kind in ("image", "all"):
            check(any(isinstance(part, ImagePart) for part in outcome.result.parts), "the image is not there")
        if kind == "nothing":
            check("no content" in outcome.text, f"nothing gave {outcome.text!r}")


@expects("schema-lie")
async def schema_lie(trial: Trial) -> None:
    """A broken promise is noted; an error arrives with what it has."""
    trial.warns = 0
    async with trial.mounted(connect_timeout_s=6.0, settings={"times": 1}) as far:
        outcome = await far.call(own_error=trial.case.kind == "error")
        if trial.case.kind == "lie":
            check(not outcome.failed and "a number" in outcome.text, f"the call gave {outcome.text!r}")
            check(outcome.text.count("[note: ") == 1, f"the call gave {outcome.text!r}")
        else:
            check(outcome.failed and "the disk is full" in outcome.text, f"the call gave {outcome.text!r}")
            check('"free"' in outcome.text, f"the data are not there: {outcome.text!r}")


@expects("links-everywhere")
async def links_everywhere(trial: Trial) -> None:
    """Nobody follows a link by itself."""
    async with trial.mounted(connect_timeout_s=6.0, lists=("resources", "prompts")) as far:
        for tool in ("echo", "look"):
            await far.call(tool)
        await far.server.lists.resources.value()
        check(far.log("disturbed") == [], f"a link was followed: {far.log('disturbed')[:1]}")


@expects("input-forever")
async def input_forever(trial: Trial) -> None:
    """Ten rounds are enough."""
    # Each round is one call for the server; the call after those of ours is answered.
    async with trial.mounted(connect_timeout_s=6.0, settings={"times": 11}) as far:
        outcome = await far.call("look")
        check(outcome.failed, f"the call gave {outcome.text!r}")
        rounds = len(far.received("tools/call"))
        check(rounds == 11, f"{rounds} rounds, then {outcome.text!r}")


@expects("bad-pattern")
async def bad_pattern(trial: Trial) -> None:
    """A call is decided at once, and nobody else waits for a pattern."""
    async with trial.mounted(connect_timeout_s=6.0) as far:
        done, waited = anyio.Event(), 0.0

        async def others() -> None:
            nonlocal waited
            waited = await far.longest_wait_of_others(done)

        async with anyio.create_task_group() as group:
            group.start_soon(others)
            for text in (ALMOST, "aaa"):
                outcome = await far.call("match", {"text": text})
                check_time(outcome.seconds, 0, 1, "the call")
            done.set()
        check_time(waited, 0, 0.1, "the longest call to another server")
