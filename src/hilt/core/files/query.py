"""What a search in files is asked, and what it found; kept apart from the searching, which loads more."""

from hilt.core.frozen import frozen


@frozen(kw_only=False)
class NumberedLine:
    """One line by its number from 1, without its end; `matches` is False for context."""

    number: int
    text: bytes
    matches: bool = True


@frozen
class GlobQuery:
    """Files below `path` that match `pattern`; of the hits, sorted, the first `limit` are kept."""

    pattern: str
    path: str = "."
    include_ignored: bool = False
    limit: int = 1000


@frozen
class GrepQuery:
    """Lines that match `pattern`, with `context` lines around each; at most `limit` of them.

    With `lines_wanted` False each file counts as one hit and keeps only its number of matching lines.
    """

    pattern: str
    path: str = "."
    glob: str | None = None
    literal: bool = False
    ignore_case: bool = False
    context: int = 0
    include_ignored: bool = False
    lines_wanted: bool = True
    limit: int = 200


@frozen
class GlobFound:
    """Sorted paths, how many hits were left out, and what was passed over (`ignored` counts a tree once)."""

    paths: tuple[str, ...] = ()
    left_out: int = 0
    ignored: int = 0
    unreadable: int = 0
    timed_out: bool = False


@frozen
class FileMatches:
    """The matches of one file: how many lines match, and groups of lines that follow one another."""

    path: str
    count: int
    groups: tuple[tuple[NumberedLine, ...], ...] = ()


@frozen
class GrepFound:
    """Files with matches in order of their paths, and what was passed over; `more` says the limit was met."""

    files: tuple[FileMatches, ...] = ()
    more: bool = False
    binary: int = 0
    too_large: int = 0
    ignored: int = 0
    unreadable: int = 0
    timed_out: bool = False
