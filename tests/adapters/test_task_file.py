"""The file of tasks: several processes, damage, links."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

import hilt.adapters.task_file
from hilt.adapters.clock_system import SystemClock
from hilt.adapters.task_file import TaskFile
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.task import NewTask, TaskChange
from tests.adapters import task_writer

NEW = NewTask(subject="shared")


def writer(root: Path, *args: object) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, task_writer.__file__, root, *map(str, args)], stdout=subprocess.PIPE)


def opened(root: Path) -> TaskFile:
    return TaskFile(root, clock=SystemClock())


async def refusal(root: Path) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await opened(root).create(NEW, session="one")
    return caught.value


@pytest.mark.timeout(180)
@pytest.mark.req("BLT-52")
async def test_four_processes_lose_none_of_two_thousand_updates(tmp_path: Path) -> None:
    task = await opened(tmp_path).create(NEW, session="one")
    running = [writer(tmp_path, task.id, name, 500) for name in "abcd"]
    for process in running:
        out, _ = process.communicate()
        assert (process.returncode, len(out.split())) == (0, 500)
    kept = (await opened(tmp_path).get(task.id)).metadata
    assert kept == {f"{name}{number}": number for name in "abcd" for number in range(500)}


@pytest.mark.req("BLT-52")
async def test_a_writer_that_is_killed_leaves_a_whole_file_and_no_lock(tmp_path: Path) -> None:
    store = opened(tmp_path)
    task = await store.create(NEW, session="one")
    for name in "abcde":
        process = writer(tmp_path, task.id, name, 100_000)
        assert process.stdout is not None
        for _ in range(20):
            acknowledged = int(process.stdout.readline())
        process.kill()
        rest = process.stdout.read().split()
        process.wait()
        process.stdout.close()
        last = int(rest[-1]) if rest else acknowledged
        kept = (await store.update(task.id, TaskChange(owner=name), session="one")).metadata
        assert {f"{name}{number}" for number in range(last + 1)} <= kept.keys()


async def test_it_lies_in_the_workspace_and_is_json(tmp_path: Path) -> None:
    task = await opened(tmp_path).create(NEW, session="one")
    document = json.loads((tmp_path / ".hilt" / "tasks.json").read_text("utf-8"))
    assert document == {"version": 1, "tasks": [task.to_json()]}
    assert await opened(tmp_path).get(task.id) == task


async def test_reading_makes_nothing(tmp_path: Path) -> None:
    assert await opened(tmp_path).tasks() == []
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{", "is damaged (it is no JSON)"),
        (b"[]", "is damaged"),
        (b"[" * 100_000, "is damaged (it is no JSON)"),
        (b'{"version": 1, "tasks": [{"id": 3}]}', "is damaged (tasks"),
        (b'{"version": 2, "tasks": []}', "has version 2"),
        (b"\xff", "is damaged"),
    ],
)
async def test_a_damaged_file_is_told_and_kept(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / ".hilt" / "tasks.json"
    path.parent.mkdir()
    path.write_bytes(content)
    error = await refusal(tmp_path)
    assert (error.code, told in error.reason) == (ErrorCode.EXECUTION_FAILED, True), error.reason
    assert path.read_bytes() == content


async def test_a_folder_or_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    other.mkdir()
    (work / ".hilt").symlink_to(other)
    error = await refusal(work)
    assert error.code is ErrorCode.ACCESS_DENIED
    assert os.listdir(other) == []
    (work / ".hilt").unlink()
    (work / ".hilt").mkdir()
    (other / "tasks.json").write_text('{"version": 1, "tasks": []}')
    (work / ".hilt" / "tasks.json").symlink_to(other / "tasks.json")
    error = await refusal(work)
    assert (error.code, "cannot be written" in error.reason) == (ErrorCode.EXECUTION_FAILED, True)
    with pytest.raises(ToolError, match="cannot be read"):
        await opened(work).tasks()


async def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = await opened(tmp_path).create(NEW, session="one")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        assert "No space left" in (await refusal(tmp_path)).reason
    assert await opened(tmp_path).tasks() == [task]
    assert sorted(os.listdir(tmp_path / ".hilt"))[-1] == "tasks.json"
    assert ".tasks.json.new" not in os.listdir(tmp_path / ".hilt")


async def test_another_that_holds_the_lock_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hilt.adapters.task_file, "LOCK_S", 0.01)
    (tmp_path / ".hilt").mkdir()
    with FileLock(tmp_path / ".hilt" / ".tasks.json.lock"):
        assert "other processes write" in (await refusal(tmp_path)).reason


async def test_a_pipe_in_place_of_the_new_file_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / ".hilt").mkdir()
    os.mkfifo(tmp_path / ".hilt" / ".tasks.json.new")
    assert "cannot be written" in (await refusal(tmp_path)).reason
