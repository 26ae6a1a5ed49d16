"""Several processes in one JSON-lines store, killed ones among them."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.store_jsonl import JsonlStore
from hilt.adapters.store_jsonl.files import CALLS, EVENTS, RECORD, AppendFile, create, locked
from hilt.core.errors import ConflictError
from hilt.core.session import UserMessage
from tests.adapters import store_writer
from tests.adapters.jsonl_folder import A, file_of, write_call
from tests.contracts.stores import event, record


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JsonlStore]:
    store = JsonlStore(tmp_path / "store", clock=FixedClock())
    yield store
    store.close()


async def test_an_append_that_the_disk_refuses_leaves_nothing_of_its_line(tmp_path: Path) -> None:
    import resource  # limits are of the process, so they are set in one of its own

    program = (
        "import resource, signal, sys; from pathlib import Path;"
        "from hilt.adapters.store_jsonl.files import AppendFile;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (1000, {resource.RLIM_INFINITY}));"
        "file = AppendFile(Path(sys.argv[1])); file.append(b'a' * 899 + b'\\n')\n"
        "try: file.append(b'b' * 899 + b'\\n')\n"
        "except OSError: print('refused')\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({resource.RLIM_INFINITY}, {resource.RLIM_INFINITY}))\n"
    )
    path = tmp_path / "log"
    done = subprocess.run([sys.executable, "-c", program, path], check=True, capture_output=True, text=True)
    assert done.stdout == "refused\n"
    assert path.read_bytes() == b"a" * 899 + b"\n"


async def test_a_save_that_waits_for_a_deletion_finds_the_session_gone(store: JsonlStore, tmp_path: Path) -> None:
    saved = await store.sessions.save(record(A))
    path = file_of(tmp_path, RECORD)
    refused: list[str] = []

    async def save() -> None:
        try:
            await store.sessions.save(saved)
        except ConflictError as exc:
            refused.append(str(exc))

    async with anyio.create_task_group() as group:
        with locked(path):
            group.start_soon(save)
            await anyio.wait_all_tasks_blocked()
            path.unlink()
    assert refused == [f"session {A!r} is gone, not 1: load it again before saving"]


@pytest.mark.req("SES-34")
async def test_a_record_is_written_in_a_thread_while_another_process_holds_the_file(
    store: JsonlStore, tmp_path: Path
) -> None:
    await write_call(store)
    program = (
        "import fcntl, sys; f = open(sys.argv[1], 'ab'); fcntl.flock(f, fcntl.LOCK_EX);"
        "print('held', flush=True); sys.stdin.read(1)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, file_of(tmp_path, CALLS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(write_call, store)
                await anyio.wait_all_tasks_blocked()  # the loop is free while the thread waits
                assert len(await store.calls.read(A)) == 1
                holder.communicate(b"x")
    assert len(await store.calls.read(A)) == 2


def test_a_file_is_created_once_and_a_draft_never_stays(tmp_path: Path) -> None:
    path = tmp_path / "x.session.json"
    assert create(path, b"first") is True
    assert create(path, b"second") is False
    assert [item.name for item in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"first"


def test_an_append_that_may_not_wait_says_so(tmp_path: Path) -> None:
    one, two = AppendFile(tmp_path / "x"), AppendFile(tmp_path / "x")
    import fcntl

    held = os.open(tmp_path / "x", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert one.append(b"1\n", wait=False) is False
    os.close(held)
    assert one.append(b"1\n", wait=False) is True
    assert two.append(b"2\n") is True
    assert one.append(b"3\n") is True
    assert (tmp_path / "x").read_bytes() == b"1\n2\n3\n"
    one.close()
    two.close()


def start_writer(directory: Path, kind: str, *args: object) -> "subprocess.Popen[bytes]":
    command = [sys.executable, store_writer.__file__, str(directory), kind, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def kill_after(writer: "subprocess.Popen[bytes]", acknowledged: int) -> int:
    """Kill the writer behind the number `acknowledged`; return the last number that it acknowledged."""
    assert writer.stdout is not None
    last = 0
    while last < acknowledged:
        last = int(writer.stdout.readline())
    writer.kill()
    rest = writer.stdout.read().split()
    writer.wait()
    writer.stdout.close()
    return int(rest[-1]) if rest else last


@pytest.mark.req("SES-13")
async def test_a_save_is_all_or_nothing_when_the_process_is_killed(store: JsonlStore, tmp_path: Path) -> None:
    for step in range(8):
        writer = start_writer(tmp_path / "store", "save", "w", 200_000, 100_000)
        last = kill_after(writer, 1 + step * 3)
        kept = await store.sessions.load(store_writer.SESSION)
        assert kept is not None
        number = int(kept.title)
        assert number in (last, last + 1)
        text = f"{number} " + "x" * 200_000
        assert kept.messages == tuple(UserMessage(text=text) for _ in range(3))
        await store.sessions.save(replace(kept, title=kept.title))
    assert await store.sessions.delete(store_writer.SESSION) is True
    assert list((tmp_path / "store" / "sid-v1").iterdir()) == []


@pytest.mark.req("SES-28", "SES-31")
async def test_appends_next_to_a_writer_that_is_killed_never_mix_with_its_lines(
    store: JsonlStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mine = 0
    for step in range(8):
        writer = start_writer(tmp_path / "store", "events", f"w{step}", 2_000_000, 100_000)
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, kill_after, writer, 2 + step)
            while writer.poll() is None:
                mine += 1
                await store.events.append(store_writer.SESSION, [event(1_000_000 + mine)])
        mine += 1
        await store.events.append(store_writer.SESSION, [event(1_000_000 + mine)])
    with caplog.at_level(logging.WARNING):
        found = await store.events.read(store_writer.SESSION)
    numbers = [item["seq"] for item in found if item["run"] == "run_1"]
    assert numbers == list(range(1_000_001, 1_000_001 + mine))
    assert {len(str(item["text"])) for item in found if item["run"] != "run_1"} == {2_000_000}


@pytest.mark.req("SES-31")
@pytest.mark.parametrize(
    ("kind", "size", "times"), [("events", 3000, 300), ("calls", 3000, 2000), ("calls", 300_000, 40)]
)
async def test_two_processes_that_append_to_one_file_never_mix_their_lines(
    store: JsonlStore, tmp_path: Path, kind: str, size: int, times: int
) -> None:
    writers = [start_writer(tmp_path / "store", kind, name, size, times) for name in ("a", "b")]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    end = EVENTS if kind == "events" else CALLS
    lines = file_of(tmp_path, end, store_writer.SESSION).read_bytes().splitlines()
    values = [json.loads(line) for line in lines]
    names = [value["run"] if kind == "events" else value["call_id"][0] for value in values]
    assert (names.count("a"), names.count("b"), len(names)) == (times, times, 2 * times)


@pytest.mark.req("SES-14")
async def test_of_two_processes_that_save_one_version_one_succeeds(store: JsonlStore, tmp_path: Path) -> None:
    base = await store.sessions.save(record(A))
    other = JsonlStore(tmp_path / "store", clock=FixedClock())
    outcomes: list[bool] = []

    async def save(through: JsonlStore) -> None:
        try:
            await through.sessions.save(base)
        except ConflictError:
            outcomes.append(False)
        else:
            outcomes.append(True)

    for _ in range(10):
        outcomes.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(save, store)
            group.start_soon(save, other)
        assert sorted(outcomes) == [False, True]
        loaded = await store.sessions.load(A)
        assert loaded is not None
        base = loaded
