"""Grep: lines of files by a pattern."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from hilt.builtins.files.reach import existing, passed_over, path_subjects, refuse_irregular, workspace_of
from hilt.core.args import Args
from hilt.core.files.path import printable
from hilt.core.files.query import FileMatches, GrepFound, GrepQuery, NumberedLine
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment

MATCHES_MAX = 200
LINE_MAX_CHARS = 500
CONTEXT_MAX = 10
CUT_MARK = " [line cut]"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepArgs:
    """Arguments of `Grep`."""

    pattern: Annotated[str, Field(description="Regular expression (RE2 syntax), held against single lines.")]
    path: Annotated[str, Field(description="Directory or file to search, relative to the workspace.")] = "."
    glob: Annotated[
        str | None,
        Field(description="Only files like this, for example '*.py' (at any depth) or 'src/**/*.{ts,tsx}'."),
    ] = None
    literal: Annotated[bool, Field(description="Take the pattern as plain text.")] = False
    ignore_case: Annotated[bool, Field(description="Take upper and lower case as equal.")] = False
    context: Annotated[int, Field(ge=0, le=CONTEXT_MAX, description="Lines to show before and after each match.")] = 0
    output: Annotated[
        Literal["lines", "files", "count"],
        Field(description="Matching lines, only the paths, or the number of matching lines a file."),
    ] = "lines"
    include_ignored: Annotated[
        bool, Field(description="Also search what .gitignore names and what lies below .git.")
    ] = False


class Grep:
    """Returns the lines that match a pattern."""

    _args = Args(GrepArgs)
    read_only = True
    spec = ToolSpec(
        "Grep",
        "Return the lines of files that match a regular expression, as path:line:text. "
        "Use it to find where a name or text occurs in a tree of files. "
        "Do not use it to find files by name (Glob) or to read a file whose path you know (Read). "
        f"Limits: {MATCHES_MAX} matches, {LINE_MAX_CHARS} characters a line, 20 seconds; "
        "binary files and files over 10 MiB are passed over; there is no look-around or back-reference.",
        _args.schema,
    )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show path and pattern to patterns."""
        args = self._args.decode(call)
        return path_subjects(args.path, args.pattern)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return the matches and what was passed over."""
        args = self._args.decode(call)
        workspace = workspace_of(env)
        found = await existing(workspace, args.path)
        if found.kind != "directory":
            refuse_irregular(args.path, found)
        answer = await workspace.grep(
            GrepQuery(
                pattern=args.pattern,
                path=args.path,
                glob=args.glob,
                literal=args.literal,
                ignore_case=args.ignore_case,
                context=args.context,
                include_ignored=args.include_ignored,
                lines_wanted=args.output == "lines",
                limit=MATCHES_MAX,
            )
        )
        return ToolResult.text(call.id, "\n".join(_report(answer, args)))


def _report(found: GrepFound, args: GrepArgs) -> Iterator[str]:
    match args.output:
        case "files":
            yield from (printable(file.path) for file in found.files)
        case "count":
            yield from (f"{printable(file.path)}:{file.count}" for file in found.files)
        case _:
            yield from _lines(found.files, separated=args.context > 0)
    if not found.files:
        yield "(no line matches)"
    if found.more:
        yield f"(more than {MATCHES_MAX} matches; the rest is left out, use a narrower pattern, path or glob)"
    if found.binary:
        yield f"({found.binary} binary passed over)"
    if found.too_large:
        yield f"({found.too_large} over 10 MiB passed over)"
    yield from passed_over(ignored=found.ignored, unreadable=found.unreadable, timed_out=found.timed_out)


def _lines(files: tuple[FileMatches, ...], *, separated: bool) -> Iterator[str]:
    """Yield matches as path:number:text, context as path-number-text, `--` between groups apart."""
    groups = [(printable(file.path), group) for file in files for group in file.groups]
    for index, (path, group) in enumerate(groups):
        if separated and index:
            yield "--"
        yield from (_shown(path, line) for line in group)


def _shown(path: str, line: NumberedLine) -> str:
    mark = ":" if line.matches else "-"
    text = line.text[: 4 * LINE_MAX_CHARS + 4].decode("utf-8", "replace")
    if len(text) > LINE_MAX_CHARS:
        text = text[:LINE_MAX_CHARS] + CUT_MARK
    return f"{path}{mark}{line.number}{mark}{text}"
