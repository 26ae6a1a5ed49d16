"""What 1,000 idle sessions weigh beyond one, in a process of its own: `python -m bench.idle COUNT PROMPTED`."""

import asyncio
import gc
import json
import os
import resource
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import hilt
from bench.figures import Figure, Options
from bench.timing import answer_of

REQ = ("SES-09",)

SESSIONS = 1000
LIMIT_MIB = 64.0
STATM = Path("/proc/self/statm")


def measure(options: Options) -> list[Figure]:
    """Return the memory of idle sessions that were only created, and of such that answered a prompt each."""
    count = options.times(SESSIONS, 50)
    figures = []
    for label, prompted in (("created", 0), ("after a prompt with a call", 1)):
        answer = answer_of("bench.idle", count, prompted)
        figures.append(
            Figure(
                what=f"1,000 idle sessions, {label}",
                value=answer["kib"] / 1024 * SESSIONS,
                unit="MiB",
                limit=LIMIT_MIB,
                beside=f"{answer['kib']:.1f} KiB each; process {answer['rss_mib']:.0f} MiB",
            )
        )
    return figures


def rss_kib() -> float:
    """Return the memory of this process in KiB, after a collection; where it cannot be read, its peak."""
    gc.collect()
    if not STATM.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE") / 1024


@hilt.tool(read_only=True)
def word_count(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


async def weigh(count: int, *, prompted: bool) -> dict[str, float]:
    """Return the KiB of one more session and the MiB of the process with all of them."""
    call: dict[str, object] = {"calls": [{"name": "word_count", "args": {"text": "a b"}}]}
    answers: list[dict[str, object]] = [call, {"text": "two"}] * (count + 10)
    with TemporaryDirectory() as folder:
        async with hilt.build(
            tools=[word_count],
            enable={"files"},
            workspace=folder,
            store=f"jsonl:{folder}/store",
            model=hilt.ScriptedModel(answers),
            rules=[hilt.deny("Write(secret/**)")],
        ) as app:

            async def one_more() -> None:
                session = await app.sessions.create(system_prompt="You count words.")
                if prompted:
                    async for _ in session.prompt("How many words are in 'a b'?"):
                        pass

            for _ in range(10):
                await one_more()
            before = rss_kib()
            for _ in range(count):
                await one_more()
            after = rss_kib()
    return {"kib": (after - before) / count, "rss_mib": after / 1024}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(weigh(int(sys.argv[1]), prompted=sys.argv[2] == "1"))))
