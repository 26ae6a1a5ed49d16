"""Changes a memory, for tests in which several processes do: `memory_writer.py FILE KEY NAME TIMES`.

Each change expects the version that was seen last; prints the name of the writer for each that succeeds.
"""

import sys
from pathlib import Path

import anyio

from hilt.adapters.clock_system import SystemClock
from hilt.adapters.memory_sqlite import SqliteMemory
from hilt.core.memory import NewValue, StaleVersionError, Writer


async def main(*args: str) -> None:
    file, key, name, times = args
    memory = SqliteMemory(Path(file), clock=SystemClock())
    done = 0
    while done < int(times):
        history = await memory.history(key)
        seen = history[-1].number if history else 0
        new = NewValue(value=f"{seen + 1}", expected=str(seen))
        try:
            version = await memory.remember(key, new, writer=Writer(session=name))
        except StaleVersionError:
            continue
        done += 1
        print(version, flush=True)
    memory.close()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
