"""Copy: one file to a new place."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.files.reach import regular_file, transfer_subjects, workspace_of
from hilt.core.args import Args
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyArgs:
    """Arguments of `Copy`."""

    source: Annotated[str, Field(description="File to copy, relative to the workspace.")]
    destination: Annotated[str, Field(description="Path of the copy, with its name; it must not exist.")]


class Copy:
    """Copies a file."""

    _args = Args(CopyArgs)
    read_only = False
    spec = ToolSpec(
        "Copy",
        "Copy one regular file, of any kind of content, to a new path; missing directories are made. "
        "Use it to duplicate a file as it is. "
        "Do not use it to rename a file (Move) or to replace one (Write). "
        "Limits: one file a call, no directories; an existing destination is never overwritten.",
        _args.schema,
    )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show both paths to patterns."""
        args = self._args.decode(call)
        return transfer_subjects(args.source, args.destination)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Copy the file."""
        args = self._args.decode(call)
        workspace = workspace_of(env)
        await regular_file(workspace, args.source)
        await workspace.copy(args.source, args.destination)
        return ToolResult.text(call.id, f"copied {args.source} to {args.destination}")
