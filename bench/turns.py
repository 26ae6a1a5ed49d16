"""One contestant's cost of a call inside a whole turn, in a process of its own: `python -m bench.turns NAME REPEATS`.

It needs nothing but the contestant. A turn is a prompt, an answer of the (fake) model with K calls, their results,
and an answer that ends the run; a call costs (t(K) - t(1)) / (K - 1). The turns of 1 and of K calls alternate. Both
clocks are read: the processor's, which hardly depends on what else the machine does, and the one on the wall.
"""

import asyncio
import json
import logging
import os
import statistics
import sys
import time
import warnings
from importlib import import_module

from bench.peers import Call, Run

CALLS = 100


async def echo(a: int, b: str) -> str:
    """Return the text. Use it to measure. Do not use it for anything else."""
    return b


def echo_sync(a: int, b: str) -> str:
    """Return the text. Use it to measure. Do not use it for anything else."""
    return b


def calls(name: str, count: int) -> list[Call]:
    """Return the calls of one answer, each with arguments of its own."""
    made = []
    for number in range(count):
        arguments: dict[str, object] = {"a": number, "b": "hello"}
        made.append(Call(id=f"c{number}", name=name, arguments=arguments, text=json.dumps(arguments)))
    return made


async def seconds(run: Run, name: str, count: int) -> tuple[float, float]:
    """Return how long a turn of `count` calls takes: of the processor, all threads together, and on the wall.

    Raises:
        RuntimeError: The turn did not end as it should.
    """
    wanted = calls(name, count)
    cpu, wall = time.process_time(), time.perf_counter()
    text = await run(wanted)
    taken = time.process_time() - cpu, time.perf_counter() - wall
    if "done" not in text:
        raise RuntimeError(f"the run ended with {text[:80]!r}")
    return taken


async def measure(contestant: str, repeats: int) -> dict[str, float]:
    """Return the median microseconds a call, for an async and for a plain function, by both clocks."""
    out: dict[str, float] = {}
    for label, function in (("async", echo), ("sync", echo_sync)):
        async with import_module(f"bench.peers.{contestant}").turner(function) as run:
            await seconds(run, function.__name__, CALLS)
            ones, many = [], []
            for _ in range(repeats):
                ones.append(await seconds(run, function.__name__, 1))
                many.append(await seconds(run, function.__name__, CALLS))
        for place, clock in enumerate(("cpu", "wall")):
            one, all_ = (statistics.median(times[place] for times in turns) for turns in (ones, many))
            out[f"{label}_{clock}"] = (all_ - one) / (CALLS - 1) * 1e6
    return out


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    for variable in ("OPENAI_AGENTS_DISABLE_TRACING", "DO_NOT_TRACK"):
        os.environ.setdefault(variable, "1")
    print(json.dumps(asyncio.run(measure(sys.argv[1], int(sys.argv[2])))))
