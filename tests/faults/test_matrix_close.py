"""Closing while something is under way, and starts that cannot be."""

import gc
import json
import signal
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from hilt.adapters.mcp_dialer import SdkDialer
from hilt.core.mcp import McpServerSpec
from hilt.faults.run import command, read_log
from hilt.faults.table import cases
from hilt.mcp.background import background_tasks
from hilt.mcp.manager import McpManager
from hilt.ports.mcp import McpFault
from tests.app.places import Machine
from tests.cli.kit import Hilt
from tests.faults.matrix.leaving import WHILE_CLOSING
from tests.faults.matrix.order import Order, carry_out, ids, table
from tests.faults.matrix.watch import MARK, processes

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(sys.platform != "linux", reason="what is left behind is looked up in /proc"),
]


@pytest.mark.req("FLT-68")
def test_closing_waits_for_no_call_no_dial_and_no_list() -> None:
    chosen = [case for case in cases() if case.entry in WHILE_CLOSING]
    lines = carry_out(Order(ids=ids(chosen), expects="closing"))
    assert lines == [], table(lines)


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


@pytest.mark.req("FLT-65")
def test_hilt_that_is_told_to_end_leaves_no_child_of_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hilt = Hilt(Machine.below(tmp_path), monkeypatch)
    log_path = tmp_path / "log.jsonl"
    program, *arguments = command("grandchildren", settings={"life": 60}, log_path=log_path)
    shown = ", ".join(json.dumps(argument) for argument in arguments)
    entry = f'[[servers]]\nname = "family"\ntransport = "stdio"\ncommand = {json.dumps(program)}\nargs = [{shown}]\n'
    hilt.machine.user(f'{entry}env = {{ {MARK} = "told-to-end" }}\n', "mcp.toml")
    model = hilt.script({"text": "never", "delay_ms": 60_000})
    with hilt.start("run", "x", "--model", model) as process:
        family: list[dict[str, object]] = []
        for _ in range(1500):
            if len(family := read_log(log_path, "child")) == 4 or process.poll() is not None:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    assert len(family) == 4, err
    for _ in range(500):
        if not processes("told-to-end"):
            break
        time.sleep(0.02)
    assert processes("told-to-end") == []


def test_fifty_rounds_leave_nothing_behind() -> None:
    lines = carry_out(Order(expects="rounds", rounds=50, at_once=1))
    assert lines == [], table(lines)


def test_random_messages_break_nothing() -> None:
    chosen = [case for case in cases() if case.entry == "random-messages"]
    lines = carry_out(Order(ids=ids(chosen)))
    assert lines == [], table(lines)
