"""Reads an event stream (server-sent events) from bytes that are cut anywhere."""

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


class EventTooLongError(ValueError):
    """One event passes the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvent:
    """One event; `data` is empty for one that only carries an id or a retry time (in milliseconds)."""

    name: str = ""
    data: bytes = b""
    id: str | None = None
    retry_ms: int | None = None


class EventReader:
    """Takes chunks and gives the events that they complete; what is cut off at the end is no event."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._line = bytearray()
        self._after_cr = False
        self._first = True
        self._clear()

    def _clear(self) -> None:
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0
        self._id: str | None = None
        self._retry_ms: int | None = None

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Return the events that end in `chunk`.

        Raises:
            EventTooLongError: A line or an event passes the limit.
        """
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        self._after_cr = self._after_cr or chunk.endswith(b"\r")
        events: list[StreamEvent] = []
        for piece in chunk.splitlines(keepends=True):
            self._line += piece
            if len(self._line) + self._size > self._max_bytes:
                raise EventTooLongError
            if piece.endswith((b"\n", b"\r")):
                end = -2 if piece.endswith(b"\r\n") else -1
                line = bytes(self._line[:end])
                self._line.clear()
                event = self._take(line)
                if event is not None:
                    events.append(event)
        return events

    def _take(self, line: bytes) -> StreamEvent | None:
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._finish()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(value)
                self._size += len(value) + 1
            case b"event":
                self._name = value.decode("utf-8", "replace")
            case b"id" if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
            case b"retry" if value.isdigit() and len(value) < 16:
                self._retry_ms = int(value)
        return None

    def _finish(self) -> StreamEvent | None:
        event = StreamEvent(name=self._name, data=b"\n".join(self._data), id=self._id, retry_ms=self._retry_ms)
        self._clear()
        empty = not event.data and event.id is None and event.retry_ms is None
        return None if empty else event
