"""Numbers, receivers and the barrier of an event stream."""

import logging
from collections.abc import Callable

import pytest

from hilt.core.event import Event, Notice
from hilt.engine.emitter import Emitter
from hilt.testing import ManualClock

NOTICE = Notice(topic="t", text="")


@pytest.mark.req("DSP-72")
async def test_numbers_rise_by_one_from_the_last_one_stored_with_run_turn_and_time() -> None:
    emitter = Emitter(clock=ManualClock(), last_seq=7)
    seen: list[Event] = []
    emitter.emit(NOTICE)
    emitter.subscribe(seen.append)
    emitter.run, emitter.turn = "run_1", 2
    emitter.emit(NOTICE)
    emitter.emit(NOTICE)
    assert [event.seq for event in seen] == [9, 10]
    assert {(event.run, event.turn, event.time) for event in seen} == {("run_1", 2, "2026-01-01T00:00:00+00:00")}


async def test_without_a_clock_events_have_the_time_of_the_day() -> None:
    emitter = Emitter()
    seen: list[Event] = []
    emitter.subscribe(seen.append)
    emitter.emit(NOTICE)
    assert seen[0].time.endswith("+00:00")


@pytest.mark.req("DSP-74")
async def test_a_receiver_that_raises_is_told_once_and_dropped(caplog: pytest.LogCaptureFixture) -> None:
    emitter = Emitter()
    seen: list[int] = []

    def bad(event: Event) -> None:
        raise RuntimeError("broken")

    emitter.subscribe(bad)
    emitter.subscribe(lambda event: seen.append(event.seq))
    with caplog.at_level(logging.ERROR):
        emitter.emit(NOTICE)
        emitter.emit(NOTICE)
    assert seen == [1, 2]
    assert [record.message for record in caplog.records] == ["event_receiver_failed kind=notice"]


@pytest.mark.req("DSP-74")
async def test_a_receiver_may_leave_while_it_receives_and_raise_on_top() -> None:
    emitter = Emitter()
    leaves: list[Callable[[], None]] = []

    def going(event: Event) -> None:
        leaves[0]()
        leaves[0]()
        raise RuntimeError("and slams the door")

    leaves.append(emitter.subscribe(going))
    assert emitter.listened
    emitter.emit(NOTICE)
    assert not emitter.listened


async def test_a_silenced_emitter_tells_nobody() -> None:
    emitter = Emitter()
    seen: list[Event] = []
    emitter.subscribe(seen.append)
    emitter.silence()
    emitter.emit(NOTICE)
    assert (seen, emitter.seq) == ([], 1)


async def test_the_barrier_passes_on_whether_a_flush_is_wanted() -> None:
    wanted: list[bool] = []

    async def flush(durable: bool) -> None:
        wanted.append(durable)

    emitter = Emitter(flush=flush)
    await emitter.barrier()
    await emitter.barrier(durable=True)
    await Emitter().barrier()
    assert wanted == [False, True]
