"""`Workspace` over a disk: blocking calls run in worker threads, errors become what the model reads."""

import contextlib
import errno
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import anyio
import anyio.to_thread

from hilt.adapters.workspace_local.disk import (
    HASHED_MAX_BYTES,
    Digest,
    Disk,
    NotRegularError,
    OutsideError,
    Spot,
    TooLongError,
    chunks,
    version_of,
)
from hilt.core.errors import ToolError
from hilt.core.files.glob import Glob
from hilt.core.files.lines import LinePattern, window
from hilt.core.files.path import normalised
from hilt.core.files.query import FileMatches, GlobFound, GlobQuery, GrepFound, GrepQuery
from hilt.core.files.search import EntryKind, Findings, Search
from hilt.ports.workspace import DirEntry, FileBytes, FileKind, FileStat, FileVersion, FileWindow, Located

SEARCH_BUDGET_S = 20.0
_SEARCH_GRACE_S = 0.25
_FILE_THREADS = 16
_SEARCH_THREADS = 4

T = TypeVar("T")


class LocalWorkspace:
    """Files below `root` and `extra_roots`; see `Workspace` for what each method promises."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        extra_roots: Sequence[str | os.PathLike[str]] = (),
        *,
        search_budget_s: float = SEARCH_BUDGET_S,
        one_step: bool = True,
    ) -> None:
        """Open the roots; `one_step` False refrains from the kernel's guarded open.

        Raises:
            OSError: A root is no directory or cannot be opened.
        """
        self._disk = Disk(os.fspath(root), [os.fspath(one) for one in extra_roots], one_step=one_step)
        self._search_budget_s = search_budget_s
        self._file_threads = anyio.CapacityLimiter(_FILE_THREADS)
        self._search_threads = anyio.CapacityLimiter(_SEARCH_THREADS)

    def close(self) -> None:
        """Let the roots go; the workspace is of no use after that."""
        self._disk.close()

    @property
    def name(self) -> str:
        """The real path of the root."""
        return self._disk.roots[0].path

    async def locate(self, path: str) -> Located:
        """See `Workspace.locate`."""
        return await self._read(lambda: self._located(path))

    async def stat(self, path: str) -> FileStat | None:
        """See `Workspace.stat`."""
        with _translated("look at", path):
            try:
                status = await self._read(lambda: self._disk.stat(self._disk.place(path)))
            except (FileNotFoundError, NotADirectoryError):
                return None
        return FileStat(kind=_kind(status.st_mode), size_bytes=status.st_size)

    async def list_dir(self, path: str) -> tuple[DirEntry, ...]:
        """See `Workspace.list_dir`."""
        with _translated("list", path):
            return await self._read(lambda: tuple(self._entries(self._disk.place(path))))

    async def read(self, path: str, *, max_bytes: int) -> FileBytes:
        """See `Workspace.read`."""

        def work() -> FileBytes:
            spot = self._disk.place(path)
            content = self._disk.content(spot, max_bytes)
            return FileBytes(content=content, version=self._version(spot, content))

        with _translated("read", path):
            return await self._read(work)

    async def read_window(self, path: str, *, first: int, count: int, line_max_bytes: int) -> FileWindow:
        """See `Workspace.read_window`."""
        stopped = threading.Event()

        def work() -> FileWindow:
            with self._disk.reading(self._disk.place(path)) as (fd, status):
                digest = Digest(status)
                size = 0

                def stream() -> Iterator[bytes]:
                    nonlocal size
                    for chunk in chunks(fd):
                        if stopped.is_set():
                            return
                        size += len(chunk)
                        digest.add(chunk)
                        yield chunk

                found = window(stream(), first=first, count=count, line_max_bytes=line_max_bytes)
                return FileWindow(
                    head=found.head,
                    lines=found.lines,
                    total_lines=found.total_lines,
                    size_bytes=size,
                    version=FileVersion(digest.version()),
                )

        with _translated("read", path):
            try:
                return await self._read(work)
            finally:
                stopped.set()

    async def glob(self, query: GlobQuery) -> GlobFound:
        """See `Workspace.glob`."""
        pattern = Glob(query.pattern)

        def work(expired: Callable[[], bool], findings: Findings) -> None:
            self._search(query.path, query.include_ignored, expired, findings).glob(pattern)

        findings, timed_out, prefix = await self._searched(query.path, work)
        findings.paths = [prefix + path for path in findings.paths]
        return findings.globbed(query.limit, timed_out=timed_out)

    async def grep(self, query: GrepQuery) -> GrepFound:
        """See `Workspace.grep`."""
        pattern = LinePattern(query.pattern, literal=query.literal, ignore_case=query.ignore_case)
        if query.glob:
            Glob(query.glob, any_depth=True)

        def work(expired: Callable[[], bool], findings: Findings) -> None:
            single = stat.S_ISREG(self._disk.stat(self._disk.place(query.path)).st_mode)
            search = self._search(query.path, query.include_ignored, expired, findings)
            search.grep(pattern, query, single=single)

        findings, timed_out, prefix = await self._searched(query.path, work)
        findings.files = [
            FileMatches(path=prefix + found.path, count=found.count, groups=found.groups) for found in findings.files
        ]
        return findings.grepped(timed_out=timed_out)

    async def write(self, path: str, content: bytes, *, expect: FileVersion | None) -> FileVersion:
        """See `Workspace.write`."""

        def work() -> FileVersion:
            spot = self._disk.followed(self._disk.place(path))
            if expect is None:
                self._disk.create(spot, (content,))
            else:
                self._disk.replace(spot, content, expect)
            return self._version(spot, content)

        with _translated("write", path):
            return await self._change(work)

    async def copy(self, source: str, destination: str) -> None:
        """See `Workspace.copy`."""

        def work() -> None:
            with _translated("copy", source):
                start = self._disk.place(source)
                self._disk.stat(start)
            self._disk.copy(start, self._disk.place(destination))

        with _translated("copy to", destination):
            await self._change(work)

    async def move(self, source: str, destination: str) -> None:
        """See `Workspace.move`."""

        def work() -> None:
            with _translated("move", source):
                start = self._disk.place(source)
                self._disk.lstat(start)
            self._disk.move(start, self._disk.place(destination))

        with _translated("move to", destination):
            await self._change(work)

    async def remove(self, path: str) -> None:
        """See `Workspace.remove`."""
        with _translated("remove", path):
            await self._change(lambda: self._disk.remove(self._disk.place(path)))

    # ------------------------------------------------------------ threads

    async def _read(self, work: Callable[[], T]) -> T:
        """Run a call that changes nothing; a cancelled caller does not wait for it."""
        return await anyio.to_thread.run_sync(work, limiter=self._file_threads, abandon_on_cancel=True)

    async def _change(self, work: Callable[[], T]) -> T:
        """Run a call that changes something to its end, whatever becomes of the caller."""
        return await anyio.to_thread.run_sync(work, limiter=self._file_threads)

    async def _searched(
        self, path: str, work: Callable[[Callable[[], bool], Findings], None]
    ) -> tuple[Findings, bool, str]:
        """Run a search for its time at most; return its findings, whether time ran out, the paths' prefix.

        A pattern that holds a thread past its time is left behind: it stops at the next line or block.
        """
        findings = Findings()
        stopped = threading.Event()
        ends = time.monotonic() + self._search_budget_s
        late = False

        def expired() -> bool:
            nonlocal late
            late = late or stopped.is_set() or time.monotonic() > ends
            return late

        with _translated("search", path):
            try:
                with anyio.move_on_after(self._search_budget_s + _SEARCH_GRACE_S) as scope:
                    await anyio.to_thread.run_sync(
                        work, expired, findings, limiter=self._search_threads, abandon_on_cancel=True
                    )
            finally:
                stopped.set()
            spot = self._disk.place(path)
        prefix = "" if spot.root is self._disk.roots[0] else f"{spot.root.path}/"
        return findings, late or scope.cancelled_caught, prefix

    # ------------------------------------------------------------ in a worker thread

    def _version(self, spot: Spot, content: bytes) -> FileVersion:
        """Return the version of what was just read or written, whatever another program did since."""
        short = len(content) <= HASHED_MAX_BYTES
        return FileVersion(version_of(content) if short else self._disk.version(spot))

    def _located(self, path: str) -> Located:
        written = self._disk.absolute(path)
        try:
            resolved = normalised(os.path.realpath(written))
        except (OSError, ValueError):
            resolved = written
        return Located(written=self._disk.relative(written), resolved=self._disk.relative(resolved))

    def _entries(self, spot: Spot) -> Iterator[DirEntry]:
        fd = self._disk.open(spot, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for name in sorted(os.listdir(fd)):
                with contextlib.suppress(FileNotFoundError):  # gone since
                    mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
                    yield DirEntry(name=name, kind=_kind(mode))
        finally:
            os.close(fd)

    def _search(self, path: str, include_ignored: bool, expired: Callable[[], bool], findings: Findings) -> Search:
        spot = self._disk.place(path)
        return Search(
            tree=_RootTree(self._disk, spot),
            start=spot.path,
            include_ignored=include_ignored,
            expired=expired,
            findings=findings,
        )


class _RootTree:
    """The root of one place, as a search sees it."""

    def __init__(self, disk: Disk, spot: Spot) -> None:
        self._disk = disk
        self._root = spot.root

    def entries(self, path: str) -> list[tuple[str, EntryKind]]:
        """See `Tree.entries`."""
        fd = self._disk.open(Spot(self._root, path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            with os.scandir(fd) as found:
                return [(entry.name, _entry_kind(entry)) for entry in found]
        finally:
            os.close(fd)

    def content(self, path: str, max_bytes: int) -> bytes | None:
        """See `Tree.content`."""
        try:
            return self._disk.content(Spot(self._root, path), max_bytes)
        except TooLongError:
            return None


def _entry_kind(entry: "os.DirEntry[str]") -> EntryKind:
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _kind(mode: int) -> FileKind:
    kinds: dict[int, FileKind] = {
        stat.S_IFREG: "file",
        stat.S_IFDIR: "directory",
        stat.S_IFLNK: "link",
        stat.S_IFIFO: "pipe",
        stat.S_IFSOCK: "socket",
    }
    return kinds.get(stat.S_IFMT(mode), "device")


_REFUSED = {
    errno.ENOENT: "{path} does not exist",
    errno.EEXIST: "{path} exists already",
    errno.ENOTEMPTY: "{path} is a directory with entries; remove those first",
    errno.EBUSY: "{path} is a root of the workspace or in use",
    errno.ENOTDIR: "{path} is no directory, or leads through a file",
    errno.ELOOP: "{path} leads through a link that leads nowhere",
    errno.ENOTSUP: "{path} lies on another disk, and only a file can be moved there",
    errno.ESTALE: "{path} has changed since it was read; read it again",
}


@contextlib.contextmanager
def _translated(doing: str, path: str) -> Iterator[None]:
    """Turn what the file system says into an error that the model reads."""
    shown = repr(path)
    try:
        yield
    except (OutsideError, UnicodeEncodeError):
        named = "the path" if path.startswith(("/", "~")) else shown
        raise ToolError.access_denied(f"{named} leads outside the workspace") from None
    except NotRegularError as exc:
        raise ToolError.execution_failed(f"{shown} is a {_kind(exc.mode)}, not a regular file") from None
    except TooLongError as exc:
        raise ToolError.execution_failed(f"{shown} has {exc.size} bytes, too many to {doing} at once") from None
    except OSError as exc:
        if exc.errno == errno.EXDEV:
            raise ToolError.access_denied(f"{shown} leads through a link out of the workspace") from None
        reason = _REFUSED.get(exc.errno or 0, f"cannot {doing} {{path}}: {os.strerror(exc.errno or 0)}")
        raise ToolError.execution_failed(reason.replace("{path}", shown)) from None
