"""Values under keys in one SQLite file, which several processes may use at once, with full-text search.

The words of an entry are made here and stored ready to be matched (`core.memory_text`), so that no text is ever read
as the query language of SQLite, and scripts without spaces are found. Histories are ASCII JSON: any text goes in.
"""

import json
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from time import sleep as _pause
from typing import Final, TypeVar

from anyio import CapacityLimiter, to_thread

from hilt.core.errors import ToolError
from hilt.core.memory import (
    ENTRIES_MAX,
    History,
    Known,
    NewValue,
    Version,
    Writer,
    current,
    forgotten,
    full,
    remembered,
    searched,
    undone,
    version_text,
)
from hilt.core.memory_text import query_words, words
from hilt.ports.clock import Clock

T = TypeVar("T")

FORMAT: Final = 1
BUSY_S: Final = 10.0
FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600

_SCHEMA: Final = (
    "CREATE TABLE entries (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, description TEXT, history TEXT NOT NULL)",
    # Words come here already folded and divided by blanks; everything beyond ASCII is part of a word.
    "CREATE VIRTUAL TABLE words USING fts5 (key, description, value, tokenize = 'ascii')",
    f"PRAGMA user_version = {FORMAT}",
)
_FIND: Final = (
    "SELECT entries.key, entries.description FROM words JOIN entries ON entries.id = words.rowid "
    "WHERE words MATCH ? ORDER BY bm25(words, 4.0, 2.0, 1.0), entries.key LIMIT ?"
)
_LIST: Final = (
    "SELECT key, description FROM entries WHERE key >= ? AND key < ? AND description IS NOT NULL ORDER BY key LIMIT ?"
)
_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_POLL_S: Final = 0.02
# A file is made and closed before anyone here has it open: closing it later would drop the locks of all who do.
_OPENING: Final = threading.Lock()


def why_unusable() -> str:
    """Return why SQLite cannot be used here, "" where it can: its full-text search may not be built in."""
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute("CREATE VIRTUAL TABLE tried USING fts5 (text, tokenize = 'ascii')")
    except sqlite3.Error as exc:
        return f"this Python's SQLite {sqlite3.sqlite_version} has no full-text search ({exc})"
    return ""


class SqliteMemory:
    """The memory in one file; see `KeyedMemory`. `redact` masks known secrets before anything is kept.

    Nothing is made before the first use. A file or folder that is a link is refused, not followed.
    """

    def __init__(self, path: Path, *, clock: Clock, redact: Callable[[str], str] = str) -> None:
        self._path = path
        self._clock = clock
        self._redact = redact
        self._shown = f"{path.parent.name}/{path.name}"
        self._database: sqlite3.Connection | None = None
        self._file: tuple[int, int] = (0, 0)
        # One thread at a time, and none that a tool of another kind could hold.
        self._thread = CapacityLimiter(1)

    async def remember(self, key: str, new: NewValue, *, writer: Writer) -> str:
        """See `KeyedMemory.remember`."""
        masked = NewValue(
            value=self._redact(new.value), description=self._redact(new.description), expected=new.expected
        )
        return await self._change(key, lambda history, at: remembered(key, history, masked, writer=writer, at=at))

    async def forget(self, key: str, expected: str, *, writer: Writer) -> str:
        """See `KeyedMemory.forget`."""
        return await self._change(key, lambda history, at: forgotten(key, history, expected, writer=writer, at=at))

    async def undo(self, key: str, expected: str, *, writer: Writer) -> str:
        """See `KeyedMemory.undo`."""
        return await self._change(key, lambda history, at: undone(key, history, expected, writer=writer, at=at))

    async def history(self, key: str) -> Sequence[Version]:
        """See `KeyedMemory.history`."""
        return await self._read(lambda database: _stored(database, key)[1]) or ()

    async def keys(self, prefix: str, *, limit: int) -> Sequence[Known]:
        """See `KeyedMemory.keys`."""
        if not prefix.isascii():
            return []
        span = (prefix, f"{prefix}\x7f", limit)
        return await self._read(lambda database: _known(database.execute(_LIST, span))) or []

    async def search(self, query: str, *, limit: int) -> Sequence[Known]:
        """See `KeyedMemory.search`."""
        wanted = [f'"{word}"' for word in query_words(query)]
        if not wanted:
            return []

        def find(database: sqlite3.Connection) -> list[Known]:
            found = _known(database.execute(_FIND, (" AND ".join(wanted), limit)))
            if len(found) < limit and len(wanted) > 1:
                some = _known(database.execute(_FIND, (" OR ".join(wanted), limit)))
                found += [known for known in some if known not in found]
            return found[:limit]

        return await self._read(find) or []

    def close(self) -> None:
        """Close the file; the memory can be used again."""
        database, self._database = self._database, None
        if database is not None:
            database.close()

    async def _change(self, key: str, change: Callable[[History, str], History]) -> str:
        at = self._clock.now().isoformat()

        def work(database: sqlite3.Connection) -> str:
            with _transaction(database):
                id_, history = _stored(database, key)
                new = change(history, at)
                _store(database, id_, key, new)
            return version_text(new)

        return await self._run(work)

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do work that only reads; None where nothing was written yet, and nothing is made.

        Raises:
            ToolError: The file cannot be used.
        """
        there = await to_thread.run_sync(os.path.lexists, self._path)
        return await self._run(work) if there else None

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work in a thread and wait for its end, also when cancelled.

        Raises:
            ToolError: The file cannot be used; it is as it was.
        """
        return await to_thread.run_sync(self._in_thread, work, limiter=self._thread)

    def _in_thread(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return work(self._opened())
        except sqlite3.Error as exc:
            self.close()
            raise self._told(exc) from exc
        except OSError as exc:
            raise ToolError.execution_failed(f"{self._shown} cannot be used: {exc.strerror}") from exc
        except (ValueError, TypeError) as exc:
            raise self._damage("an entry cannot be read") from exc

    def _told(self, exc: sqlite3.Error) -> ToolError:
        code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
        if code in _BUSY:
            return ToolError.execution_failed(f"other processes write {self._shown}; try again")
        if code in _DAMAGED:
            return self._damage(str(exc))
        return ToolError.execution_failed(f"{self._shown} cannot be used: {exc}")

    def _damage(self, why: str) -> ToolError:
        return ToolError.execution_failed(
            f"{self._shown} is damaged ({why}) and was left as it is; mend it or move it away"
        )

    def _opened(self) -> sqlite3.Connection:
        """Return the open file, opened again where another has taken its place."""
        with suppress(FileNotFoundError):
            if self._database is not None and _identity(self._path) == self._file:
                return self._database
        self.close()
        with _OPENING:
            self._make_file()
            database = sqlite3.connect(
                self._path, timeout=BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=32
            )
        try:
            self._prepare(database)
        except BaseException:
            database.close()
            raise
        self._database, self._file = database, _identity(self._path)
        return database

    def _make_file(self) -> None:
        _make_folder(self._path.parent)
        if self._path.parent.is_symlink():
            raise ToolError.access_denied(f"{self._path.parent.name!r} is a link; memory is kept in a folder")
        with suppress(FileExistsError):
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
            os.fchmod(descriptor, FILE_MODE)
            os.close(descriptor)
        if not stat.S_ISREG(self._path.lstat().st_mode):
            raise ToolError.access_denied(f"{self._shown} is no regular file; memory is kept in one")

    def _prepare(self, database: sqlite3.Connection) -> None:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version != FORMAT and (version or not _is_new(database)):
            raise ToolError.execution_failed(
                f"{self._shown} has version {version}; this hilt reads {FORMAT}. It was left as it is"
            )
        _use_wal(database)
        database.execute("PRAGMA synchronous = FULL")
        with _transaction(database):
            if _is_new(database):
                for statement in _SCHEMA:
                    database.execute(statement)
        (state,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise self._damage(str(state))


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _is_new(database: sqlite3.Connection) -> bool:
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return not tables


def _make_folder(path: Path) -> None:
    """Make a folder and the missing ones above it, each with mode 0700 whatever the umask is."""
    if path.is_dir():
        return
    _make_folder(path.parent)
    with suppress(FileExistsError):
        path.mkdir(mode=FOLDER_MODE)
        path.chmod(FOLDER_MODE)


def _use_wal(database: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; where another process does the same, SQLite itself does not always wait."""
    until = monotonic() + BUSY_S
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF not in _BUSY or monotonic() > until:
                raise
        _pause(_POLL_S)


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Hold the only write transaction of all processes, and take everything back if it fails."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def _stored(database: sqlite3.Connection, key: str) -> tuple[int | None, History]:
    if not key.isascii():
        return None, ()
    row = database.execute("SELECT id, history FROM entries WHERE key = ?", (key,)).fetchone()
    return (None, ()) if row is None else (row[0], tuple(_version(item) for item in json.loads(row[1])))


def _version(item: Mapping[str, object]) -> Version:
    """Return a version as it was written.

    Raises:
        ValueError: It is none.
        TypeError: It has other fields.
    """
    version = Version(**item)  # type: ignore[arg-type]  # the fields; their types are looked at below
    texts = (version.description, version.change, version.at, version.session, version.source)
    numbers = (version.number, version.before)
    if not all(isinstance(one, str) for one in texts) or not all(type(one) is int for one in numbers):
        raise ValueError("a version has a field of another type")
    if version.value is not None and not isinstance(version.value, str):
        raise ValueError("a value is no text")
    return version


def _store(database: sqlite3.Connection, id_: int | None, key: str, history: History) -> None:
    now = current(history)
    description = None if now is None else json.dumps(now.description)
    text = json.dumps([asdict(version) for version in history])
    if id_ is None:
        _make_room(database)
        made = database.execute(
            "INSERT INTO entries (key, description, history) VALUES (?, ?, ?)", (key, description, text)
        )
        id_ = made.lastrowid
    else:
        database.execute("UPDATE entries SET description = ?, history = ? WHERE id = ?", (description, text, id_))
        database.execute("DELETE FROM words WHERE rowid = ?", (id_,))
    if now is not None:
        columns = [" ".join(words(part)) for part in searched(key, now)]
        database.execute("INSERT INTO words (rowid, key, description, value) VALUES (?, ?, ?, ?)", (id_, *columns))


def _make_room(database: sqlite3.Connection) -> None:
    (count,) = database.execute("SELECT count(*) FROM entries").fetchone()
    if count < ENTRIES_MAX:
        return
    gone = database.execute("SELECT min(id) FROM entries WHERE description IS NULL").fetchone()
    if gone[0] is None:
        raise full()
    database.execute("DELETE FROM entries WHERE id = ?", gone)


def _known(rows: sqlite3.Cursor) -> list[Known]:
    found = [Known(key=key, description=json.loads(description)) for key, description in rows]
    if not all(isinstance(one.description, str) for one in found):
        raise ValueError("a description is no text")
    return found
