"""ListDir: the names in a directory."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.files.reach import existing, path_subjects, workspace_of
from hilt.core.args import Args
from hilt.core.errors import ToolError
from hilt.core.files.path import printable
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment

ENTRIES_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDirArgs:
    """Arguments of `ListDir`."""

    path: Annotated[str, Field(description="Directory to list, relative to the workspace.")] = "."


class ListDir:
    """Returns the names in a directory, one a line."""

    _args = Args(ListDirArgs)
    read_only = True
    spec = ToolSpec(
        "ListDir",
        "Return the names in one directory, sorted, one a line; directories end in '/', links in '@'. "
        "Use it to see what a directory holds. "
        "Do not use it to find files by name in a whole tree (Glob) or by content (Grep). "
        f"Limits: {ENTRIES_MAX} names, and nothing below sub-directories.",
        _args.schema,
    )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show the path to patterns."""
        return path_subjects(self._args.decode(call).path)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return the names."""
        args = self._args.decode(call)
        workspace = workspace_of(env)
        if (await existing(workspace, args.path)).kind != "directory":
            raise ToolError.execution_failed(f"{args.path!r} is no directory; use Read to see a file")
        entries = await workspace.list_dir(args.path)
        marks = {"directory": "/", "link": "@"}
        lines = [printable(entry.name) + marks.get(entry.kind, "") for entry in entries[:ENTRIES_MAX]]
        if len(entries) > ENTRIES_MAX:
            lines.append(f"({len(entries) - ENTRIES_MAX} more left out)")
        return ToolResult.text(call.id, "\n".join(lines) or "(the directory is empty)")
