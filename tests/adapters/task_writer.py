"""Changes a list of tasks, for tests in which several processes do: `task_writer.py ROOT ID NAME TIMES`."""

import sys

import anyio

from hilt.adapters.clock_system import SystemClock
from hilt.adapters.task_file import TaskFile
from hilt.core.task import TaskChange


async def main(*args: str) -> None:
    root, id_, name, times = args
    store = TaskFile(root, clock=SystemClock())
    for number in range(int(times)):
        await store.update(id_, TaskChange(metadata={f"{name}{number}": number}), session=name)
        print(number, flush=True)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
