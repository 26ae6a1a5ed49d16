"""Move: a file, link or directory to a new place."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.files.reach import entry_key, ledger_of, transfer_subjects, workspace_of
from hilt.core.args import Args
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveArgs:
    """Arguments of `Move`."""

    source: Annotated[str, Field(description="File, link or directory to move, relative to the workspace.")]
    destination: Annotated[str, Field(description="New path, with the name; it must not exist.")]


class Move:
    """Moves or renames what is at a path."""

    _args = Args(MoveArgs)
    read_only = False
    spec = ToolSpec(
        "Move",
        "Move or rename one file, link or directory; missing directories on the way are made. "
        "Use it to give a file another name or place. "
        "Do not use it to duplicate a file (Copy) or to replace another one (Write). "
        "Limits: an existing destination is never overwritten; a link is moved itself, not what it leads to.",
        _args.schema,
    )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show both paths to patterns."""
        args = self._args.decode(call)
        return transfer_subjects(args.source, args.destination)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Move it; what the session knows of it stays known under the new path."""
        args = self._args.decode(call)
        workspace = workspace_of(env)
        source = await entry_key(workspace, args.source)
        await workspace.move(args.source, args.destination)
        ledger_of(env).rename(source, await entry_key(workspace, args.destination))
        return ToolResult.text(call.id, f"moved {args.source} to {args.destination}")
