"""Sections 1 and 2: the honest server, and those that go wrong before a call."""

from hilt.core.mcp import McpLimits
from tests.faults.matrix.table import expects
from tests.faults.matrix.trial import CI_FACTOR, Mounted, Trial, check, check_time

ALL_TOOLS = ["echo", "add_note", "look", "idem", "slow"]


def names(mounted: Mounted) -> list[str]:
    """Return the names of the entry's tools."""
    return [tool.name_on_server for tool in mounted.tools()]


def check_failed(mounted: Mounted, least: float, most: float, *words: str) -> None:
    """Check that the server failed at start, when, and with these words in the cause."""
    check(mounted.report.state == "failed", f"the server is {mounted.report.state}")
    check_time(mounted.settled_s, least, most, "failing at start")
    cause = mounted.report.cause
    check(cause, "the failure has no cause")
    for word in words:
        check(word in cause, f"the cause does not say {word!r}: {cause!r}")


@expects("honest")
async def honest(trial: Trial) -> None:
    """Everything works, and nothing is said."""
    trial.warns = 0
    async with trial.mounted(lists=("resources", "prompts")) as far:
        check(names(far) == ALL_TOOLS, f"its tools are {names(far)}: {far.report.cause}")
        for tool in ("echo", "add_note", "look", "idem"):
            outcome = await far.call(tool)
            check(not outcome.failed, f"{tool} failed: {outcome.text}")
        check(far.report.facts.era == trial.case.era, f"the era is {far.report.facts.era}")


@expects("hang-initialize", "drip-initialize", "hang-list")
async def hangs_at_start(trial: Trial) -> None:
    """Only this server fails, when its time is over."""
    trial.warns = 1
    async with trial.mounted() as far:
        check_failed(far, 2, 3)
        check_time(far.other_s, 0, 1, "a fast server's first call")


@expects("slow-start")
async def slow_start(trial: Trial) -> None:
    """It is waited for, and the quick one is not held up."""
    trial.warns = 0
    async with trial.mounted(wait=False) as far:
        check_time(far.other_s, 0, 0.5, "a fast server's first call")
        await far.until(lambda: far.server.state != "connecting", "an end of the start")
        check(far.server.state == "ready", f"it is {far.server.state}: {far.server.cause}")
        await far.works("a call")


@expects("refuse")
async def refuse(trial: Trial) -> None:
    """One dial, at once over."""
    trial.warns = 1
    async with trial.mounted(limits=McpLimits(first_pause_s=5.0)) as far:
        check_failed(far, 0, 1, "connect")
        check(far.dials == 1, f"{far.dials} dials")


@expects("exit-at-start")
async def exit_at_start(trial: Trial) -> None:
    """Exit code and last words are told."""
    trial.warns = 1
    async with trial.mounted() as far:
        check_failed(far, 0, 2, "3", "no licence file")


@expects("exit-after-initialize")
async def exit_after_initialize(trial: Trial) -> None:
    """At most one second start until it has failed."""
    trial.warns = 1
    async with trial.mounted() as far:
        starts = len(far.log("start"))
        check_failed(far, 0, 2)
        check(starts <= 2, f"{starts} starts")


ODD_WORDS = {
    "html": ("text/html",),
    "empty": (),
    "half": ("is no MCP message",),
    "no-message": ("hello",),
    "future": ("2099-01-01",),
    "session-control": ("session id",),
    "session-long": ("session id",),
}


@expects("odd-answer")
async def odd_answer(trial: Trial) -> None:
    """What came is named at once."""
    trial.warns = 1
    words = ODD_WORDS[trial.case.kind] if trial.case.era == "handshake" else ()
    async with trial.mounted() as far:
        check_failed(far, 0, 1, *words)


@expects("sse-no-endpoint")
async def sse_no_endpoint(trial: Trial) -> None:
    """It is waited for until its time is over."""
    trial.warns = 1
    async with trial.mounted() as far:
        check_failed(far, 2, 3)


@expects("sse-far-endpoint")
async def sse_far_endpoint(trial: Trial) -> None:
    """Another origin gets nothing."""
    trial.warns = 1
    async with trial.mounted() as far:
        check_failed(far, 0, 1, "endpoint")
        check(far.log("disturbed") == [], "something was sent to another origin")


@expects("sse-post-fails")
async def sse_post_fails(trial: Trial) -> None:
    """Each call fails at once."""
    async with trial.mounted() as far:
        for tool in ("echo", "look"):
            outcome = await far.call(tool)
            check(outcome.failed, f"{tool} did not fail")
            check_time(outcome.seconds, 0, 1, "failing")


@expects("probe-503")
async def probe_503(trial: Trial) -> None:
    """A busy server is no old server."""
    trial.warns = 1
    async with trial.mounted() as far:
        check(far.settled_s < 2 * CI_FACTOR, "the first dial was slow")
        await far.until(lambda: far.server.state == "ready", "a second dial that works")
        check(far.dials == 2, f"{far.dials} dials")
        check(far.report.facts.era == "stateless", f"the era is {far.report.facts.era}")
        await far.works("a call")


@expects("probe-hang", "probe-exit")
async def probe_lost(trial: Trial) -> None:
    """The handshake is tried."""
    trial.warns = 0
    async with trial.mounted() as far:
        check(far.server.state == "ready", f"it is {far.server.state}: {far.server.cause}")
        check_time(far.settled_s, 0, 2, "connecting")
        check(far.report.facts.era == "handshake", f"the era is {far.report.facts.era}")
        await far.works("a call")


@expects("era-change")
async def era_change(trial: Trial) -> None:
    """After the restart the next call works, by one fresh probe."""
    trial.warns = 1
    async with trial.mounted(connect_timeout_s=6.0) as far:
        await far.works("the first call")
        if trial.stdio:
            await far.until(lambda: far.log("exit"), "its exit")
        else:
            await far.until(lambda: far.log("restart"), "its restart")
        probes = len(far.received("server/discover"))
        outcome = await far.call("look")
        if trial.stateless_http:
            # The refusal of a handshake server is an answer: it is shown, and the call after it works.
            check("the next call opens a new one" in outcome.text, f"the call after the restart gave {outcome.text!r}")
            outcome = await far.call("look")
        check(not outcome.failed, f"the call after the restart failed: {outcome.text}")
        fresh = len(far.received("server/discover")) - probes
        # Where the remembered era is the stateless one, it is asked for by the same request.
        check(fresh <= (1 if trial.case.era == "handshake" else 2), f"{fresh} probes after the restart")
        check(fresh >= 1, "the era was not probed again")
