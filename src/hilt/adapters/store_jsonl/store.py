"""The three ports over one directory."""

from pathlib import Path

from hilt.adapters.store_jsonl.calls import JsonlCalls
from hilt.adapters.store_jsonl.events import JsonlEvents
from hilt.adapters.store_jsonl.folder import Folder
from hilt.adapters.store_jsonl.sessions import JsonlSessions
from hilt.core.redaction import Redactor
from hilt.ports.clock import Clock


class JsonlStore:
    """`sessions`, `events` and `calls` of one directory; known secrets are masked in all of them.

    Several processes may use one directory. Nothing is created before the first write.
    """

    def __init__(self, directory: Path, *, clock: Clock, redactor: Redactor | None = None) -> None:
        folder = Folder(directory, redactor if redactor is not None else Redactor())
        self.sessions = JsonlSessions(folder)
        self.events = JsonlEvents(folder)
        self.calls = JsonlCalls(folder, clock)

    def close(self) -> None:
        """Give open files back; the store can be used again."""
        self.calls.close()
