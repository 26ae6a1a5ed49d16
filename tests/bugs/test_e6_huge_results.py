"""Public reports on giant results: megabytes of base64, text and JSON cost little and hold up nobody."""

import gc
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from hilt.core.tool import ToolResult
from tests.app.house import House, house
from tests.flows.kit import allow, call
from tests.flows.results_kit import content, far, text
from tests.mcp_servers.kit import replay_stdio

MIB = 1024 * 1024
ROWS_BYTES = 20 * MIB
# Other work on the machine may hold up any single try.
TRIES = 4


def json_text() -> str:
    row = json.dumps({"id": 123456, "name": "somebody", "tags": ["a", "b"], "at": 1.5})
    count = (ROWS_BYTES - 2) // (len(row) + 1)
    return "[" + ",".join([row] * count) + "]"


class Peak:
    """The largest memory of this process from here on, where the system tells."""

    def __init__(self) -> None:
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")
        self._before = self._read("VmRSS")

    def grown(self) -> int:
        """Return by how many bytes the peak lies above the start."""
        return self._read("VmHWM") - self._before

    def _read(self, name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


@asynccontextmanager
async def watched() -> AsyncIterator[list[float]]:
    """Collect for how long the event loop did not come round, in seconds, the longest last."""
    gaps: list[float] = [0.0]
    done = anyio.Event()

    async def ticking() -> None:
        last = time.perf_counter()
        while not done.is_set():
            await anyio.sleep(0.005)
            now = time.perf_counter()
            gaps[0] = max(gaps[0], now - last)
            last = now

    async with anyio.create_task_group() as group:
        group.start_soon(ticking)
        yield gaps
        done.set()


async def huge(home: House, tool: str) -> tuple[ToolResult, float, int]:
    """Return the result of a call, the longest hold-up in seconds, and the growth of memory in bytes."""
    session = await home.app.sessions.create()
    peak = Peak()
    gc.freeze()  # what the test run itself keeps alive is not to be walked over by the collector
    try:
        with anyio.fail_after(20):
            async with watched() as gaps:
                (result,) = await home.turn(session, call(tool))
    finally:
        gc.unfreeze()
    grown = peak.grown()
    await session.close()
    return result, gaps[0], grown


@pytest.mark.req("RES-29", "FLT-49")
async def test_e6_a_giant_image_is_a_short_note(tmp_path: Path) -> None:
    entry = replay_stdio("e_results", tmp_path, server="near")
    async with house(tmp_path, mcp_servers=[entry], rules=allow("*")) as home:
        result, held_up, grown = await huge(home, "mcp__near__huge_blob")
        assert "image/png of 25165824 bytes: left out" in result.content
        assert len(result.content.encode()) < 4_000
        assert result.parts == ()
        assert held_up < 0.5
        assert grown < 5 * 32 * MIB
        session = await home.app.sessions.create()
        (again,) = await home.turn(session, call("mcp__near__only_struct"))
    assert json.loads(again.content)["count"] == 2


@pytest.mark.req("FLT-49")
async def test_a_giant_text_is_cut_with_its_marker(tmp_path: Path) -> None:
    answers: dict[str, Mapping[str, object]] = {"text": {"big": 20_000_000, "char": "x"}}
    async with far(tmp_path, answers) as home:
        result, held_up, grown = await huge(home, "mcp__far__text")
    assert "of 20000000 bytes are missing here" in result.content
    assert held_up < 0.5
    assert grown < 5 * 20_000_000


@pytest.mark.req("FLT-49", "RES-37")
@pytest.mark.parametrize("form", ["text", "structure", "both"])
async def test_giant_json_is_withheld_with_an_outline(tmp_path: Path, form: str) -> None:
    sent = json_text()
    value = json.loads(sent)
    half = value[: len(value) // 2]
    step = {
        "text": content(text(sent)),
        "structure": content(structuredContent={"rows": value}),
        "both": content(text(half), structuredContent=half),
    }[form]
    async with far(tmp_path, {"json": step}) as home:
        del value, half, step
        result, held_up, grown = await huge(home, "mcp__far__json")
        for _ in range(TRIES - 1):
            if held_up >= 0.5:
                _, held_up, _ = await huge(home, "mcp__far__json")
    told = json.loads(result.content)
    assert told["error"] == "result_too_large"
    assert "somebody" not in result.content
    assert "items" in json.dumps(told["data"]["outline"])
    assert grown < 12 * ROWS_BYTES
    assert held_up < 0.5
