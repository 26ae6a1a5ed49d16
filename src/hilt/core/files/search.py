"""Finding files and lines in a tree: what is asked, what was found, and the walk, over any kind of tree."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from hilt.core.files.glob import Glob
from hilt.core.files.ignore import IGNORE_FILE, IGNORE_MAX_BYTES, IgnoreRules
from hilt.core.files.lines import LinePattern, with_context
from hilt.core.files.path import below, child, split_last
from hilt.core.files.query import FileMatches, GlobFound, GrepFound, GrepQuery, NumberedLine

GREP_FILE_MAX_BYTES = 10 << 20
_BINARY_SNIFF_BYTES = 1 << 16
_GIT = ".git"

EntryKind = Literal["file", "directory", "other"]


class Tree(Protocol):
    """A tree of files as a search sees it: paths relative to the root, `.`; links are `other`."""

    def entries(self, path: str) -> list[tuple[str, EntryKind]]:
        """Return name and kind of all entries of a directory.

        Raises:
            OSError: It cannot be listed.
        """
        ...

    def content(self, path: str, max_bytes: int) -> bytes | None:
        """Return the bytes of a regular file, None when it is longer than `max_bytes`.

        Raises:
            OSError: It cannot be read, or is no regular file.
        """
        ...


@dataclass(slots=True)
class Findings:
    """What a running search has found so far; a reader may look at it from another thread at any time."""

    paths: list[str] = field(default_factory=list)
    files: list[FileMatches] = field(default_factory=list)
    more: bool = False
    binary: int = 0
    too_large: int = 0
    ignored: int = 0
    unreadable: int = 0

    def globbed(self, limit: int, *, timed_out: bool) -> GlobFound:
        """Return the answer of a glob."""
        paths = sorted(self.paths)
        return GlobFound(
            paths=tuple(paths[:limit]),
            left_out=max(0, len(paths) - limit),
            ignored=self.ignored,
            unreadable=self.unreadable,
            timed_out=timed_out,
        )

    def grepped(self, *, timed_out: bool) -> GrepFound:
        """Return the answer of a grep."""
        return GrepFound(
            files=tuple(self.files),
            more=self.more,
            binary=self.binary,
            too_large=self.too_large,
            ignored=self.ignored,
            unreadable=self.unreadable,
            timed_out=timed_out,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One search of one tree; `expired` is asked often and ends it, with what was found so far."""

    tree: Tree
    start: str
    include_ignored: bool
    expired: Callable[[], bool]
    findings: Findings

    def glob(self, pattern: Glob) -> None:
        """Collect the paths below the start that match."""
        first = self.start if pattern.start == "." else child(self.start, pattern.start)
        self.tree.entries(self.start)
        try:
            self.tree.entries(first)
        except (FileNotFoundError, NotADirectoryError):
            return
        for path, kind in self._walk(first):
            relative = below(self.start, path) if self.start != "." else path
            if (kind == "directory") == pattern.directories and relative and pattern.matches(relative):
                self.findings.paths.append(f"{path}/" if pattern.directories else path)

    def grep(self, pattern: LinePattern, query: GrepQuery, *, single: bool) -> None:
        """Collect the matching lines below the start, or, where it is a `single` file, in it."""
        wanted = Glob(query.glob, any_depth=True) if query.glob else None
        if single:
            self._grep_file(self.start, pattern, query, query.limit)
            return
        self.tree.entries(self.start)
        left = query.limit
        for path, kind in self._walk(self.start):
            relative = path if self.start == "." else path[len(self.start) + 1 :]
            if kind != "file" or (wanted is not None and not wanted.matches(relative)):
                continue
            left -= self._grep_file(path, pattern, query, left)
            if self.findings.more:
                return

    def _grep_file(self, path: str, pattern: LinePattern, query: GrepQuery, left: int) -> int:
        """Search one file; return by how much the limit sinks."""
        content = self._text(path)
        if content is None:
            return 0
        if not query.lines_wanted:
            count = sum(1 for _ in pattern.matching(content, expired=self.expired))
            if count and not left:
                self.findings.more = True
            elif count:
                self.findings.files.append(FileMatches(path=path, count=count))
            return min(count, 1)
        lines: list[NumberedLine] = []
        for line in pattern.matching(content, expired=self.expired):
            if len(lines) == left:
                self.findings.more = True
                break
            lines.append(line)
        if lines:
            groups = tuple(tuple(group) for group in with_context(content, lines, query.context))
            self.findings.files.append(FileMatches(path=path, count=len(lines), groups=groups))
        return len(lines)

    def _text(self, path: str) -> bytes | None:
        """Return the file's text with LF line ends, None when it is passed over, which is counted."""
        try:
            content = self.tree.content(path, GREP_FILE_MAX_BYTES)
        except OSError:
            self.findings.unreadable += 1
            return None
        if content is None:
            self.findings.too_large += 1
        elif b"\0" in content[:_BINARY_SNIFF_BYTES]:
            self.findings.binary += 1
        else:
            return content.replace(b"\r\n", b"\n")
        return None

    def _walk(self, start: str) -> Iterator[tuple[str, EntryKind]]:
        """Yield the entries below `start` in order of their names, without links followed."""
        if not self.include_ignored and _GIT in start.split("/"):
            self.findings.ignored += 1
            return
        pending: list[tuple[str, EntryKind, IgnoreRules]] = [(start, "directory", self._rules_above(start))]
        while pending and not self.expired():
            path, kind, rules = pending.pop()
            if path != start:
                yield path, kind
            if kind != "directory":
                continue
            try:
                entries = self.tree.entries(path)
            except OSError:
                self.findings.unreadable += 1
                continue
            inner = self._entered(rules, path, {name for name, _ in entries})
            for name, inner_kind in sorted(entries, reverse=True):
                inner_path = child(path, name)
                if not self._left_out(inner, inner_path, name, inner_kind):
                    pending.append((inner_path, inner_kind, inner))

    def _left_out(self, rules: IgnoreRules, path: str, name: str, kind: EntryKind) -> bool:
        if self.include_ignored:
            return False
        if name == _GIT:
            return True
        ignored = rules.ignores(path, directory=kind == "directory")
        self.findings.ignored += ignored
        return ignored

    def _rules_above(self, start: str) -> IgnoreRules:
        """Return the rules of the directories above `start`, which hold in it too."""
        rules = IgnoreRules()
        if self.include_ignored or start == ".":
            return rules
        above: list[str] = []
        path = start
        while path != ".":
            path = split_last(path)[0]
            above.append(path)
        for directory in reversed(above):
            rules = self._entered(rules, directory, {IGNORE_FILE})
        return rules

    def _entered(self, rules: IgnoreRules, directory: str, names: set[str]) -> IgnoreRules:
        if self.include_ignored or IGNORE_FILE not in names:
            return rules
        try:
            content = self.tree.content(child(directory, IGNORE_FILE), IGNORE_MAX_BYTES)
        except OSError:
            return rules
        return rules.entering(directory, content)
