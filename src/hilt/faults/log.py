"""Writes what happened as JSON lines: one object a line, each with its time and the name of its event."""

import json
import os
import threading
import time
from pathlib import Path


class Log:
    """Appends records to a file, each in one write; without a path it keeps nothing.

    Processes may share the file. A record has `time` (seconds since 1970), `event` and the fields of its event.
    """

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        self._file = None if path is None else os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, event: str, **fields: object) -> None:
        """Append one record."""
        if self._file is None:
            return
        record = {"time": time.time(), "event": event, **fields}
        line = json.dumps(record, ensure_ascii=True, default=repr).encode() + b"\n"
        with self._lock:
            while line and self._file is not None:
                line = line[os.write(self._file, line) :]

    def close(self) -> None:
        """Keep nothing from here on."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None


def read_log(path: Path, *events: str) -> list[dict[str, object]]:
    """Return the whole records of a log in their order, of these events or of all; none while there is no file."""
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    records: list[dict[str, object]] = [json.loads(line) for line in lines]
    return [record for record in records if not events or record["event"] in events]
