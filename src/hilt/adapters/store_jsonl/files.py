"""The files below the lines: names, rights, appends that never mix, replacing as a whole. All calls block.

An append holds a lock on the file (`flock`) while it looks at the last byte and writes, so that a line that a
killed process left unfinished is never continued by another's.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final

DIRECTORY_MODE: Final = 0o700
FILE_MODE: Final = 0o600

RECORD: Final = ".session.json"
EVENTS: Final = ".events.jsonl"
CALLS: Final = ".tools.jsonl"
EARLIER: Final = ".earlier.jsonl"

_APPEND: Final = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_NEW: Final = os.O_CREAT | os.O_EXCL
_NO_SIZE: Final = -1


def stem(session_id: str) -> str:
    """Return the name of a session's files without their ends: readable, and different for different ids."""
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{re.sub('[^A-Za-z0-9_-]', '_', session_id[:40])}-{digest[:32]}"


def make_directory(path: Path) -> None:
    """Create a directory and the missing ones above it, each with mode 0700 whatever the umask is."""
    if path.is_dir():
        return
    make_directory(path.parent)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=DIRECTORY_MODE)
        path.chmod(DIRECTORY_MODE)


def read(path: Path) -> bytes | None:
    """Return the file's bytes, None when there is no file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


class AppendFile:
    """One file open for appending, for one thread at a time."""

    __slots__ = ("_fd", "_size", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = open_to_append(path)
        self._size = _NO_SIZE

    def append(self, lines: bytes, *, wait: bool = True, durable: bool = False) -> bool:
        """Write whole lines at the end; False when another process is writing and `wait` is not asked for.

        On a full disk nothing is left of the lines. With `durable` they are on stable storage on return.

        Raises:
            OSError: They cannot be written.
        """
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            try:
                status = os.fstat(self._fd)
                if status.st_nlink:
                    self._write(lines, status.st_size)
                    break
            finally:
                fcntl.flock(self._fd, fcntl.LOCK_UN)
            # The file was deleted since it was opened: what comes next belongs to a new one.
            os.close(self._fd)
            self._fd = open_to_append(self.path)
            self._size = _NO_SIZE
        if durable:
            self._flush(created=status.st_size == 0)
        return True

    def _write(self, lines: bytes, size: int) -> None:
        if size not in (0, self._size) and os.pread(self._fd, 1, size - 1) != b"\n":
            lines = b"\n" + lines
        try:
            done = os.write(self._fd, lines)
            while done < len(lines):
                done += os.write(self._fd, lines[done:])
        except OSError:
            os.ftruncate(self._fd, size)
            raise
        self._size = size + len(lines)

    def _flush(self, *, created: bool) -> None:
        os.fdatasync(self._fd)
        if created:
            flush_directory(self.path.parent)

    def close(self) -> None:
        """Give the file back; a closed one is not used again."""
        os.close(self._fd)


def open_to_append(path: Path) -> int:
    """Open a file for appending and return its descriptor; it and its directory are made where missing."""
    while True:
        try:
            return os.open(path, _APPEND)
        except FileNotFoundError:
            make_directory(path.parent)
        try:
            return _made(path, _APPEND)
        except FileExistsError:
            continue


def _made(path: Path, flags: int) -> int:
    """Create a file and open it; it has mode 0600 whatever the umask is."""
    fd = os.open(path, flags | _NEW, FILE_MODE)
    os.fchmod(fd, FILE_MODE)
    return fd


def append(path: Path, lines: bytes, *, durable: bool = False) -> None:
    """Append whole lines to a file, which is made when it is missing; any thread may call it.

    Raises:
        OSError: They cannot be written.
    """
    file = AppendFile(path)
    try:
        file.append(lines, durable=durable)
    finally:
        file.close()


def flush_directory(path: Path) -> None:
    """Put the names in a directory on stable storage."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def create(path: Path, content: bytes) -> bool:
    """Write a new file, complete from its first moment; False when there is one already."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    _write_whole(draft, content)
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def replace(path: Path, content: bytes) -> None:
    """Put new content in a file's place at once; the caller holds the lock of `locked`."""
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    _write_whole(draft, content)
    draft.replace(path)


def _write_whole(path: Path, content: bytes) -> None:
    make_directory(path.parent)
    with os.fdopen(_made(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "wb") as file:
        file.write(content)
        file.flush()
        os.fdatasync(file.fileno())


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bytes | None]:
    """Hold the lock of a file that is replaced as a whole, and give its content, None without a file."""
    while True:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            yield None
            return
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if _is_still(path, fd):
                with os.fdopen(os.dup(fd), "rb") as file:
                    content = file.read()
                yield content
                return
        finally:
            os.close(fd)


def _is_still(path: Path, fd: int) -> bool:
    """Whether the open file is the one that has the name now."""
    try:
        return os.path.samestat(path.stat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def remove_drafts(path: Path) -> None:
    """Remove what killed processes left of files that were to become this one."""
    for draft in path.parent.glob(f"{path.name}*.new"):
        draft.unlink(missing_ok=True)
