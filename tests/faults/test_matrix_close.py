"""Closing while something is under way, and starts that cannot be."""

import gc
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from hilt.adapters.mcp_dialer import SdkDialer
from hilt.core.mcp import McpServerSpec
from hilt.faults.entry import Case
from hilt.faults.table import cases
from hilt.mcp.background import background_tasks
from hilt.mcp.manager import McpManager
from hilt.ports.mcp import McpFault
from tests.faults.matrix.leaving import WHILE_CLOSING
from tests.faults.matrix.rounds import Rounds, mix
from tests.faults.matrix.run import report, run
from tests.faults.matrix.trial import Trial

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(sys.platform != "linux", reason="what is left behind is looked up in /proc"),
]


@pytest.mark.req("FLT-68")
async def test_closing_waits_for_no_call_no_dial_and_no_list(tmp_path: Path) -> None:
    async def closing(trial: Trial) -> None:
        await WHILE_CLOSING[trial.case.entry](trial)

    chosen: list[Case] = [case for case in cases() if case.entry in WHILE_CLOSING]
    lines = await run(chosen, tmp_path, expectation=closing)
    assert lines == [], report(lines)


@pytest.mark.req("FLT-15")
async def test_a_command_that_is_not_there_is_named() -> None:
    spec = McpServerSpec(name="gone", transport="stdio", command="no-such-command-of-the-kit", connect_timeout_s=2.0)
    async with background_tasks() as tasks:
        manager = McpManager([spec], SdkDialer(tasks))
        await manager.start(tasks)
        (found,) = manager.reports()
        assert found.state == "failed"
        assert "no-such-command-of-the-kit" in found.cause
        await manager.close()


@pytest.mark.parametrize("transport", ["http", "sse", "stdio"])
async def test_a_dial_that_has_no_time_leaves_nothing_open(transport: str) -> None:
    spec = McpServerSpec(name="late", transport=transport, url="http://127.0.0.1:9/mcp", command=sys.executable)  # type: ignore[arg-type]  # a transport's name
    async with background_tasks() as tasks:
        dialer = SdkDialer(tasks)
        for seconds in (0.0, 0.001, 0.003, 0.01, 0.03):
            with pytest.raises(McpFault):
                await dialer.dial(replace(spec, connect_timeout_s=seconds), on_notification=lambda method, params: None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gc.collect()
    assert [str(warning.message) for warning in caught] == []


async def test_fifty_rounds_leave_nothing_behind(tmp_path: Path) -> None:
    lines = await run(mix(50), tmp_path, at_once=1, expectation=Rounds(total=50))
    assert lines == [], report(lines)


async def test_random_messages_break_nothing(tmp_path: Path) -> None:
    chosen = [case for case in cases() if case.entry == "random-messages"]
    lines = await run(chosen, tmp_path)
    assert lines == [], report(lines)
