"""Tasks in `.hilt/tasks.json` of a workspace, written in one step under a lock that holds across processes."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
from anyio import to_thread
from filelock import FileLock, Timeout

from hilt.core.args import decode_as
from hilt.core.errors import ToolError
from hilt.core.task import Book, NewTask, Status, Task, TaskChange, Touch, added, changed, chosen, found
from hilt.ports.clock import Clock

FOLDER: Final = ".hilt"
FILE_NAME: Final = "tasks.json"
SHOWN: Final = f"{FOLDER}/{FILE_NAME}"
VERSION: Final = 1
LOCK_S: Final = 30.0
_POLL_S: Final = 0.002

Change = Callable[[Book, Touch], dict[str, Task]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    """The file as a JSON value."""

    version: int
    tasks: tuple[Task, ...]


class TaskFile:
    """The list of one workspace; see `TaskStore`. A folder or file that is a link is refused, not followed."""

    def __init__(self, root: str | os.PathLike[str], *, clock: Clock) -> None:
        self._folder = Path(root) / FOLDER
        self._clock = clock
        self._turn = anyio.Lock()

    async def create(self, new: NewTask, *, session: str) -> Task:
        """See `TaskStore.create`."""
        made = ""

        def change(book: Book, touch: Touch) -> dict[str, Task]:
            nonlocal made
            made = self._clock.new_id()
            return added(book, made, new, touch)

        book = await self._change(change, session)
        return book[made]

    async def get(self, id_: str) -> Task:
        """See `TaskStore.get`."""
        return found(await self._read(), id_)

    async def tasks(self, *, status: Status | None = None, labels: Sequence[str] = ()) -> Sequence[Task]:
        """See `TaskStore.tasks`."""
        return chosen(await self._read(), status=status, labels=labels)

    async def update(self, id_: str, change: TaskChange, *, session: str) -> Task:
        """See `TaskStore.update`."""
        book = await self._change(lambda book, touch: changed(book, id_, change, touch), session)
        return book[id_]

    async def _read(self) -> Book:
        try:
            return await to_thread.run_sync(self._load)
        except OSError as exc:
            raise ToolError.execution_failed(f"{SHOWN} cannot be read: {exc.strerror}") from exc

    async def _change(self, change: Change, session: str) -> Book:
        # Inside this process they take turns first, so that waiting holds no thread.
        async with self._turn:
            try:
                return await to_thread.run_sync(self._change_locked, change, session)
            except Timeout:
                raise ToolError.execution_failed(f"other processes write {SHOWN}; try again") from None
            except OSError as exc:
                raise ToolError.execution_failed(f"{SHOWN} cannot be written: {exc.strerror}") from exc

    def _change_locked(self, change: Change, session: str) -> Book:
        self._folder.mkdir(exist_ok=True)
        self._refuse_link()
        with FileLock(self._folder / f".{FILE_NAME}.lock", timeout=LOCK_S, poll_interval=_POLL_S):
            book = change(self._load(), Touch(session=session, at=self._clock.now().isoformat()))
            self._store(book)
        return book

    def _refuse_link(self) -> None:
        if self._folder.is_symlink():
            raise ToolError.access_denied(f"{FOLDER!r} of the workspace is a link; tasks are kept in a folder")

    def _load(self) -> Book:
        self._refuse_link()
        try:
            descriptor = os.open(self._folder / FILE_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return {}
        with os.fdopen(descriptor, "rb") as file:
            content = file.read()
        try:
            parsed: object = json.loads(content)
            document = decode_as(_Document, parsed if isinstance(parsed, dict) else {})
        except (ValueError, RecursionError, ToolError) as exc:
            why = exc.reason if isinstance(exc, ToolError) else "it is no JSON"
            raise ToolError.execution_failed(f"{SHOWN} is damaged ({why}); mend it or move it away") from None
        if document.version != VERSION:
            raise ToolError.execution_failed(f"{SHOWN} has version {document.version}; this hilt reads {VERSION}")
        return {task.id: task for task in document.tasks}

    def _store(self, book: Book) -> None:
        document = {"version": VERSION, "tasks": [task.to_json() for task in book.values()]}
        # The lock is held, so that one name is enough; what a killed process left there is overwritten.
        temporary = self._folder / f".{FILE_NAME}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(temporary, flags, 0o666)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(json.dumps(document, indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._folder / FILE_NAME)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
