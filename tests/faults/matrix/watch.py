"""What a trial may leave behind or say aloud: its sockets, its processes, its log lines, and what all share."""

import asyncio
import gc
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio

TRIAL: ContextVar[str] = ContextVar("TRIAL", default="")
"""The trial whose work is under way; tasks and threads inherit it."""

MARK: Final = "MATRIX_TRIAL"
CLEAN_S: Final = 10.0
_PROC: Final = Path("/proc")


@dataclass(frozen=True, slots=True)
class Line:
    """One log line of a trial."""

    level: int
    text: str
    has_traceback: bool


class LogWatch(logging.Handler):
    """Keeps the log lines of each trial; those that belong to none are under ""."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: dict[str, list[Line]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line."""
        line = Line(record.levelno, f"{record.name}: {record.getMessage()}", bool(record.exc_info))
        self.lines.setdefault(TRIAL.get(), []).append(line)


@contextmanager
def watching_logs() -> Iterator[LogWatch]:
    """Watch all log lines, those of hilt at the most detailed level."""
    watch, root, ours = LogWatch(), logging.getLogger(), logging.getLogger("hilt")
    before = ours.level
    root.addHandler(watch)
    ours.setLevel(logging.DEBUG)
    try:
        yield watch
    finally:
        ours.setLevel(before)
        root.removeHandler(watch)


def complaints(lines: list[Line], *, warns: int | None, secret: str) -> list[str]:
    """Return what of the lines is not quiet; `warns` is how many warnings are due at most in all, None for any."""
    found = [f"log: {line.text[:300]}" for line in lines if line.level >= logging.ERROR or line.has_traceback]
    warnings = [line.text for line in lines if line.level == logging.WARNING]
    found += [f"said twice: {text[:300]}" for text in sorted(set(warnings)) if warnings.count(text) > 1]
    if warns is not None and len(warnings) > warns:
        found.append(f"{len(warnings)} warnings instead of {warns}: {warnings}"[:600])
    if secret:
        found += [f"secret in log: {line.text[:200]}" for line in lines if secret in line.text]
    return found


def processes(mark: str) -> list[str]:
    """Return the processes that were started for a trial, children of children among them."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for folder in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(f"process {folder.name}: {command[-100:]}")
    return found


def zombies() -> list[str]:
    """Return the children of this process that ended and were not waited for."""
    found = []
    for folder in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            state, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state == "Z" and int(parent) == os.getpid():
                found.append(f"zombie {folder.name}")
    return found


def sockets(port: int) -> list[str]:
    """Return the sockets of this process that lead to a port."""
    own = {target.removeprefix("socket:[").rstrip("]") for target in _targets() if target.startswith("socket:[")}
    found = []
    for row in (_PROC / "self" / "net" / "tcp").read_text().splitlines()[1:]:
        fields = row.split()
        if fields[9] in own and int(fields[2].rpartition(":")[2], 16) == port:
            found.append(f"socket to port {port} in state {fields[3]}")
    return found


def _targets() -> list[str]:
    found = []
    for entry in (_PROC / "self" / "fd").glob("*"):
        with suppress(OSError):
            found.append(os.readlink(entry))
    return found


@dataclass(frozen=True, slots=True)
class Footprint:
    """What the process holds: tasks, threads other than idle workers, and open files."""

    tasks: frozenset["asyncio.Task[object]"] = field(default_factory=frozenset)
    threads: frozenset[threading.Thread] = field(default_factory=frozenset)
    files: int = 0

    @classmethod
    def now(cls) -> "Footprint":
        """Look."""
        gc.collect()
        threads = {thread for thread in threading.enumerate() if not thread.name.startswith("AnyIO worker")}
        return cls(frozenset(asyncio.all_tasks()), frozenset(threads), len(_targets()))

    def more(self, since: "Footprint") -> list[str]:
        """Return what is here that was not there."""
        found = [f"task {task.get_name()}" for task in self.tasks - since.tasks]
        found += [f"thread {thread.name}" for thread in self.threads - since.threads]
        if self.files > since.files:
            found.append(f"{self.files - since.files} open files: {sorted(_targets())}")
        return found


async def left_behind(mark: str, ports: list[int]) -> list[str]:
    """Return what a trial left, after up to ten seconds for it to go."""
    found: list[str] = []
    with anyio.move_on_after(CLEAN_S):
        while True:
            found = [*processes(mark), *(line for port in ports for line in sockets(port))]
            if not found:
                break
            await anyio.sleep(0.1)
    return found


async def grown(since: Footprint) -> list[str]:
    """Return what the process holds more than before, after up to ten seconds for it to go."""
    found: list[str] = []
    with anyio.move_on_after(CLEAN_S):
        while True:
            found = [*Footprint.now().more(since), *zombies()]
            if not found:
                break
            await anyio.sleep(0.1)
    return found
