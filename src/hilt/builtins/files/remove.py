"""Remove: one file, link or empty directory."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.files.reach import entry_key, ledger_of, path_subjects, workspace_of
from hilt.core.args import Args
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveArgs:
    """Arguments of `Remove`."""

    path: Annotated[str, Field(description="What to remove, relative to the workspace.")]


class Remove:
    """Removes what is at a path."""

    _args = Args(RemoveArgs)
    read_only = False
    spec = ToolSpec(
        "Remove",
        "Remove one file, one link (not what it leads to) or one empty directory, for good. "
        "Use it when a file is no longer wanted. "
        "Do not use it to clear the text of a file (Write) or to rename it (Move). "
        "Limits: one path a call; a directory with entries is refused, its entries go first.",
        _args.schema,
    )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show the path to patterns."""
        return path_subjects(self._args.decode(call).path)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Remove it."""
        args = self._args.decode(call)
        workspace = workspace_of(env)
        key = await entry_key(workspace, args.path)
        await workspace.remove(args.path)
        ledger_of(env).forget(key)
        return ToolResult.text(call.id, f"removed {args.path}")
