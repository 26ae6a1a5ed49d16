"""Fifty child agents against the same work in one agent: time of the processor, time on the wall, and memory.

A child is a run of its own: a conversation, a funnel, an environment, its share of the budget. The work is four reads
in two turns and an answer; the one agent does all of it in a hundred turns. A scripted model answers at once, so that
only the harness counts. Each measurement is a process of its own: `python -m bench.children HOW CHILDREN ROUNDS`.
"""

import asyncio
import json
import resource
import statistics
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import hilt
from bench.figures import Figure, Options, number
from bench.idle import rss_kib
from bench.timing import answer_of
from hilt.app.config import Config
from hilt.app.settings import AgentSettings
from hilt.core.session import AssistantMessage, UserMessage
from hilt.core.tool import ToolCall
from hilt.ports.model import Answered, CallRequested, Capabilities, ModelItem, ModelRequest, TextDelta

CHILDREN = 50
TURNS = 2
CALLS = 2
"""What each child does: so many turns of so many calls, then an answer."""

PLACES = 8


def measure(options: Options) -> list[Figure]:
    """Return what fifty children cost beside one agent, by tools that start one each and by Parallel."""
    count = options.times(CHILDREN, 4)
    rounds = options.times(5)
    one = answer_of("bench.children", "one", count, rounds)
    figures = [Figure(what=f"{count} x 4 reads in one agent", value=one["cpu_ms"], unit="ms of the processor")]
    for how, label in (("subagent", "Subagent"), ("parallel", "Parallel, 16 a call")):
        many = answer_of("bench.children", how, count, rounds)
        figures.append(
            Figure(
                what=f"{count} children by {label}",
                value=many["cpu_ms"],
                unit="ms of the processor",
                beside=f"{many['cpu_ms'] / one['cpu_ms']:.2f} x one agent; {number(many['wall_ms'])} ms on the wall",
            )
        )
        figures.append(
            Figure(
                what=f"{count} children by {label}: kept afterwards",
                value=many["kept_kib"] / count,
                unit="KiB each",
                beside=f"peak {many['peak_mib']:.0f} MiB, one agent {one['peak_mib']:.0f} MiB",
            )
        )
    return figures


class Script:
    """A model whose main agent hands out the work, or does it; any other prompt is a child's."""

    name = "bench/children"
    capabilities = Capabilities()

    def __init__(self, how: str, count: int) -> None:
        self._how = how
        self._count = count

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """See `Model.stream`."""
        last = max(at for at, message in enumerate(request.messages) if isinstance(message, UserMessage))
        turn = sum(isinstance(message, AssistantMessage) for message in request.messages[last:])
        prompt = getattr(request.messages[last], "text", "")
        for call in self._calls(turn) if prompt == "go" else _work(turn, TURNS, prompt):
            yield CallRequested(call=call)
        yield TextDelta(text="done")
        yield Answered()

    def _calls(self, turn: int) -> list[ToolCall]:
        if self._how == "one":
            return _work(turn, TURNS * self._count, "one")
        if self._how == "parallel":
            tasks = [f"work {at}" for at in range(turn * 16, min(turn * 16 + 16, self._count))]
            return [ToolCall(f"p{turn}", "Parallel", json.dumps({"tasks": tasks}))] if tasks else []
        at = range(turn * PLACES, min(turn * PLACES + PLACES, self._count))
        return [ToolCall(f"s{child}", "Subagent", json.dumps({"prompt": f"work {child}"})) for child in at]


def _work(turn: int, turns: int, whose: str) -> list[ToolCall]:
    """Return the reads of one turn, each with arguments of its own; none after the last turn."""
    calls = CALLS if turn < turns else 0
    return [
        ToolCall(f"c{turn}_{at}", "word_count", json.dumps({"text": f"{whose} {turn} {at}"})) for at in range(calls)
    ]


@hilt.tool(read_only=True)
def word_count(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


async def weigh(how: str, count: int, rounds: int) -> dict[str, float]:
    """Return medians over the rounds, each in a session of its own, after one that is not counted.

    Raises:
        RuntimeError: The work was not done.
    """
    cpu, wall, kept = [], [], []
    config = replace(Config(), agents=AgentSettings(max_concurrent=PLACES))
    calls = 0

    def watch(event: hilt.Event) -> None:
        nonlocal calls
        calls = event.body.tool_calls if isinstance(event.body, hilt.RunResult) else calls

    async with hilt.build(
        tools=[word_count], enable={"delegation"}, model=Script(how, count), config=config, on_event=watch
    ) as app:
        for _ in range(rounds + 1):
            session = await app.sessions.create()
            before, cpu_0, wall_0 = rss_kib(), time.process_time(), time.perf_counter()
            async for _event in session.prompt("go"):
                pass
            cpu.append(time.process_time() - cpu_0)
            wall.append(time.perf_counter() - wall_0)
            kept.append(rss_kib() - before)
            if calls < count * TURNS * CALLS:
                raise RuntimeError(f"{calls} calls were made, {count * TURNS * CALLS} should have been")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "cpu_ms": statistics.median(cpu[1:]) * 1e3,
        "wall_ms": statistics.median(wall[1:]) * 1e3,
        "kept_kib": max(statistics.median(kept[1:]), 0.0),
        "peak_mib": peak,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(weigh(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))))
