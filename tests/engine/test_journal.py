"""The way of events into their log: order, batches, flushes that nobody else's write may swallow, failures."""

import logging
from collections.abc import Mapping, Sequence

import anyio
import anyio.lowlevel
import pytest

from hilt.core.errors import HarnessFault
from hilt.core.event import Event, Notice
from hilt.core.session import SessionId
from hilt.engine.journal import Journal

ID = SessionId("ses_1")


def event(seq: int) -> Event:
    return Event(seq=seq, run="run_1", turn=0, time="", body=Notice(topic="t", text=""))


class Log:
    """An event log that keeps batches, may be slow and may fail."""

    def __init__(self) -> None:
        self.batches: list[tuple[list[int], bool]] = []
        self.broken = False
        self.go = anyio.Event()
        self.go.set()

    async def append(self, session_id: SessionId, events: Sequence[Event], *, durable: bool = False) -> None:
        """See `EventLog.append`."""
        assert session_id == ID
        await self.go.wait()
        if self.broken:
            raise HarnessFault("the disk is full")
        self.batches.append(([one.seq for one in events], durable))

    async def read(self, session_id: SessionId, *, after: int = 0) -> Sequence[Mapping[str, object]]:
        """See `EventLog.read`."""
        return []

    async def delete(self, session_id: SessionId) -> None:
        """See `EventLog.delete`."""


async def test_what_waits_is_written_in_order_and_once() -> None:
    log = Log()
    journal = Journal(log, ID)
    await journal.write()
    for seq in (1, 2, 3):
        journal.take(event(seq))
    await journal.write()
    await journal.write()
    journal.take(event(4))
    await journal.write(durable=True)
    assert log.batches == [([1, 2, 3], False), ([4], True)]


@pytest.mark.req("SES-41")
async def test_a_flush_is_not_lost_when_another_write_takes_its_events() -> None:
    log = Log()
    journal = Journal(log, ID)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(journal.run)
            await anyio.wait_all_tasks_blocked()
            for seq in range(1, 40):
                # The background write wakes up at the first event and may be anywhere when the second comes.
                journal.take(event(2 * seq - 1))
                for _ in range(seq % 4):
                    await anyio.lowlevel.checkpoint()
                journal.take(event(2 * seq))
                await journal.write(durable=True)
                batch, durable = log.batches[-1]
                assert batch[-1] == 2 * seq
                assert durable
            group.cancel_scope.cancel()
    assert [seq for batch, _ in log.batches for seq in batch] == list(range(1, 79))


@pytest.mark.req("SES-41")
async def test_a_flush_that_waits_behind_a_slow_write_covers_what_came_meanwhile() -> None:
    log = Log()
    log.go = anyio.Event()
    journal = Journal(log, ID)
    journal.take(event(1))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(journal.write)
            await anyio.wait_all_tasks_blocked()
            journal.take(event(2))
            group.start_soon(journal.write)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(journal.write, True)
            await anyio.wait_all_tasks_blocked()
            log.go.set()
    assert log.batches == [([1], False), ([2], True)]


async def test_what_could_not_be_written_comes_first_in_the_next_write_and_is_still_flushed() -> None:
    log = Log()
    journal = Journal(log, ID)
    journal.take(event(1))
    log.broken = True
    with pytest.raises(HarnessFault):
        await journal.write(durable=True)
    journal.take(event(2))
    log.broken = False
    await journal.write()
    assert log.batches == [([1, 2], True)]


@pytest.mark.req("DSP-74")
async def test_the_background_write_tells_of_a_broken_log_once_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    log = Log()
    journal = Journal(log, ID)
    log.broken = True
    with caplog.at_level(logging.ERROR), anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(journal.run)
            for seq in (1, 2):
                journal.take(event(seq))
                await anyio.wait_all_tasks_blocked()
            log.broken = False
            journal.take(event(3))
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    assert log.batches == [([1, 2, 3], False)]
    assert [record.message for record in caplog.records] == ["event_log_failed session=ses_1"]
