"""The event log: a file of lines for each session, each with its version."""

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from hilt.adapters.store_jsonl import files
from hilt.adapters.store_jsonl.folder import Folder
from hilt.adapters.store_jsonl.lines import TRUNCATED, read_objects, to_line
from hilt.core.errors import HarnessFault
from hilt.core.event import Event, body_to_json
from hilt.core.session import SessionId

logger = logging.getLogger(__name__)

VERSION: Final = "hilt-event/1"


class JsonlEvents:
    """See `EventLog`."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    async def append(self, session_id: SessionId, events: Sequence[Event], *, durable: bool = False) -> None:
        """See `EventLog.append`."""
        if events:
            await self._folder.run(self._append, session_id, events, durable=durable)

    def _append(self, session_id: str, events: Sequence[Event], *, durable: bool) -> None:
        lines = b"".join(to_line(_envelope(event), self._folder.redactor) for event in events)
        files.append(self._folder.file(session_id, files.EVENTS), lines, durable=durable)

    async def read(self, session_id: SessionId, *, after: int = 0) -> Sequence[Mapping[str, object]]:
        """See `EventLog.read`."""
        return await self._folder.run(self._read, session_id, after)

    def _read(self, session_id: str, after: int) -> Sequence[Mapping[str, object]]:
        path = self._folder.file(session_id, files.EVENTS)
        objects, bad = read_objects(files.read(path) or b"")
        found: list[tuple[int, Mapping[str, object]]] = []
        for number, line in objects:
            if line.get("v") != VERSION:
                raise HarnessFault(
                    f"{path.name}: line {number} has version {line.get('v')!r}, this hilt reads {VERSION!r}"
                )
            seq, body = line.get("seq"), line.get("ev")
            if not isinstance(seq, int) or not isinstance(body, dict):
                bad.append(number)
            elif seq > after:
                found.append((seq, _flat(line, body)))
        warn_of_bad(path.name, bad)
        found.sort(key=lambda item: item[0])
        return [event for _, event in found]

    async def delete(self, session_id: SessionId) -> None:
        """See `EventLog.delete`."""
        await self._folder.run(self._folder.file(session_id, files.EVENTS).unlink, missing_ok=True)


def _envelope(event: Event) -> dict[str, object]:
    return {
        "v": VERSION,
        "seq": event.seq,
        "run": event.run,
        "time": event.time,
        "ev": {"turn": event.turn, **body_to_json(event.body)},
    }


def _flat(line: Mapping[str, object], body: Mapping[str, object]) -> dict[str, object]:
    event: dict[str, object] = {
        "seq": line["seq"],
        "run": line.get("run", ""),
        "turn": body.get("turn", 0),
        "time": line.get("time", ""),
        **body,
    }
    if TRUNCATED in line:
        event[TRUNCATED] = True
    return event


def warn_of_bad(name: str, numbers: Sequence[int]) -> None:
    """Log the lines of a file that were passed over, in one warning."""
    if numbers:
        shown = ",".join(map(str, sorted(numbers)[:20]))
        logger.warning("store_lines_unreadable file=%s count=%d lines=%s", name, len(numbers), shown)
