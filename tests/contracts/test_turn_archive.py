"""What every store promises that keeps the messages which gave way to a summary."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hilt.core.earlier import EarlierMessage
from hilt.core.errors import ConflictError
from hilt.core.session import SessionId, SessionRecord, SummaryMessage
from hilt.ports.store import TurnArchive
from tests.contracts.stores import AWKWARD_IDS, STORES, Store, record

A = SessionId("a")


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = STORES[request.param](tmp_path)
    yield store
    store.close()


def archive(store: Store) -> TurnArchive:
    sessions = store.sessions
    assert isinstance(sessions, TurnArchive)
    return sessions


def gone(*numbers: int) -> list[EarlierMessage]:
    return [EarlierMessage(number=number, role="user", text=f"text {number} é\u2028") for number in numbers]


def shortened(saved: SessionRecord, archived: int) -> SessionRecord:
    return replace(saved, archived=archived, messages=(SummaryMessage(text="so far"),))


@pytest.mark.req("BLT-75", "BLT-76")
async def test_what_gave_way_is_kept_with_the_record_in_order(store: Store) -> None:
    saved = await store.sessions.save(record("a"))
    assert await archive(store).earlier(A) == []
    saved = await archive(store).save_shortened(shortened(saved, 2), gone(1, 2))
    assert (saved.version, saved.archived) == (2, 2)
    assert await store.sessions.load(A) == saved
    saved = await archive(store).save_shortened(shortened(saved, 3), gone(3))
    assert list(await archive(store).earlier(A)) == gone(1, 2, 3)
    await store.sessions.save(replace(saved, title="later"))
    assert list(await archive(store).earlier(A)) == gone(1, 2, 3)


@pytest.mark.req("BLT-76", "SES-14")
async def test_a_refused_save_keeps_nothing(store: Store) -> None:
    first = await store.sessions.save(record("a"))
    second = await archive(store).save_shortened(shortened(first, 1), gone(1))
    other = [EarlierMessage(number=1, role="user", text="of a stale writer"), *gone(2)]
    with pytest.raises(ConflictError):
        await archive(store).save_shortened(shortened(first, 2), other)
    with pytest.raises(ConflictError):
        await archive(store).save_shortened(replace(shortened(first, 2), id=SessionId("none")), other)
    assert list(await archive(store).earlier(A)) == gone(1)
    assert await archive(store).earlier(SessionId("none")) == []
    assert await store.sessions.load(A) == second


@pytest.mark.req("SES-06")
async def test_it_is_removed_with_its_session_and_with_no_other(store: Store) -> None:
    for name in AWKWARD_IDS:
        saved = await store.sessions.save(record(name))
        await archive(store).save_shortened(
            shortened(saved, 1), [EarlierMessage(number=1, role="user", text=f"of {name}")]
        )
    assert await store.sessions.delete(SessionId(AWKWARD_IDS[0])) is True
    assert await archive(store).earlier(SessionId(AWKWARD_IDS[0])) == []
    for name in AWKWARD_IDS[1:]:
        assert [one.text for one in await archive(store).earlier(SessionId(name))] == [f"of {name}"]
    again = await store.sessions.save(record(AWKWARD_IDS[0]))
    assert await archive(store).earlier(again.id) == []


async def test_any_text_is_kept(store: Store) -> None:
    saved = await store.sessions.save(record("a"))
    odd = [
        EarlierMessage(number=n, role="tool", text=text) for n, text in enumerate(("", "\x00", "\ud800", "a\r\nb"), 1)
    ]
    await archive(store).save_shortened(shortened(saved, 4), odd)
    assert list(await archive(store).earlier(A)) == odd
