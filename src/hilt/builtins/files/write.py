"""Write: a whole file, new or in place of one that the session knows."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.files.reach import ledger_key, ledger_of, path_subjects, refuse_irregular, workspace_of
from hilt.core.args import Args
from hilt.core.errors import ToolError
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment

CONTENT_MAX_BYTES = 2 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteArgs:
    """Arguments of `Write`."""

    path: Annotated[str, Field(description="File to write, relative to the workspace.")]
    content: Annotated[str, Field(max_length=CONTENT_MAX_BYTES, description="The whole new content.")]


class Write:
    """Makes a file or replaces one."""

    _args = Args(WriteArgs)
    read_only = False
    spec = ToolSpec(
        "Write",
        "Write one whole text file; missing directories are made. "
        "Use it for new files, and to rewrite a file from its beginning to its end. "
        "Do not use it to change a few lines of a file (Edit). "
        "Limits: 2 MiB of UTF-8; an existing file must have been read in this session and be unchanged "
        "since.",
        _args.schema,
    )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show the path to patterns."""
        return path_subjects(self._args.decode(call).path)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Write in one step; the session then knows the new version."""
        args = self._args.decode(call)
        content = args.content.encode()
        if len(content) > CONTENT_MAX_BYTES:
            raise ToolError.invalid_arguments(
                f"content has {len(content)} bytes, at most {CONTENT_MAX_BYTES} are written at once"
            )
        workspace = workspace_of(env)
        ledger = ledger_of(env)
        found = await workspace.stat(args.path)
        expect = None
        if found is not None:
            refuse_irregular(args.path, found)
            expect = ledger.seen(await ledger_key(workspace, args.path))
            if expect is None:
                raise ToolError.execution_failed(
                    f"{args.path!r} exists and was not read in this session; read it first"
                )
        version = await workspace.write(args.path, content, expect=expect)
        ledger.note(await ledger_key(workspace, args.path), version)
        done = "created" if expect is None else "overwritten"
        return ToolResult.text(call.id, f"{done} {args.path}: {len(content)} bytes")
