"""A workspace in memory: regular files and directories, no links, pipes or mode bits."""

import contextlib
import errno
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping

import anyio
import anyio.to_thread

from hilt.core.errors import ToolError
from hilt.core.files.glob import Glob
from hilt.core.files.lines import LinePattern, window
from hilt.core.files.path import below, child, joined, split_last
from hilt.core.files.query import GlobFound, GlobQuery, GrepFound, GrepQuery
from hilt.core.files.search import EntryKind, Findings, Search
from hilt.ports.workspace import DirEntry, FileBytes, FileStat, FileVersion, FileWindow, Located


class InMemoryWorkspace:
    """Files of one process; see `Workspace` for what each method promises."""

    def __init__(
        self,
        files: Mapping[str, bytes | str] | None = None,
        *,
        root: str = "/workspace",
        search_budget_s: float = 20.0,
    ) -> None:
        """Start with some files, paths relative to the root."""
        self._root = root
        self._search_budget_s = search_budget_s
        self._files: dict[str, bytes] = {}
        self._directories: set[str] = {"."}
        for path, content in (files or {}).items():
            self._make_parents(path)
            self._files[path] = content.encode() if isinstance(content, str) else content

    @property
    def name(self) -> str:
        """The root's name; nothing on a disk."""
        return self._root

    async def locate(self, path: str) -> Located:
        """See `Workspace.locate`."""
        absolute = path if path.startswith("~") else joined(self._root, path)
        shown = below(self._root, absolute) or absolute
        return Located(written=shown, resolved=shown)

    async def stat(self, path: str) -> FileStat | None:
        """See `Workspace.stat`."""
        place = self._place(path)
        if place in self._files:
            return FileStat(kind="file", size_bytes=len(self._files[place]))
        return FileStat(kind="directory") if place in self._directories else None

    async def list_dir(self, path: str) -> tuple[DirEntry, ...]:
        """See `Workspace.list_dir`."""
        with _translated(path):
            found = sorted(self.entries(self._place(path)))
        return tuple(DirEntry(name=name, kind="file" if kind == "file" else "directory") for name, kind in found)

    async def read(self, path: str, *, max_bytes: int) -> FileBytes:
        """See `Workspace.read`."""
        content = self._content(path)
        if len(content) > max_bytes:
            raise ToolError.execution_failed(f"{path!r} has {len(content)} bytes, too many to read at once")
        return FileBytes(content=content, version=_version(content))

    async def read_window(self, path: str, *, first: int, count: int, line_max_bytes: int) -> FileWindow:
        """See `Workspace.read_window`."""
        content = self._content(path)
        stream = (content,) if content else ()
        found = window(stream, first=first, count=count, line_max_bytes=line_max_bytes)
        return FileWindow(
            head=found.head,
            lines=found.lines,
            total_lines=found.total_lines,
            size_bytes=len(content),
            version=_version(content),
        )

    async def glob(self, query: GlobQuery) -> GlobFound:
        """See `Workspace.glob`."""
        pattern = Glob(query.pattern)
        findings, timed_out = await self._searched(
            query.path, query.include_ignored, lambda search: search.glob(pattern)
        )
        return findings.globbed(query.limit, timed_out=timed_out)

    async def grep(self, query: GrepQuery) -> GrepFound:
        """See `Workspace.grep`."""
        pattern = LinePattern(query.pattern, literal=query.literal, ignore_case=query.ignore_case)
        if query.glob:
            Glob(query.glob, any_depth=True)
        single = self._place(query.path) in self._files
        findings, timed_out = await self._searched(
            query.path, query.include_ignored, lambda search: search.grep(pattern, query, single=single)
        )
        return findings.grepped(timed_out=timed_out)

    async def write(self, path: str, content: bytes, *, expect: FileVersion | None) -> FileVersion:
        """See `Workspace.write`."""
        place = self._place(path)
        if expect is None:
            self._refuse_existing(path, place)
            with _translated(path):
                self._make_parents(place)
        elif _version(self._content(path)) != expect:
            raise ToolError.execution_failed(f"{path!r} has changed since it was read; read it again")
        self._files[place] = content
        return _version(content)

    async def copy(self, source: str, destination: str) -> None:
        """See `Workspace.copy`."""
        await self.write(destination, self._content(source), expect=None)

    async def move(self, source: str, destination: str) -> None:
        """See `Workspace.move`."""
        start, end = self._place(source), self._place(destination)
        if start == ".":
            raise ToolError.execution_failed(f"{source!r} is a root of the workspace or in use")
        if start not in self._files and start not in self._directories:
            raise ToolError.execution_failed(f"{source!r} does not exist")
        self._refuse_existing(destination, end)
        if below(start, end):
            raise ToolError.execution_failed(f"cannot move to {destination!r}: it lies in what is moved")
        with _translated(destination):
            self._make_parents(end)
        self._files = {_moved(path, start, end): content for path, content in self._files.items()}
        self._directories = {_moved(path, start, end) for path in self._directories}

    async def remove(self, path: str) -> None:
        """See `Workspace.remove`."""
        place = self._place(path)
        if place == ".":
            raise ToolError.execution_failed(f"{path!r} is a root of the workspace or in use")
        if place in self._files:
            del self._files[place]
            return
        with _translated(path):
            if self.entries(place):
                raise OSError(errno.ENOTEMPTY, "")
        self._directories.discard(place)

    # ------------------------------------------------------------ the tree that searches walk

    def entries(self, path: str) -> list[tuple[str, EntryKind]]:
        """See `Tree.entries`."""
        if path in self._files:
            raise NotADirectoryError(errno.ENOTDIR, "")
        if path not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "")
        files: list[tuple[str, EntryKind]] = [
            (name, "file") for where, name in map(split_last, list(self._files)) if where == path
        ]
        inner = [split_last(one) for one in list(self._directories) if one != "."]
        return files + [(name, "directory") for where, name in inner if where == path]

    def content(self, path: str, max_bytes: int) -> bytes | None:
        """See `Tree.content`."""
        if path not in self._files:
            raise FileNotFoundError(errno.ENOENT, "")
        content = self._files[path]
        return content if len(content) <= max_bytes else None

    # ------------------------------------------------------------ inside

    async def _searched(
        self, path: str, include_ignored: bool, work: Callable[[Search], None]
    ) -> tuple[Findings, bool]:
        findings = Findings()
        stopped = threading.Event()
        ends = time.monotonic() + self._search_budget_s
        late = False

        def expired() -> bool:
            nonlocal late
            late = late or stopped.is_set() or time.monotonic() > ends
            return late

        search = Search(
            tree=self,
            start=self._place(path),
            include_ignored=include_ignored,
            expired=expired,
            findings=findings,
        )
        with _translated(path):
            try:
                with anyio.move_on_after(self._search_budget_s + 0.25) as scope:
                    await anyio.to_thread.run_sync(work, search, abandon_on_cancel=True)
            finally:
                stopped.set()
        return findings, late or scope.cancelled_caught

    def _place(self, path: str) -> str:
        found = None if path.startswith("~") else below(self._root, joined(self._root, path))
        if found is None:
            named = "the path" if path.startswith(("/", "~")) else repr(path)
            raise ToolError.access_denied(f"{named} leads outside the workspace")
        if "\0" in path:
            raise ToolError.execution_failed("a path holds no NUL")
        return found

    def _content(self, path: str) -> bytes:
        place = self._place(path)
        if place in self._directories:
            raise ToolError.execution_failed(f"{path!r} is a directory, not a regular file")
        if place not in self._files:
            raise ToolError.execution_failed(f"{path!r} does not exist")
        return self._files[place]

    def _refuse_existing(self, path: str, place: str) -> None:
        if place in self._files or place in self._directories:
            raise ToolError.execution_failed(f"{path!r} exists already")

    def _make_parents(self, path: str) -> None:
        names = path.split("/")[:-1]
        parents = ["/".join(names[: end + 1]) for end in range(len(names))]
        if any(parent in self._files for parent in parents):
            raise NotADirectoryError(errno.ENOTDIR, "")
        self._directories.update(parents)


def _version(content: bytes) -> FileVersion:
    return FileVersion(f"sha256:{hashlib.sha256(content).hexdigest()}")


def _moved(path: str, source: str, destination: str) -> str:
    inner = below(source, path)
    if inner is None:
        return path
    return destination if inner == "." else child(destination, inner)


@contextlib.contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise ToolError.execution_failed(f"{path!r} does not exist") from None
    except NotADirectoryError:
        raise ToolError.execution_failed(f"{path!r} is no directory, or leads through a file") from None
    except OSError as exc:
        reason = "it is not empty" if exc.errno == errno.ENOTEMPTY else os.strerror(exc.errno or 0)
        raise ToolError.execution_failed(f"cannot change {path!r}: {reason}") from None
