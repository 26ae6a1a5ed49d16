"""The file of a memory: rights, several processes, damage, links."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

import hilt.adapters.memory_sqlite
from hilt.adapters.clock_system import SystemClock
from hilt.adapters.memory_sqlite import SqliteMemory, why_unusable
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.memory import Known, NewValue, Writer
from tests.adapters import memory_writer

ANN = Writer(session="ann")
NEW = NewValue(value="a value", description="what")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "memory" / "m.sqlite"


@pytest.fixture
def memory(file: Path) -> Iterator[SqliteMemory]:
    made = SqliteMemory(file, clock=SystemClock())
    yield made
    made.close()


def writer(file: Path, *args: object) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, memory_writer.__file__, file, *map(str, args)], stdout=subprocess.PIPE)


async def refusal(memory: SqliteMemory) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await memory.remember("k", NEW, writer=ANN)
    return caught.value


@pytest.mark.req("BLT-77")
async def test_values_survive_the_process(file: Path, memory: SqliteMemory) -> None:
    process = writer(file, "k", "other", 2)
    out, _ = process.communicate()
    assert (process.returncode, out.split()) == (0, [b"1", b"2"])
    assert [version.value for version in await memory.history("k")] == ["1", "2"]


@pytest.mark.timeout(180)
@pytest.mark.req("BLT-79")
async def test_of_processes_that_write_at_once_with_one_version_exactly_one_succeeds(
    file: Path, memory: SqliteMemory
) -> None:
    running = [writer(file, "k", name, 60) for name in "abcd"]
    versions: list[int] = []
    for process in running:
        out, _ = process.communicate()
        assert process.returncode == 0
        versions += map(int, out.split())
    assert sorted(versions) == list(range(1, 241))
    (last, *_) = reversed(await memory.history("k"))
    assert (last.number, last.value) == (240, "240")


@pytest.mark.req("BLT-77")
async def test_a_writer_that_is_killed_leaves_a_whole_file(file: Path, memory: SqliteMemory) -> None:
    for name in "abc":
        process = writer(file, "k", name, 100_000)
        assert process.stdout is not None
        for _ in range(20):
            acknowledged = int(process.stdout.readline())
        process.kill()
        rest = process.stdout.read().split()
        process.wait()
        process.stdout.close()
        last = int(rest[-1]) if rest else acknowledged
        history = await memory.history("k")
        assert history[-1].number >= last
        assert history[-1].value == str(history[-1].number)
        await memory.remember("k", NewValue(value=str(history[-1].number + 1)), writer=ANN)


async def test_directories_are_0700_and_files_0600_whatever_the_umask(file: Path, memory: SqliteMemory) -> None:
    before = os.umask(0o000)
    try:
        await memory.remember("k", NEW, writer=ANN)
    finally:
        os.umask(before)
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in (file.parent.parent, *file.parent.parent.rglob("*"))
    }
    assert modes == {"state": 0o700, "memory": 0o700, **{path.name: 0o600 for path in file.parent.iterdir()}}
    assert len(list(file.parent.iterdir())) >= 1


async def test_it_is_read_by_sqlite_and_closing_leaves_one_file(file: Path, memory: SqliteMemory) -> None:
    await memory.remember("k", NEW, writer=ANN)
    memory.close()
    assert [path.name for path in file.parent.iterdir()] == ["m.sqlite"]
    with sqlite3.connect(file) as database:
        assert database.execute("SELECT key, description FROM entries").fetchall() == [("k", '"what"')]
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.close()
    assert await memory.search("value", limit=1) == [Known(key="k", description="what")]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"this is no database, but text that somebody put here" * 100, "is damaged (file is not a database)"),
        (b"\x00" * 8192, "is damaged"),
        (b"SQLite format 3\x00" + b"\xff" * 8192, "is damaged"),
    ],
)
async def test_a_damaged_file_is_told_and_kept(memory: SqliteMemory, file: Path, content: bytes, told: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    error = await refusal(memory)
    assert (error.code, told in error.reason) == (ErrorCode.EXECUTION_FAILED, True), error.reason
    assert "memory/m.sqlite" in error.reason
    assert str(file) not in error.reason
    assert "left as it is" in error.reason or "left as it was" in error.reason
    with pytest.raises(ToolError):
        await memory.search("a", limit=1)
    assert file.read_bytes() == content
    file.unlink()
    assert await memory.remember("k", NEW, writer=ANN) == "1"


async def test_a_file_that_lost_its_end_is_told_and_kept(memory: SqliteMemory, file: Path) -> None:
    for number in range(40):
        await memory.remember(f"k{number}", NewValue(value="x" * 2000), writer=ANN)
    memory.close()
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    error = await refusal(memory)
    assert "is damaged" in error.reason
    assert file.read_bytes() == whole[: len(whole) // 2]
    file.write_bytes(whole)
    assert len(await memory.keys("", limit=99)) == 40


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 2", "CREATE TABLE foreign_one (x)"])
async def test_a_file_of_another_kind_or_a_newer_version_is_told_and_kept(
    memory: SqliteMemory, file: Path, statement: str
) -> None:
    file.parent.mkdir(parents=True)
    with sqlite3.connect(file) as database:
        database.execute(statement)
    database.close()
    before = file.read_bytes()
    assert "this hilt reads 1" in (await refusal(memory)).reason
    assert file.read_bytes() == before
    with sqlite3.connect(file) as database:
        assert database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'entries'").fetchone() == (0,)
    database.close()


HISTORIES = (
    "[",
    "[3]",
    '[{"number": 1}]',
    '[{"odd": 1}]',
    "3",
    '[{"number": "x", "value": 5}]',
    '[{"number": 1, "value": 5}]',
    '[{"number": 1, "value": "v", "description": 5}]',
)


@pytest.mark.parametrize("history", HISTORIES)
async def test_an_entry_that_cannot_be_read_is_told(memory: SqliteMemory, file: Path, history: str) -> None:
    await memory.remember("k", NEW, writer=ANN)
    await memory.remember("other", NEW, writer=ANN)
    memory.close()
    with sqlite3.connect(file) as database:
        database.execute("UPDATE entries SET history = ? WHERE key = 'k'", (history,))
    database.close()
    assert "an entry cannot be read" in (await refusal(memory)).reason
    assert len(await memory.history("other")) == 1


async def test_a_list_with_an_entry_that_cannot_be_read_is_told(memory: SqliteMemory, file: Path) -> None:
    await memory.remember("k", NEW, writer=ANN)
    memory.close()
    with sqlite3.connect(file) as database:
        database.execute("UPDATE entries SET description = '5', history = '[]'")
    database.close()
    with pytest.raises(ToolError, match="is damaged"):
        await memory.keys("", limit=9)


async def test_a_file_whose_rows_break_its_own_rules_is_told(memory: SqliteMemory, file: Path) -> None:
    await memory.remember("k", NEW, writer=ANN)
    await memory.forget("k", "1", writer=ANN)
    memory.close()
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_master SET sql = replace(sql, 'description TEXT', 'description TEXT NOT NULL')")
    database.close()
    assert "is damaged (NULL value in entries.description)" in (await refusal(memory)).reason


async def test_a_lock_that_lasts_while_the_file_is_made_is_told(
    file: Path, memory: SqliteMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hilt.adapters.memory_sqlite, "BUSY_S", 0.05)
    file.parent.mkdir(parents=True)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM sqlite_master").fetchone()
    assert "other processes write memory/m.sqlite" in (await refusal(memory)).reason
    other.close()


async def test_a_folder_or_file_that_is_a_link_is_refused(memory: SqliteMemory, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    file.parent.parent.mkdir()
    file.parent.symlink_to(other)
    error = await refusal(memory)
    assert (error.code, "is a link" in error.reason) == (ErrorCode.ACCESS_DENIED, True)
    file.parent.unlink()
    file.parent.mkdir()
    file.symlink_to(other / "m.sqlite")
    error = await refusal(memory)
    assert (error.code, "no regular file" in error.reason) == (ErrorCode.ACCESS_DENIED, True)
    file.unlink()
    file.mkdir()
    assert (await refusal(memory)).code is ErrorCode.ACCESS_DENIED
    assert os.listdir(other) == []


async def test_a_folder_that_cannot_be_made_is_told_without_its_path(memory: SqliteMemory, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    error = await refusal(memory)
    assert error.code is ErrorCode.EXECUTION_FAILED
    assert "cannot be used" in error.reason
    assert str(tmp_path) not in error.reason


async def test_another_that_holds_the_lock_too_long_is_told(
    file: Path, memory: SqliteMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.remember("k", NEW, writer=ANN)
    memory.close()
    monkeypatch.setattr(hilt.adapters.memory_sqlite, "BUSY_S", 0.05)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert "other processes write memory/m.sqlite" in (await refusal(memory)).reason
    other.execute("ROLLBACK")
    other.close()
    assert await memory.remember("k", NEW, writer=ANN) == "2"


async def test_the_first_two_at_once_both_get_through(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.parent.mkdir(parents=True)
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM sqlite_master").fetchone()
    tried = threading.Event()

    def let_go() -> None:
        tried.wait(10)
        other.execute("ROLLBACK")
        other.close()

    release = threading.Thread(target=let_go)
    release.start()

    def until_let_go(seconds: float) -> None:
        tried.set()
        release.join()

    monkeypatch.setattr(hilt.adapters.memory_sqlite, "_pause", until_let_go)
    monkeypatch.setattr(hilt.adapters.memory_sqlite, "BUSY_S", 0.05)
    monkeypatch.setattr(hilt.adapters.memory_sqlite, "monotonic", lambda: 0.0)
    memory = SqliteMemory(file, clock=SystemClock())
    assert await memory.remember("k", NEW, writer=ANN) == "1"
    release.join()
    memory.close()


async def test_a_file_that_was_taken_away_meanwhile_is_made_anew(file: Path, memory: SqliteMemory) -> None:
    await memory.remember("k", NEW, writer=ANN)
    for path in list(file.parent.iterdir()):
        path.rename(path.with_name(f"old-{path.name}"))
    assert await memory.remember("other", NEW, writer=ANN) == "1"
    assert list(await memory.history("k")) == []
    memory.close()
    assert file.exists()


async def test_a_disk_that_is_full_is_told_and_takes_nothing_away(
    memory: SqliteMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.remember("k", NEW, writer=ANN)

    def store(*args: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(hilt.adapters.memory_sqlite, "_store", store)
        assert "memory/m.sqlite cannot be used: database or disk is full" in (await refusal(memory)).reason
    assert [version.number for version in await memory.history("k")] == [1]
    assert await memory.remember("k", NEW, writer=ANN) == "2"


async def test_reading_a_memory_that_nobody_wrote_finds_nothing_and_makes_nothing(
    memory: SqliteMemory, tmp_path: Path
) -> None:
    assert list(await memory.keys("", limit=9)) == list(await memory.search("a", limit=9)) == []
    assert list(await memory.history("k")) == []
    assert list(tmp_path.iterdir()) == []


def test_a_sqlite_without_full_text_search_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_unusable() == ""
    connect = sqlite3.connect

    class Bare(sqlite3.Connection):
        def execute(self, *args: object) -> sqlite3.Cursor:
            raise sqlite3.OperationalError("no such module: fts5")

    monkeypatch.setattr(sqlite3, "connect", lambda name: connect(name, factory=Bare))
    assert "no full-text search (no such module: fts5)" in why_unusable()


async def test_two_memories_of_one_process_may_share_a_file(file: Path) -> None:
    first, second = (SqliteMemory(file, clock=SystemClock()) for _ in range(2))

    async def write(memory: SqliteMemory, name: str) -> None:
        for number in range(20):
            await memory.remember(f"{name}/k{number}", NEW, writer=ANN)

    async with anyio.create_task_group() as group:
        group.start_soon(write, first, "a")
        group.start_soon(write, second, "b")
    assert len(await first.keys("", limit=99)) == 40
    first.close()
    assert len(await second.keys("", limit=99)) == 40
    second.close()
