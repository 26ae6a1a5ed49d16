"""The folder of one store: where a session's files lie, and how blocking work on them is run."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

import anyio
import anyio.to_thread

from hilt.adapters.store_jsonl import files
from hilt.core.errors import HarnessFault
from hilt.core.redaction import Redactor

P = ParamSpec("P")
T = TypeVar("T")

SUBDIRECTORY: Final = "sid-v1"
_THREADS: Final = 8


class Folder:
    """`<store>/sid-v1`, with the secrets to mask. Nothing is created before the first write."""

    def __init__(self, store: Path, redactor: Redactor) -> None:
        self.path = store / SUBDIRECTORY
        self.redactor = redactor
        # Threads of its own: tools that block in theirs must not hold up the record of a call.
        self._threads = anyio.CapacityLimiter(_THREADS)

    def file(self, session_id: str, end: str) -> Path:
        """Return the path of one of a session's files; `end` is RECORD, EVENTS, CALLS or EARLIER of `files`."""
        return self.path / (files.stem(session_id) + end)

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do blocking work in a thread and wait for its end, also when cancelled.

        Raises:
            HarnessFault: The disk refused.
        """

        def whole() -> T:
            return work(*args, **kwargs)

        try:
            return await anyio.to_thread.run_sync(whole, limiter=self._threads)
        except OSError as exc:
            raise refused(exc) from exc


def refused(exc: OSError) -> HarnessFault:
    """Return the fault that stands for an error of the disk; it names the file, not where it lies."""
    name = Path(exc.filename).name if isinstance(exc.filename, str) else "a session's file"
    return HarnessFault(f"the session store cannot use {name}: {exc.strerror or type(exc).__name__}")
