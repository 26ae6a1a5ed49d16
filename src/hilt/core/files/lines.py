"""Lines of files: which match a pattern, which lie in a window. Everything is bytes until it is shown."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import re2

from hilt.core.errors import ToolError
from hilt.core.files.query import NumberedLine

PATTERN_MAX_CHARS = 4096
HEAD_BYTES = 4096
_CHUNK_BYTES = 1 << 16
_PATTERN_MAX_MEMORY_BYTES = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LineWindow:
    """Some lines of a stream of bytes, its first bytes and the number of lines in all."""

    head: bytes
    lines: tuple[bytes, ...]
    total_lines: int


class LinePattern:
    """A pattern of RE2's syntax (or a literal) that is held against single lines, in linear time."""

    __slots__ = ("_regex",)

    def __init__(self, pattern: str, *, literal: bool = False, ignore_case: bool = False) -> None:
        """Compile.

        Raises:
            ToolError: `invalid_arguments`, with what is wrong in the pattern.
        """
        if not pattern or len(pattern) > PATTERN_MAX_CHARS:
            raise ToolError.invalid_arguments(f"a pattern has 1 to {PATTERN_MAX_CHARS} characters")
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _PATTERN_MAX_MEMORY_BYTES
        options.never_nl = True
        options.case_sensitive = not ignore_case
        try:
            text = re2.escape(pattern) if literal else pattern
            re2.compile(text.encode(), options)  # alone, so that an error shows what was written
            self._regex = re2.compile(f"(?m:{text})".encode(), options)
        except UnicodeEncodeError:
            raise ToolError.invalid_arguments("a pattern is text without lone surrogates") from None
        except re2.error as exc:
            raise ToolError.invalid_arguments(f"pattern {pattern!r} is not valid: {_reason(exc)}") from None

    def matching(self, content: bytes, *, expired: Callable[[], bool]) -> Iterator[NumberedLine]:
        """Yield the matching lines in order, until `expired()`, which is asked now and then, is true."""
        number = 1
        for block in _blocks(content):
            at = 0
            while not expired() and (found := self._regex.search(block, at)) is not None:
                start = block.rfind(b"\n", 0, found.start()) + 1
                end = block.find(b"\n", found.start())
                end = len(block) if end < 0 else end
                number += block.count(b"\n", at, start)
                yield NumberedLine(number, block[start:end])
                number += 1
                at = end + 1
                if at > len(block):
                    break
            else:
                number += block.count(b"\n", at) + 1
            if expired():
                return


def _reason(error: Exception) -> str:
    first = error.args[0] if error.args else ""
    return first.decode("utf-8", "replace") if isinstance(first, bytes) else str(first)


def _blocks(content: bytes) -> Iterator[bytes]:
    """Yield stretches of whole lines without the last line's end; a longer line stands alone."""
    start = 0
    while start < len(content):
        end = content.rfind(b"\n", start, start + _CHUNK_BYTES)
        if end < 0:
            end = content.find(b"\n", start + _CHUNK_BYTES)
        if end < 0:
            end = len(content)
        yield content[start:end]
        start = end + 1


def with_context(content: bytes, matches: Iterable[NumberedLine], context: int) -> list[list[NumberedLine]]:
    """Return the matches with up to `context` lines around each, in groups of neighbouring lines."""
    found = {line.number: line for line in matches}
    lines = content.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    groups: list[list[NumberedLine]] = []
    last = 0
    for number in sorted(found):
        first = max(1, number - context, last + 1)
        if not groups or first > last + 1:
            groups.append([])
        for near in range(first, min(len(lines), number + context) + 1):
            groups[-1].append(found.get(near) or NumberedLine(near, lines[near - 1], matches=False))
            last = near
    return groups


def window(chunks: Iterable[bytes], *, first: int, count: int, line_max_bytes: int) -> LineWindow:
    """Return `count` lines from line `first` (from 1) of a stream, each cut to `line_max_bytes`.

    Memory is bounded by what is asked for, however long the stream or its lines are. A CR before a line's end
    belongs to the end. An empty stream has no line; text after the last end is one.
    """
    head = b""
    kept: list[bytes] = []
    line = b""
    number = 1
    unfinished = False
    for chunk in chunks:
        head += chunk[: HEAD_BYTES - len(head)]
        unfinished = not chunk.endswith(b"\n")
        ends = chunk.count(b"\n")
        if number >= first + count or number + ends < first:
            number += ends
            line = b""
            continue
        *finished, rest = chunk.split(b"\n")
        for piece in finished:
            if first <= number < first + count:
                kept.append(_cut(line + piece, line_max_bytes))
            line = b""
            number += 1
        line = (line + rest)[: line_max_bytes + 1]
    if unfinished and first <= number < first + count:
        kept.append(_cut(line, line_max_bytes))
    return LineWindow(head=head, lines=tuple(kept), total_lines=number - 1 + unfinished)


def _cut(line: bytes, max_bytes: int) -> bytes:
    return line.removesuffix(b"\r")[:max_bytes]
