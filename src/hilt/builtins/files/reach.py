"""What the file tools share: the session's files and ledger, refusals by kind, what patterns see."""

from hilt.core.errors import ToolError
from hilt.core.files.path import child, nearest, normalised, printable, split_last
from hilt.core.permission import Subject, Subjects
from hilt.ports.tool import Environment
from hilt.ports.workspace import FileStat, ReadLedger, Workspace


def workspace_of(env: Environment) -> Workspace:
    """Return the session's files.

    Raises:
        ToolError: `tool_unavailable`, in a session without files.
    """
    if env.workspace is None:
        raise ToolError.unavailable("this session has no files")
    return env.workspace


def ledger_of(env: Environment) -> ReadLedger:
    """Return what the session has read; where the host keeps no ledger, nothing has been read."""
    try:
        return env.service(ReadLedger)
    except LookupError:
        return ReadLedger()


async def ledger_key(workspace: Workspace, path: str) -> str:
    """Return the name under which the ledger knows a file, the same for every way to write its path."""
    return (await workspace.locate(path)).resolved


async def entry_key(workspace: Workspace, path: str) -> str:
    """Return the ledger's name of what stands at the path itself, a link as a link."""
    directory, name = split_last(normalised(path))
    return child((await workspace.locate(directory)).resolved, name)


async def existing(workspace: Workspace, path: str) -> FileStat:
    """Return what is there.

    Raises:
        ToolError: Nothing is; the message has up to three names like the last one.
    """
    found = await workspace.stat(path)
    if found is not None:
        return found
    directory, name = split_last(normalised(path))
    try:
        names = [entry.name for entry in await workspace.list_dir(directory)]
    except ToolError:
        names = []
    near = [child(directory, one) for one in nearest(name, names)]
    hint = f"; did you mean {', '.join(repr(printable(one)) for one in near)}?" if near else ""
    raise ToolError.execution_failed(f"{path!r} does not exist{hint}")


async def regular_file(workspace: Workspace, path: str) -> FileStat:
    """Return what is there if it is a regular file.

    Raises:
        ToolError: It does not exist, or is a directory, pipe, socket or device, which is not opened.
    """
    found = await existing(workspace, path)
    refuse_irregular(path, found)
    return found


def refuse_irregular(path: str, found: FileStat) -> None:
    """Raise unless it is a regular file.

    Raises:
        ToolError: It is a directory, pipe, socket or device.
    """
    if found.kind == "directory":
        raise ToolError.execution_failed(f"{path!r} is a directory; use ListDir to see what is in it")
    if found.kind != "file":
        raise ToolError.execution_failed(f"{path!r} is a {found.kind}, not a regular file; it was not opened")


def path_subjects(path: str, pattern: str | None = None) -> Subjects:
    """Return what patterns see of a call on one path: the path, and the search pattern where there is one."""
    subject = Subject(text=path, kind="path")
    named = {"path": (subject,)}
    if pattern is not None:
        named["pattern"] = (Subject(text=pattern),)
    return Subjects(unnamed=(subject,), named=named)


def transfer_subjects(source: str, destination: str) -> Subjects:
    """Return what patterns see of a call with two paths: each of them."""
    start, end = Subject(text=source, kind="path"), Subject(text=destination, kind="path")
    return Subjects(unnamed=(start, end), named={"source": (start,), "destination": (end,)})


def passed_over(*, ignored: int = 0, unreadable: int = 0, timed_out: bool = False) -> list[str]:
    """Return the notes that a search ends with, so that an empty answer means what it says."""
    notes: list[str] = []
    if ignored:
        notes.append(f"({ignored} ignored by .gitignore or below .git left out; include_ignored shows them)")
    if unreadable:
        notes.append(f"({unreadable} could not be read)")
    if timed_out:
        notes.append("(stopped for want of time; the answer is incomplete, search in a smaller directory)")
    return notes
