"""Edit: one stretch of text in a file that the session knows."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import anyio.to_thread
from pydantic import Field

from hilt.builtins.files.reach import ledger_key, ledger_of, path_subjects, regular_file, workspace_of
from hilt.core.args import Args
from hilt.core.errors import ToolError
from hilt.core.files.edit import EDITED_MAX_BYTES, check_edit, edit
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class EditArgs:
    """Arguments of `Edit`."""

    path: Annotated[str, Field(description="File to change, relative to the workspace.")]
    old_string: Annotated[str, Field(description="Text to replace, exactly as it stands in the file.")]
    new_string: Annotated[str, Field(description="Text to put in its place.")]
    replace_all: Annotated[bool, Field(description="Replace every occurrence.")] = False


class Edit:
    """Replaces text in a file."""

    _args = Args(EditArgs)
    read_only = False
    spec = ToolSpec(
        "Edit",
        "Replace a piece of text in one file by another, both taken as plain text. "
        "Use it to change some lines of a file that you have read. "
        "Do not use it to make a file or to rewrite a whole one (Write). "
        "Limits: old_string must occur exactly once unless replace_all is set; the file must have been "
        "read in this session and be unchanged since; files up to 10 MiB.",
        _args.schema,
    )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show the path to patterns."""
        return path_subjects(self._args.decode(call).path)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Replace in one step; the session then knows the new version."""
        args = self._args.decode(call)
        workspace = workspace_of(env)
        ledger = ledger_of(env)
        check_edit(args.old_string, args.new_string)
        await regular_file(workspace, args.path)
        key = await ledger_key(workspace, args.path)
        seen = ledger.seen(key)
        if seen is None:
            raise ToolError.execution_failed(f"{args.path!r} was not read in this session; read it first")
        before = await workspace.read(args.path, max_bytes=EDITED_MAX_BYTES)
        if before.version != seen:
            raise ToolError.execution_failed(f"{args.path!r} has changed since it was read; read it again")
        replace = partial(edit, before.content, args.old_string, args.new_string, replace_all=args.replace_all)
        after = await anyio.to_thread.run_sync(replace)  # seconds, for many places in a large file
        ledger.note(key, await workspace.write(args.path, after.content, expect=seen))
        places = "1 replacement" if after.count == 1 else f"{after.count} replacements"
        return ToolResult.text(call.id, f"{places} in {args.path}")
