"""What gave way to summaries: a line a message, appended before the record that no longer holds them is replaced.

A process that is killed between the two leaves lines that no record counts. They are not read, and the lines that a
later summary writes under the same numbers come behind them and take their place.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hilt.adapters.store_jsonl import files
from hilt.adapters.store_jsonl.events import warn_of_bad
from hilt.adapters.store_jsonl.lines import read_objects, to_line
from hilt.core.earlier import EarlierMessage
from hilt.core.redaction import Redactor

VERSION: Final = "hilt-earlier/1"


def kept_lines(session_id: str, gone: Sequence[EarlierMessage], redactor: Redactor) -> bytes:
    """Return the messages as lines, with known secrets masked."""
    return b"".join(
        to_line(
            {"v": VERSION, "session_id": session_id, "number": one.number, "role": one.role, "text": one.text}, redactor
        )
        for one in gone
    )


def read_kept(path: Path, session_id: str, *, last: int) -> Sequence[EarlierMessage]:
    """Return the messages up to number `last`, in order; a missing file reads as empty."""
    objects, bad = read_objects(files.read(path) or b"")
    found: dict[int, EarlierMessage] = {}
    for line_number, line in objects:
        number, role, text = line.get("number"), line.get("role"), line.get("text")
        readable = isinstance(number, int) and isinstance(role, str) and isinstance(text, str)
        if line.get("v") != VERSION or line.get("session_id") != session_id or not readable:
            bad.append(line_number)
        elif isinstance(number, int) and number <= last:
            found[number] = EarlierMessage(number=number, role=str(role), text=str(text))
    warn_of_bad(path.name, bad)
    return [found[number] for number in sorted(found)]
