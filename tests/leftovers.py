"""Finds what a test run left behind: its processes, orphans among them, and its listening sockets.

It reads `/proc`, so it knows nothing elsewhere and then reports nothing.
"""

import gc
import os
import time
from pathlib import Path
from uuid import uuid4

_PROC = Path("/proc")
_MARK = "TESTS_STARTED_BY"
_LISTEN = "0A"
_ACCEPTS = "00010000"


def mark_children() -> None:
    """Put a value into the environment that every process started from here on inherits."""
    os.environ[_MARK] = uuid4().hex


def remaining(*, grace_s: float) -> list[str]:
    """Return what is left, one line each; waits up to `grace_s` seconds for things to end."""
    gc.collect()
    deadline = time.monotonic() + grace_s
    while (found := _processes() + _listeners()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _processes() -> list[str]:
    mark = f"{_MARK}={os.environ.get(_MARK, '-')}".encode()
    found = []
    for folder in _PROC.glob("[0-9]*"):
        if folder.name == str(os.getpid()):
            continue
        try:
            ours = mark in (folder / "environ").read_bytes().split(b"\0") or _parent(folder) == os.getpid()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        if ours:
            found.append(f"process {folder.name}: {command[:200] or '(ended, not waited for)'}")
    return found


def _parent(folder: Path) -> int:
    after_name = (folder / "stat").read_text(errors="replace").rpartition(")")[2]
    return int(after_name.split()[1])


def _listeners() -> list[str]:
    own = _own_socket_inodes()
    found = []
    for table in ("tcp", "tcp6"):
        for row in _rows(table):
            if row[3] == _LISTEN and row[9] in own:
                found.append(f"{table} socket listens on port {int(row[1].rpartition(':')[2], 16)}")
    for row in _rows("unix"):
        if row[3] == _ACCEPTS and row[6] in own:
            found.append(f"unix socket listens on {row[7] if len(row) > 7 else 'no name'}")
    return found


def _rows(table: str) -> list[list[str]]:
    try:
        lines = (_PROC / "self" / "net" / table).read_text().splitlines()
    except OSError:
        return []
    return [line.split() for line in lines[1:]]


def _own_socket_inodes() -> set[str]:
    inodes = set()
    for entry in (_PROC / "self" / "fd").glob("*"):
        try:
            target = os.readlink(entry)
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[len("socket:[") : -1])
    return inodes
