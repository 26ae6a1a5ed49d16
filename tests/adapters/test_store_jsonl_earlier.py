"""The file of what gave way to summaries: rights, masks, and lines that cannot be read or that nobody counts."""

import json
import logging
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.store_jsonl import JsonlStore
from hilt.adapters.store_jsonl.files import EARLIER, RECORD
from hilt.core.earlier import EarlierMessage
from hilt.core.redaction import Redactor
from hilt.core.session import SessionRecord
from tests.adapters.jsonl_folder import A, file_of
from tests.contracts.stores import record


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JsonlStore]:
    store = JsonlStore(tmp_path / "store", clock=FixedClock(), redactor=Redactor(["open sesame"]))
    yield store
    store.close()


async def kept(store: JsonlStore, *texts: str) -> SessionRecord:
    saved = await store.sessions.save(record(A))
    gone = [EarlierMessage(number=number, role="user", text=text) for number, text in enumerate(texts, start=1)]
    return await store.sessions.save_shortened(replace(saved, archived=len(texts)), gone)


@pytest.mark.req("SES-23", "SES-33")
async def test_it_is_masked_and_its_owner_alone_reads_it(store: JsonlStore, tmp_path: Path) -> None:
    await kept(store, "say open sesame twice")
    file = file_of(tmp_path, EARLIER)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text()) == {
        **{"v": "hilt-earlier/1", "session_id": A},
        **{"number": 1, "role": "user", "text": "say [masked] twice"},
    }


@pytest.mark.req("SES-28", "SES-29", "BLT-76")
async def test_lines_that_cannot_be_read_or_that_no_record_counts_are_passed_over(
    store: JsonlStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    saved = await kept(store, "one", "two")
    file = file_of(tmp_path, EARLIER)
    whole = file.read_bytes()
    foreign = whole.replace(b'"hilt-earlier/1"', b'"hilt-earlier/2"') + whole.replace(A.encode(), b"ses_other")
    file.write_bytes(b"garbage\n" + foreign + whole + whole.replace(b'"number":2', b'"number":3') + whole[:20])
    with caplog.at_level(logging.WARNING):
        assert [one.text for one in await store.sessions.earlier(A)] == ["one", "two"]
    assert caplog.text.count("store_lines_unreadable") == 1
    assert "count=5" in caplog.text
    again = EarlierMessage(number=3, role="tool", text="three")
    await store.sessions.save_shortened(replace(saved, archived=3), [again])
    assert [one.text for one in await store.sessions.earlier(A)] == ["one", "two", "three"]


async def test_a_file_that_is_gone_and_a_record_that_is_another_s_read_as_empty(
    store: JsonlStore, tmp_path: Path
) -> None:
    await kept(store, "one")
    file_of(tmp_path, RECORD).rename(file_of(tmp_path, RECORD, "ses_b"))
    assert list(await store.sessions.earlier(A)) == []
    file_of(tmp_path, RECORD, "ses_b").rename(file_of(tmp_path, RECORD))
    file_of(tmp_path, EARLIER).unlink()
    assert list(await store.sessions.earlier(A)) == []
