"""How long a start takes, against a bare interpreter of the same environment, in alternating rounds.

Compiled code is kept in a folder of its own, as an installed package has it, whatever the variables of whoever
measures say.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import Figure, Options, number

REQ = ("CLI-03",)

CLI_LIMIT_MS = 100.0
VERSION_TIMES = 5.0
FIRST_CALL_TIMES = 12.0
FIRST_CALL_MB = 40.0
FIRST_CALL = """
import asyncio, hilt
from hilt.ports.model import Answered, Capabilities, CallRequested, TextDelta

class Ping:
    spec = hilt.ToolSpec("Ping", "Answers pong. Use it to measure. Do not use it otherwise.")
    read_only = True

    async def execute(self, call, env):
        return hilt.ToolResult.text(call.id, "pong")

class Model:
    name, capabilities = "bench/ping", Capabilities()

    async def stream(self, request):
        if request.turn == 1:
            yield CallRequested(call=hilt.ToolCall("c1", "Ping"))
        else:
            yield TextDelta(text="done")
        yield Answered()

catalog = hilt.Catalog()
catalog.register(Ping())
assert asyncio.run(hilt.Agent(catalog=catalog, model=Model()).run("go")).tool_calls == 1
"""
# The peak of this very program: what a child inherits of its parent's counter would be counted otherwise.
PEAK = """
import os, resource
kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if os.path.exists("/proc/self/status"):
    kib = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(kib)
"""


def measure(options: Options) -> list[Figure]:
    """Return the times of `hilt version`, `hilt --help` and of a first call, and the memory of the latter."""
    hilt = str(Path(sys.executable).with_name("hilt"))
    commands: dict[str, list[str]] = {
        "bare": [sys.executable, "-c", "pass"],
        "version": [hilt, "version"],
        "help": [hilt, "--help"],
        "first": [sys.executable, "-c", FIRST_CALL],
    }
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        samples = _samples(commands, options.times(25), environment)
        peak = subprocess.run(
            [sys.executable, "-c", FIRST_CALL + PEAK], env=environment, capture_output=True, text=True, check=True
        )
    best = {name: min(times) for name, times in samples.items()}
    bare = best["bare"]
    return [
        Figure(what="bare interpreter", value=bare, unit="ms", beside=f"median {_median(samples['bare'])} ms"),
        *(
            Figure(
                what=f"`hilt {name}`".replace(" help", " --help"),
                value=best[name],
                unit="ms",
                limit=CLI_LIMIT_MS,
                beside=f"median {_median(samples[name])} ms",
            )
            for name in ("version", "help")
        ),
        _times("`hilt version` / bare interpreter", best["version"] / bare, VERSION_TIMES),
        _times("import and first call / bare interpreter", best["first"] / bare, FIRST_CALL_TIMES),
        Figure(
            what="import and first call, peak memory",
            value=int(peak.stdout.split()[-1]) * 1024 / 1e6,
            unit="MB",
            limit=FIRST_CALL_MB,
            beside=f"first call at {number(best['first'])} ms",
        ),
    ]


def _samples(
    commands: Mapping[str, Sequence[str]], rounds: int, environment: Mapping[str, str]
) -> dict[str, list[float]]:
    """Time every command once a round, in milliseconds; a round before them fills the caches."""
    samples: dict[str, list[float]] = {name: [] for name in commands}
    for round_ in range(rounds + 1):
        for name, command in commands.items():
            begun = time.perf_counter()
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            if round_:
                samples[name].append((time.perf_counter() - begun) * 1e3)
    return samples


def _median(samples: Sequence[float]) -> str:
    return number(statistics.median(samples))


def _times(what: str, value: float, limit: float) -> Figure:
    return Figure(what=what, value=value, unit="x", limit=limit)
