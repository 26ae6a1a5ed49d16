"""Files under one root: read, find, compare-and-replace, and the memory of what a session has read."""

from collections.abc import Mapping
from typing import Literal, NewType, Protocol

from hilt.core.files.query import GlobFound, GlobQuery, GrepFound, GrepQuery
from hilt.core.frozen import frozen

LEDGER_MAX_FILES = 10_000
"""Files that a ledger remembers; the one longest untouched goes first."""

FileVersion = NewType("FileVersion", str)
"""Names one content of one file; equal versions mean that nothing has changed. Opaque text."""

FileKind = Literal["file", "directory", "link", "pipe", "socket", "device"]


@frozen
class Located:
    """A path as rules see it: `written` without links followed, `resolved` with; relative inside the root."""

    written: str
    resolved: str


@frozen
class FileStat:
    """What a path leads to. `kind` is never `link`: links that stay inside are followed."""

    kind: FileKind
    size_bytes: int = 0


@frozen
class DirEntry:
    """One name in a directory; a link is `link`, whatever it leads to."""

    name: str
    kind: FileKind


@frozen
class FileBytes:
    """A whole file as it was at one moment."""

    content: bytes
    version: FileVersion


@frozen
class FileWindow:
    """Some lines of a file, without their line ends (LF or CRLF), and what they belong to.

    `head` is the first bytes of the file, at most 4,096; `lines` holds the asked-for lines that exist, each
    cut to the asked-for number of bytes; `total_lines` counts the lines of the whole file.
    """

    head: bytes
    lines: tuple[bytes, ...]
    total_lines: int
    size_bytes: int
    version: FileVersion


class Workspace(Protocol):
    """The files of one session; every path is relative to its root, or absolute inside it or an extra root.

    Every method but `locate` raises `ToolError` with `access_denied`, and opens nothing, for a path that lies
    or leads outside, and for `/proc`, `/sys` and `/dev`; with `execution_failed` for what the file system
    refuses. Messages hold the path as it was given, and no absolute path from outside. Paths in answers have
    `/` between their parts and are relative to the root, absolute in an extra root.
    """

    @property
    def name(self) -> str:
        """The root for people and hooks; a real path only where files are on a disk."""
        ...

    async def locate(self, path: str) -> Located:
        """Return the path in both spellings; opens nothing and never raises, whatever the path is."""
        ...

    async def stat(self, path: str) -> FileStat | None:
        """Return what the path leads to, without opening it; None when nothing is there."""
        ...

    async def list_dir(self, path: str) -> tuple[DirEntry, ...]:
        """Return all entries of a directory, sorted by name."""
        ...

    async def read(self, path: str, *, max_bytes: int) -> FileBytes:
        """Return a whole regular file.

        Raises:
            ToolError: It is no regular file, or longer than `max_bytes`.
        """
        ...

    async def read_window(self, path: str, *, first: int, count: int, line_max_bytes: int) -> FileWindow:
        """Return `count` lines of a regular file of any size from line `first`, counted from 1.

        Raises:
            ToolError: It is no regular file.
        """
        ...

    async def glob(self, query: GlobQuery) -> GlobFound:
        """Return the files below `query.path` that match, found within the time of one search."""
        ...

    async def grep(self, query: GrepQuery) -> GrepFound:
        """Return the matching lines below `query.path`, or in that file, found within the time."""
        ...

    async def write(self, path: str, content: bytes, *, expect: FileVersion | None) -> FileVersion:
        """Make a new file (`expect` None), or replace one, in one step; return its version.

        Missing parents are made. A replaced file keeps its mode bits; after a failure the old content stands,
        or nothing.

        Raises:
            ToolError: With `expect` None the path exists; else the file is gone or has another version.
        """
        ...

    async def copy(self, source: str, destination: str) -> None:
        """Copy one regular file with its mode bits; the parents of the destination are made.

        Raises:
            ToolError: The source is no regular file, or the destination exists.
        """
        ...

    async def move(self, source: str, destination: str) -> None:
        """Move a file, link or directory; the parents of the destination are made.

        Raises:
            ToolError: The source does not exist or is a root, or the destination exists.
        """
        ...

    async def remove(self, path: str) -> None:
        """Remove one file, one link (not what it leads to) or one empty directory.

        Raises:
            ToolError: It does not exist, is a root, or is a directory with entries.
        """
        ...


class ReadLedger:
    """Which version of which file one session has read or written last; keys are resolved paths."""

    __slots__ = ("_versions",)

    def __init__(self, versions: Mapping[str, str] | None = None) -> None:
        """Start empty, or as `exported` gave it."""
        self._versions: dict[str, FileVersion] = {}
        for path, version in (versions or {}).items():
            self.note(path, FileVersion(version))

    def note(self, path: str, version: FileVersion) -> None:
        """Remember that the session knows this version of the file."""
        self._versions.pop(path, None)
        self._versions[path] = version
        while len(self._versions) > LEDGER_MAX_FILES:
            self._versions.pop(next(iter(self._versions)))

    def seen(self, path: str) -> FileVersion | None:
        """Return the version that the session knows, None when it has not read the file."""
        return self._versions.get(path)

    def rename(self, source: str, destination: str) -> None:
        """Carry over what is known of `source`, also of the files below it, to its new path."""
        for path in list(self._versions):
            if path == source or path.startswith(f"{source}/"):
                version = self._versions.pop(path)
                self.note(destination + path[len(source) :], version)

    def forget(self, path: str) -> None:
        """Drop what is known of a file."""
        self._versions.pop(path, None)

    def exported(self) -> dict[str, str]:
        """Return path to version, longest untouched first, to be stored with the session."""
        return dict(self._versions)
