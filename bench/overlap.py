"""Sixteen reads of one answer run at the same time: how far apart they start, and how long all take."""

import asyncio
import time

import hilt
from bench.figures import Figure, Options, number
from bench.peers import Function
from bench.peers.hilt_agent import runner
from bench.turns import calls

REQ = ("DSP-16",)

READS = 16
SPREAD_MS = 50.0
END_MS = 400.0


def measure(options: Options) -> list[Figure]:
    """Return start and end of 16 reads of 200 ms, and the wall time of 16 of 100 ms against the ideal."""
    rounds = options.times(7)
    figures = []
    for kind in ("async", "sync"):
        spans = [asyncio.run(_turn(kind, 0.2)) for _ in range(rounds)]
        apart = min(max(starts) - min(starts) for starts, _ in spans) * 1e3
        ended = min(ends[-1] for _, ends in spans) * 1e3
        wall = min(asyncio.run(_turn(kind, 0.1))[1][-1] for _ in range(rounds)) * 1e3
        figures += [
            Figure(what=f"16 {kind} reads of 200 ms: starts apart", value=apart, unit="ms", limit=SPREAD_MS),
            Figure(what=f"16 {kind} reads of 200 ms: whole turn", value=ended, unit="ms", limit=END_MS),
            Figure(
                what=f"16 {kind} reads of 100 ms: whole turn",
                value=wall,
                unit="ms",
                beside=f"{wall / 100:.2f} x ideal, {number(wall / 1600)} x one by one",
            ),
        ]
    return figures


async def _turn(kind: str, sleep_s: float) -> tuple[list[float], list[float]]:
    """Run one turn; return the starts of the reads, and their ends with the turn's at the end, from its begin."""
    starts: list[float] = []
    ends: list[float] = []

    async def read(a: int, b: str) -> str:
        starts.append(time.perf_counter() - begun)
        await asyncio.sleep(sleep_s)
        ends.append(time.perf_counter() - begun)
        return b

    def read_sync(a: int, b: str) -> str:
        starts.append(time.perf_counter() - begun)
        time.sleep(sleep_s)
        ends.append(time.perf_counter() - begun)
        return b

    function: Function = read if kind == "async" else read_sync
    run = runner(function, lambda catalog, model: hilt.Agent(catalog=catalog, model=model))
    wanted = calls("read" if kind == "async" else "read_sync", READS)
    begun = time.perf_counter()
    await run(wanted)
    ends.append(time.perf_counter() - begun)
    return starts, ends
