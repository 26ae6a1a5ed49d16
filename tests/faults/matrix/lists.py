"""Section 2: lists that are false or endless."""

import time

import anyio

from hilt.core.dialect_table import PROFILES
from hilt.core.dialect_tool import fit
from hilt.core.tool import ToolSpec
from tests.faults.matrix.at_start import ALL_TOOLS, names
from tests.faults.matrix.table import expects
from tests.faults.matrix.trial import Trial, check, check_time
from tests.faults.matrix.weight import MIB, Peak


@expects("lying-capabilities")
async def lying_capabilities(trial: Trial) -> None:
    """What is not there is empty, without a word."""
    trial.warns = 0
    async with trial.mounted(lists=("resources", "prompts")) as far:
        check(names(far) == ALL_TOOLS, f"its tools are {names(far)}: {far.report.cause}")
        check(await far.server.lists.resources.value() == (), "it has resources")
        check(await far.server.lists.prompts.value() == (), "it has prompts")
        await far.works("a call")


@expects("bad-tool")
async def bad_tool(trial: Trial) -> None:
    """A bad tool costs itself."""
    good = 16 if trial.stateless_http else 17
    async with trial.mounted() as far:
        check(len(names(far)) == good, f"{len(names(far))} tools instead of {good}: {far.report.cause}")
        withheld = far.report.withheld
        check(len(withheld) == 20 - good, f"withheld: {withheld}")
        check(all(tool.reason for tool in withheld), "a tool is withheld without a reason")
        await far.works("a call")


TOOLS_OF_PAGES = {"endless-pages": 105, "stuck-cursor": 7, "empty-cursor": 7}
REQUESTS_OF_PAGES = {"endless-pages": 100, "stuck-cursor": 2, "empty-cursor": 2}


@expects("endless-pages", "stuck-cursor", "empty-cursor")
async def pages(trial: Trial) -> None:
    """Every tool that came is there once."""
    trial.warns = 0 if trial.case.entry == "empty-cursor" else 1
    async with trial.mounted(connect_timeout_s=10.0) as far:
        found = names(far)
        check(len(found) == len(set(found)) == TOOLS_OF_PAGES[trial.case.entry], f"{len(found)} tools: {far.report}")
        requests = len(far.received("tools/list"))
        check(requests == REQUESTS_OF_PAGES[trial.case.entry], f"{requests} requests")
        await far.works("a call")


@expects("schema-bomb")
async def schema_bomb(trial: Trial) -> None:
    """The list is ready at once, and nothing outside is asked."""
    async with trial.mounted() as far:
        check(far.server.state == "ready", f"it is {far.server.state}: {far.server.cause}")
        check_time(far.settled_s, 0, 1.5 if trial.stdio else 1, "the list")
        check(set(ALL_TOOLS) <= set(names(far)), f"its tools are {names(far)}")
        await far.works("a call")
        for tool in ("contains_itself", "grows", "elsewhere"):
            if tool in names(far):
                await far.call(tool, {"a": "x"})
        for listed in far.tools():
            check_fits(listed.spec)
        check(far.log("disturbed") == [], "something outside was asked")


def check_fits(spec: ToolSpec) -> None:
    """Check that every provider gets a form of the tool that is small and soon made."""
    for profile in PROFILES:
        began = time.process_time()
        sent = fit(spec, profile).spec
        check_time(time.process_time() - began, 0, 0.1, f"{spec.name} for {profile}")
        most = 20_000 if spec.name.endswith("__contains_itself") else 64 * 1024
        size = 0 if sent is None else len(sent.schema_json)
        check(size <= most, f"{spec.name} is sent with {size} bytes to {profile}")


@expects("big-list")
async def big_list(trial: Trial) -> None:
    """A part of it is kept, with a word, and nobody waits."""
    trial.warns = 1
    peak = Peak()
    async with trial.mounted(wait=False, connect_timeout_s=20.0) as far:
        done, waited = anyio.Event(), 0.0

        async def others() -> None:
            nonlocal waited
            waited = await far.longest_wait_of_others(done)

        async with anyio.create_task_group() as group:
            group.start_soon(others)
            await far.until(lambda: far.server.state != "connecting", "an end of the start", within_s=20)
            done.set()
        check(len(names(far)) == 10_000, f"{len(names(far))} tools: {far.report.state} {far.report.cause}")
        check_time(waited, 0, 1, "the longest call to another server")
        check(peak.growth < 300 * MIB, f"memory grew by {peak.growth / MIB:.0f} MiB")
