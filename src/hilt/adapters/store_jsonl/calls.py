"""The audit of tool calls: one line a call, written at once and never waiting for the disk."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from hilt.adapters.store_jsonl import files
from hilt.adapters.store_jsonl.events import warn_of_bad
from hilt.adapters.store_jsonl.folder import Folder, refused
from hilt.adapters.store_jsonl.lines import read_objects, to_line
from hilt.core.audit import audit_record, payload_size
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.clock import Clock

_OPEN_MAX: Final = 64
# Beyond this a record is encoded, hashed and written in a thread, so that other calls go on.
_AT_ONCE_MAX_CHARS: Final = 256 * 1024


class JsonlCalls:
    """See `ToolCallRecorder`. Up to 64 files stay open; `close` gives them back."""

    def __init__(self, folder: Folder, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._open: OrderedDict[str, files.AppendFile] = OrderedDict()

    async def tool_call(
        self,
        session_id: str,
        call: ToolCall,
        result: ToolResult,
        queued: float,
        took: float,
        *,
        detail: Mapping[str, object],
    ) -> None:
        """See `ToolCallRecorder.tool_call`.

        Raises:
            HarnessFault: The disk refused.
        """
        time = self._clock.now().isoformat()

        def line() -> bytes:
            record = audit_record(session_id, call, result, times=(queued, took), time=time, detail=detail)
            return to_line(record, self._folder.redactor)

        if _size(call, result) > _AT_ONCE_MAX_CHARS:
            await self._folder.run(lambda: files.append(self._path(session_id), line()))
            return
        text = line()
        try:
            written = self._file(session_id).append(text, wait=False)
        except OSError as exc:
            raise refused(exc) from exc
        if not written:
            await self._folder.run(files.append, self._path(session_id), text)

    def _path(self, session_id: str) -> Path:
        return self._folder.file(session_id, files.CALLS)

    def _file(self, session_id: str) -> files.AppendFile:
        file = self._open.get(session_id)
        if file is None:
            file = self._open[session_id] = files.AppendFile(self._path(session_id))
            if len(self._open) > _OPEN_MAX:
                self._open.popitem(last=False)[1].close()
        else:
            self._open.move_to_end(session_id)
        return file

    async def read(self, session_id: str) -> Sequence[Mapping[str, object]]:
        """Return the records of a session's calls as they were written; a missing file reads as empty."""
        return await self._folder.run(self._read, session_id)

    def _read(self, session_id: str) -> Sequence[Mapping[str, object]]:
        path = self._path(session_id)
        objects, bad = read_objects(files.read(path) or b"")
        warn_of_bad(path.name, bad)
        return [record for _, record in objects if record.get("session_id") == session_id]

    def close(self) -> None:
        """Close the open files; recording goes on to open them again."""
        while self._open:
            self._open.popitem()[1].close()


def _size(call: ToolCall, result: ToolResult) -> int:
    return len(call.args) + len(result.content) + sum(map(payload_size, result.parts))
