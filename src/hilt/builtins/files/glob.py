"""Glob: files by their paths."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.files.reach import existing, passed_over, path_subjects, workspace_of
from hilt.core.args import Args
from hilt.core.files.path import printable
from hilt.core.files.query import GlobQuery
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment

PATHS_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobArgs:
    """Arguments of `Glob`."""

    pattern: Annotated[
        str,
        Field(
            description="Pattern of paths below 'path': *, ?, [ ], {a,b}, and ** for any number of "
            "directories. With a '/' at its end it finds directories."
        ),
    ]
    path: Annotated[str, Field(description="Directory to search, relative to the workspace.")] = "."
    include_ignored: Annotated[bool, Field(description="Also find what .gitignore names and what lies below .git.")] = (
        False
    )


class Glob:
    """Returns the paths that match a pattern, one a line."""

    _args = Args(GlobArgs)
    read_only = True
    spec = ToolSpec(
        "Glob",
        "Return the paths of files that match a pattern, sorted, one a line, relative to the workspace. "
        "Use it to find files by name or ending, for example '**/*.py' or 'docs/*.md'. "
        "Do not use it to look into files (Grep) or to list one directory (ListDir). "
        f"Limits: {PATHS_MAX} paths and 20 seconds; links to directories are not followed.",
        _args.schema,
    )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show path and pattern to patterns."""
        args = self._args.decode(call)
        return path_subjects(args.path, args.pattern)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return the paths and what was left out."""
        args = self._args.decode(call)
        workspace = workspace_of(env)
        await existing(workspace, args.path)
        found = await workspace.glob(
            GlobQuery(
                pattern=args.pattern,
                path=args.path,
                include_ignored=args.include_ignored,
                limit=PATHS_MAX,
            )
        )
        lines = [printable(path) for path in found.paths] or ["(no file matches)"]
        if found.left_out:
            lines.append(f"({found.left_out} more left out)")
        lines += passed_over(ignored=found.ignored, unreadable=found.unreadable, timed_out=found.timed_out)
        return ToolResult.text(call.id, "\n".join(lines))
