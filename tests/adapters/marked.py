"""Finds processes by a variable that only they have in their environment, wherever they went."""

import contextlib
import os
import signal
from pathlib import Path
from uuid import uuid4

import anyio

NAME = "MARKED_BY_TEST"


class Mark:
    """A mark of one test: `env` gives it to a process, and its descendants inherit it."""

    def __init__(self) -> None:
        self.value = uuid4().hex

    @property
    def env(self) -> dict[str, str]:
        """The environment with the mark."""
        return {**os.environ, NAME: self.value}

    def alive(self) -> list[int]:
        """Return the processes that carry the mark and have not ended."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if f"{NAME}={self.value}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

    async def reach(self, number: int) -> None:
        """Wait until at least `number` carry it."""
        while len(self.alive()) < number:
            await anyio.sleep(0.01)

    async def end(self) -> None:
        """Wait until none carries it."""
        while self.alive():
            await anyio.sleep(0.01)

    def kill(self) -> None:
        """Kill those that carry it, for a test that left some on purpose or failed."""
        for pid in self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
