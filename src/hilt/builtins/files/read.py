"""Read: numbered lines of a text file, or an image."""

import base64
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.files.reach import ledger_key, ledger_of, path_subjects, regular_file, workspace_of
from hilt.core.args import Args
from hilt.core.content import ImagePart
from hilt.core.errors import ToolError
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment
from hilt.ports.workspace import FileWindow, Workspace

LINES_MAX = 2000
LINE_MAX_CHARS = 2000
IMAGE_MAX_BYTES = 10 << 20
CUT_MARK = " [line cut]"
_LINE_MAX_BYTES = 4 * LINE_MAX_CHARS + 4

_SIGNATURES = (
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x1f\x8b", "gzip file"),
    (b"\x7fELF", "ELF program"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadArgs:
    """Arguments of `Read`."""

    path: Annotated[str, Field(description="File to read, relative to the workspace.")]
    offset: Annotated[int, Field(ge=1, description="First line to return, counted from 1.")] = 1
    limit: Annotated[int, Field(ge=1, le=LINES_MAX, description="Lines to return.")] = LINES_MAX


class Read:
    """Returns lines of a text file, or an image."""

    _args = Args(ReadArgs)
    read_only = True
    spec = ToolSpec(
        "Read",
        "Return numbered lines of one text file, or a PNG, JPEG, GIF or WebP image. "
        "Use it before you edit a file and to see code, text or a picture whose path you know. "
        "Do not use it on directories (ListDir) or to look for a text in many files (Grep). "
        f"Limits: {LINES_MAX} lines a call, {LINE_MAX_CHARS} characters a line, images up to 10 MiB; "
        "the number and the tab before each line are not part of the file.",
        _args.schema,
    )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show the path to patterns."""
        return path_subjects(self._args.decode(call).path)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return the asked-for lines, and remember the file's version."""
        args = self._args.decode(call)
        workspace = workspace_of(env)
        await regular_file(workspace, args.path)
        found = await workspace.read_window(
            args.path, first=args.offset, count=args.limit, line_max_bytes=_LINE_MAX_BYTES
        )
        mime_type = image_type(found.head)
        if mime_type:
            result = await self._image(call, workspace, args.path, mime_type, found.size_bytes)
        elif b"\0" in found.head or found.head.startswith((b"%PDF-", b"\xff\xfe", b"\xfe\xff")):
            raise ToolError.execution_failed(
                f"{args.path!r} is not text: {_binary_type(found.head)}, {found.size_bytes} bytes"
            )
        else:
            result = ToolResult.text(call.id, numbered(found, args.offset))
        ledger_of(env).note(await ledger_key(workspace, args.path), found.version)
        return result

    async def _image(
        self, call: ToolCall, workspace: Workspace, path: str, mime_type: str, size_bytes: int
    ) -> ToolResult:
        if size_bytes > IMAGE_MAX_BYTES:
            raise ToolError.execution_failed(
                f"{path!r} is an {mime_type} image of {size_bytes} bytes; at most {IMAGE_MAX_BYTES} are shown"
            )
        image = await workspace.read(path, max_bytes=IMAGE_MAX_BYTES)
        part = ImagePart(data=base64.b64encode(image.content).decode("ascii"), mime_type=mime_type)
        text = f"{path}: {mime_type} image, {len(image.content)} bytes"
        return ToolResult.with_parts(call.id, text, [part])


def image_type(head: bytes) -> str | None:
    """Return the media type of an image by its first bytes, None for anything else."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return None


def _binary_type(head: bytes) -> str:
    return next((name for start, name in _SIGNATURES if head.startswith(start)), "binary data")


def numbered(found: FileWindow, offset: int) -> str:
    """Return the lines with their numbers, and a note where the file is empty, ends or goes on."""
    if not found.total_lines:
        return "(the file is empty)"
    if not found.lines:
        return f"(line {offset} is past the end; the file has {found.total_lines} lines)"
    shown = [f"{number:>6}\t{_shown(line)}" for number, line in enumerate(found.lines, offset)]
    following = offset + len(found.lines)
    if following <= found.total_lines:
        shown.append(f"(the file has {found.total_lines} lines; go on with offset={following})")
    return "\n".join(shown)


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return text if len(text) <= LINE_MAX_CHARS else text[:LINE_MAX_CHARS] + CUT_MARK
