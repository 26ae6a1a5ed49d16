"""Updates of one task among many in `.hilt/tasks.json`: read, changed, written whole and flushed, under a lock."""

import asyncio
import json
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import hilt
from bench.figures import Figure, Options
from hilt.adapters.task_file import TaskFile
from hilt.core.task import NewTask, TaskChange

REQ = ("BLT-52",)

KEPT = 100
WRITERS = 8


def measure(options: Options) -> list[Figure]:
    """Return what one update costs in a list of 100 tasks, one by one and by eight writers, beside bare writes."""
    count = options.times(1000, 20)
    with TemporaryDirectory() as folder:
        alone, together = asyncio.run(_updates(Path(folder), count))
        floor = _floor(Path(folder), count)
    return [
        Figure(
            what=f"{count:,} task updates, each flushed",
            value=alone / count * 1e3,
            unit="ms each",
            beside=f"{alone / floor:.1f} x json.loads + json.dumps + fsync + rename",
        ),
        Figure(
            what=f"the same by {WRITERS} writers at once",
            value=together / count * 1e3,
            unit="ms each",
            beside=f"{together / alone:.2f} x one by one; none was lost",
        ),
    ]


async def _updates(folder: Path, count: int) -> tuple[float, float]:
    """Return the seconds of all updates by one writer, and by several that write to one task.

    Raises:
        RuntimeError: An update was lost.
    """
    tasks = TaskFile(folder, clock=hilt.SystemClock())
    for number in range(KEPT):
        task = await tasks.create(NewTask(subject=f"task {number}", description="what to do " * 8), session="ses_1")
    begun = time.perf_counter()
    for number in range(count):
        await tasks.update(task.id, TaskChange(subject=f"update {number}"), session="ses_1")
    alone = time.perf_counter() - begun

    async def write(writer: int) -> None:
        own = TaskFile(folder, clock=hilt.SystemClock())
        for number in range(writer, count, WRITERS):
            await own.update(task.id, TaskChange(metadata={f"update-{number}": number}), session="ses_1")

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for writer in range(WRITERS):
            group.create_task(write(writer))
    together = time.perf_counter() - begun
    kept = (await tasks.get(task.id)).metadata
    if len(kept) != count:
        raise RuntimeError(f"{count - len(kept)} of {count} updates were lost")
    return alone, together


def _floor(folder: Path, count: int) -> float:
    """Return the seconds of reading, encoding, flushing and renaming the same document as often."""
    path = folder / ".hilt" / "tasks.json"
    begun = time.perf_counter()
    for _ in range(count):
        document = json.loads(path.read_bytes())
        with open(folder / "new", "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(folder / "new", path)
    return time.perf_counter() - begun
