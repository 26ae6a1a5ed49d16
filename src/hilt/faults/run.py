"""Starts entries from Python: a server that runs while a block does, a command for stdio, the log as records."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hilt.faults.log import read_log

__all__ = ["Running", "command", "read_log", "running"]

END_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """An entry that serves at `address`; `process` ends with the block that started it."""

    address: str
    process: "subprocess.Popen[bytes]"
    log_path: Path | None

    def records(self, *events: str) -> list[dict[str, object]]:
        """Return what the log holds by now, of these events or of all; nothing without a log."""
        return [] if self.log_path is None else read_log(self.log_path, *events)


def command(
    name: str,
    *,
    transport: str = "stdio",
    era: str = "both",
    settings: Mapping[str, object] | None = None,
    log_path: Path | None = None,
) -> list[str]:
    """Return the command that runs an entry; over stdio it is what an MCP client is configured with."""
    found = [sys.executable, "-m", "hilt.faults", name, f"--{transport}", "--era", era]
    if log_path is not None:
        found += ["--log", str(log_path)]
    for key, value in (settings or {}).items():
        found += ["--set", f"{key}={value}"]
    return found


@contextmanager
def running(
    name: str,
    *,
    transport: str = "http",
    era: str = "both",
    settings: Mapping[str, object] | None = None,
    log_path: Path | None = None,
) -> Iterator[Running]:
    """Run an entry over HTTP or SSE while the block runs.

    Raises:
        RuntimeError: It did not become ready; the text is what it said.
    """
    arguments = command(name, transport=transport, era=era, settings=settings, log_path=log_path)
    with subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            first = process.stdout.readline() if process.stdout is not None else b""
            if not first:
                raise RuntimeError(f"{name!r} did not start; its standard error says why")
            yield Running(address=str(json.loads(first)["address"]), process=process, log_path=log_path)
        finally:
            process.terminate()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
