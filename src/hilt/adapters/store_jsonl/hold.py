"""The hold on a session: while one process has it open, no other on this host opens or deletes it.

It is a lock of the open file description on the session's event log, which the kernel lets go when the process
ends in whatever way. Appends use another kind of lock (`flock`) on the same file and are not held up.
"""

import fcntl
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hilt.adapters.store_jsonl import files
from hilt.core.errors import SessionBusyError

_SET: Final[int | None] = getattr(fcntl, "F_OFD_SETLK", None)


def hold(path: Path, session_id: str) -> Callable[[], None]:
    """Take the hold and return the function that gives it back; where the kernel has no such lock, do nothing.

    Raises:
        SessionBusyError: Another process, or another opening here, has it.
        OSError: The file cannot be opened.
    """
    if _SET is None:
        return _nothing
    fd = files.open_to_append(path)
    whole_file = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        fcntl.fcntl(fd, _SET, whole_file)
    except (BlockingIOError, PermissionError):
        os.close(fd)
        raise SessionBusyError(f"session {session_id!r} is open in another process; end that one first") from None
    except OSError:
        os.close(fd)
        raise
    return lambda: os.close(fd)


def _nothing() -> None:
    return None
