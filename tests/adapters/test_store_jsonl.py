"""The files of the JSON-lines store: names, rights, deletion, and lines that cannot be read."""

import json
import logging
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.store_jsonl import JsonlStore
from hilt.adapters.store_jsonl.files import CALLS, EVENTS, RECORD, stem
from hilt.core.errors import ConflictError, HarnessFault
from hilt.core.session import SessionId
from tests.adapters.jsonl_folder import A, file_of, fill, write_call
from tests.contracts.stores import AWKWARD_IDS, event, record


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JsonlStore]:
    store = JsonlStore(tmp_path / "store", clock=FixedClock())
    yield store
    store.close()


@pytest.mark.req("SES-10", "SES-20", "SES-26")
async def test_a_session_has_three_files_that_are_not_named_by_its_id(store: JsonlStore, tmp_path: Path) -> None:
    await fill(store)
    names = sorted(path.name for path in (tmp_path / "store" / "sid-v1").iterdir())
    assert names == sorted(stem(A) + end for end in (RECORD, EVENTS, CALLS))
    assert stem(A) != A
    [line] = file_of(tmp_path, CALLS).read_text().splitlines()
    assert json.loads(line)["took_micros"] == 2000
    [line] = file_of(tmp_path, EVENTS).read_text().splitlines()
    assert list(json.loads(line)) == ["v", "seq", "run", "time", "ev"]
    assert json.loads(line)["v"] == "hilt-event/1"


@pytest.mark.req("SES-21")
def test_a_stem_is_readable_safe_and_of_one_id_alone() -> None:
    stems = [stem(name) for name in AWKWARD_IDS]
    assert len({name.casefold() for name in stems}) == len(AWKWARD_IDS)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,40}-[0-9a-f]{32}", name) for name in stems)
    assert stem("ses/1 é").startswith("ses_1__-")


@pytest.mark.req("SES-23")
async def test_directories_are_0700_and_files_0600_whatever_the_umask(store: JsonlStore, tmp_path: Path) -> None:
    before = os.umask(0o000)
    try:
        await fill(store)
        wide = JsonlStore(tmp_path / "deep" / "er", clock=FixedClock())
        os.umask(0o277)
        await wide.sessions.save(record("a"))
    finally:
        os.umask(before)
    made = [path for root in ("store", "deep") for path in (tmp_path / root, *(tmp_path / root).rglob("*"))]
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in made}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


@pytest.mark.req("SES-22")
async def test_a_file_whose_id_is_not_that_of_its_name_is_neither_served_nor_deleted(
    store: JsonlStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await fill(store)
    file_of(tmp_path, RECORD).rename(file_of(tmp_path, RECORD, "ses_b"))
    other = SessionId("ses_b")
    with caplog.at_level(logging.WARNING):
        assert await store.sessions.load(other) is None
        assert await store.sessions.list() == ([], "")
        assert await store.sessions.delete(other) is False
    assert "session_record_foreign" in caplog.text
    assert file_of(tmp_path, RECORD, "ses_b").exists()
    for version in (0, 1):
        with pytest.raises(ConflictError):
            await store.sessions.save(record("ses_b", version=version))
    file_of(tmp_path, CALLS).rename(file_of(tmp_path, CALLS, "ses_c"))
    assert await store.calls.read("ses_c") == []
    assert await store.sessions.delete(SessionId("ses_c")) is False
    assert file_of(tmp_path, CALLS, "ses_c").exists()


@pytest.mark.req("SES-06")
async def test_a_deletion_that_was_cut_off_can_be_repeated(store: JsonlStore, tmp_path: Path) -> None:
    await fill(store)
    for end in (CALLS, EVENTS):
        file_of(tmp_path, end).unlink()
        assert await store.sessions.load(A) is not None
    file_of(tmp_path, RECORD + ".new").write_text("{")
    assert await store.sessions.delete(A) is True
    await fill(store)
    assert await store.sessions.delete(A) is True
    assert list((tmp_path / "store" / "sid-v1").iterdir()) == []


@pytest.mark.req("SES-06")
async def test_the_record_goes_last(store: JsonlStore, tmp_path: Path) -> None:
    await fill(store)
    file_of(tmp_path, EVENTS).unlink()
    file_of(tmp_path, EVENTS).mkdir()  # cannot be removed as a file
    with pytest.raises(HarnessFault):
        await store.sessions.delete(A)
    assert not file_of(tmp_path, CALLS).exists()
    assert await store.sessions.load(A) is not None
    file_of(tmp_path, EVENTS).rmdir()
    assert await store.sessions.delete(A) is True


@pytest.mark.req("SES-28")
async def test_a_torn_last_line_is_passed_over_and_the_next_append_starts_on_a_new_line(
    store: JsonlStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await fill(store)
    store.close()
    for end in (EVENTS, CALLS):
        with file_of(tmp_path, end).open("ab") as file:
            file.write(b'{"v":"hilt-event/1","seq":2,"ev":{"te')
    with caplog.at_level(logging.WARNING):
        assert [item["seq"] for item in await store.events.read(A)] == [1]
        assert len(await store.calls.read(A)) == 1
    assert caplog.text == ""
    await store.events.append(A, [event(3)])
    await write_call(store)
    assert [item["seq"] for item in await store.events.read(A)] == [1, 3]
    assert len(await store.calls.read(A)) == 2
    assert [len(file_of(tmp_path, end).read_bytes().split(b"\n")) for end in (EVENTS, CALLS)] == [4, 4]
    with file_of(tmp_path, EVENTS).open("ab") as file:
        file.write(b"{")
    assert await store.sessions.delete(A) is True


@pytest.mark.req("SES-28")
async def test_a_last_line_that_lacks_only_its_end_counts_and_is_completed(store: JsonlStore, tmp_path: Path) -> None:
    await store.events.append(A, [event(1), event(2)])
    path = file_of(tmp_path, EVENTS)
    path.write_bytes(path.read_bytes()[:-1])
    assert [item["seq"] for item in await store.events.read(A)] == [1, 2]
    await store.events.append(A, [event(3)])
    assert [item["seq"] for item in await store.events.read(A)] == [1, 2, 3]


@pytest.mark.req("SES-29")
async def test_bad_lines_elsewhere_are_passed_over_and_told_in_one_warning(
    store: JsonlStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await store.events.append(A, [event(1)])
    with file_of(tmp_path, EVENTS).open("ab") as file:
        file.write(b'no JSON\n\n[1]\n\xff\xfe\n{"v":"hilt-event/1","seq":"x","ev":{}}\n')
        file.write(b"[" * 100_000 + b"\n")
    await store.events.append(A, [event(2)])
    with caplog.at_level(logging.WARNING):
        assert [item["seq"] for item in await store.events.read(A)] == [1, 2]
    [told] = caplog.records
    assert told.levelno == logging.WARNING
    assert f"file={stem(A)}.events.jsonl count=5 lines=2,4,5,6,7" in told.getMessage()
    caplog.clear()
    await write_call(store)
    with file_of(tmp_path, CALLS).open("ab") as file:
        file.write(b"{]\n")
    with caplog.at_level(logging.WARNING):
        assert len(await store.calls.read(A)) == 1
    assert "count=1 lines=2" in caplog.text


@pytest.mark.req("SES-27")
async def test_an_unknown_version_of_a_line_is_an_error_that_names_file_and_line(
    store: JsonlStore, tmp_path: Path
) -> None:
    await store.events.append(A, [event(1)])
    with file_of(tmp_path, EVENTS).open("ab") as file:
        file.write(b'{"v":"hilt-event/2","seq":2}\n')
    with pytest.raises(HarnessFault) as caught:
        await store.events.read(A)
    assert str(caught.value) == (
        f"{stem(A)}.events.jsonl: line 2 has version 'hilt-event/2', this hilt reads 'hilt-event/1'"
    )


async def test_a_record_that_cannot_be_read_is_a_fault_that_names_the_file_and_hides_its_place(
    store: JsonlStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = await store.sessions.save(record("kept"))
    for content in (b"", b"{", b"[]", b'{"v":"hilt-session/9","id":"ses_a"}', b'{"id":1}'):
        await store.sessions.delete(SessionId("none"))
        path = file_of(tmp_path, RECORD)
        path.write_bytes(content)
        with pytest.raises(HarnessFault, match=re.escape(path.name)) as caught:
            await store.sessions.load(A)
        assert str(tmp_path) not in str(caught.value)
        with caplog.at_level(logging.WARNING):
            assert await store.sessions.list() == ([kept], "")
        assert "session_record_unreadable" in caplog.text
    for refused in (store.sessions.delete(A), store.sessions.save(record(A, version=1))):
        with pytest.raises(HarnessFault):
            await refused
    assert path.read_bytes() == b'{"id":1}'


async def test_a_disk_that_refuses_is_a_fault_without_a_path(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file where the directory should be")
    store = JsonlStore(tmp_path / "store", clock=FixedClock())
    for refused in (store.sessions.save(record(A)), store.events.append(A, [event(1)]), write_call(store)):
        with pytest.raises(HarnessFault, match="the session store cannot use") as caught:
            await refused
        assert str(tmp_path) not in str(caught.value)


async def test_many_sessions_are_recorded_with_few_open_files(store: JsonlStore) -> None:
    for number in range(150):
        await write_call(store, f"s{number % 100}")
    open_files = len([fd for fd in Path("/proc/self/fd").iterdir() if "tools.jsonl" in os.path.realpath(fd)])
    assert open_files <= 64
    assert [len(await store.calls.read(f"s{number}")) for number in (0, 49, 50, 99)] == [2, 2, 1, 1]


async def test_recording_goes_on_in_a_new_file_when_the_session_was_deleted(store: JsonlStore, tmp_path: Path) -> None:
    await fill(store)
    await JsonlStore(tmp_path / "store", clock=FixedClock()).sessions.delete(A)
    await write_call(store)
    assert len(await store.calls.read(A)) == 1
