"""Times small pieces of code on a machine that others use too: many batches, the best and the median of them."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Spread:
    """Seconds of one piece of work: `best` is what it costs when it has the core, `median` what it was here."""

    best: float
    median: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> "Spread":
        """Return best and median of the samples."""
        return cls(min(samples), statistics.median(samples))


def batches(work: Callable[[int], object], *, count: int, size: int) -> Spread:
    """Return the seconds of one repetition of `work(n)`, over `count` batches of `size` after one to warm up."""
    work(size)
    samples = []
    for _ in range(count):
        begun = time.perf_counter()
        work(size)
        samples.append((time.perf_counter() - begun) / size)
    return Spread.of(samples)


def answer_of(module: str, *arguments: object, python: Path | str = sys.executable) -> dict[str, float]:
    """Run `python -m module` in a process of its own and return the object of numbers that it prints last.

    Raises:
        RuntimeError: It failed; with the end of what it said.
    """
    ran = subprocess.run(
        [str(python), "-m", module, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    lines = ran.stdout.splitlines()
    if ran.returncode or not lines:
        raise RuntimeError(f"{module} {' '.join(map(str, arguments))} failed: {ran.stderr.strip()[-600:]}")
    found: dict[str, float] = json.loads(lines[-1])
    return found
