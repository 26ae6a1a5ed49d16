"""A clock that a test moves."""

from datetime import UTC, datetime, timedelta, timezone

import anyio
import pytest

from hilt.testing import ManualClock

START = datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=2)))


def test_it_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(START)
    assert (clock.now(), clock.monotonic()) == (datetime(2026, 5, 1, 10, tzinfo=UTC), 0.0)
    clock.advance(90)
    assert (clock.now(), clock.monotonic()) == (datetime(2026, 5, 1, 10, 1, 30, tzinfo=UTC), 90.0)


def test_it_cannot_be_moved_back() -> None:
    with pytest.raises(ValueError, match="cannot go back by 1 s"):
        ManualClock().advance(-1)


def test_two_clocks_make_the_same_ids_and_later_ones_sort_after() -> None:
    first, second = ManualClock(START), ManualClock(START)
    assert [first.new_id(), first.new_id()] == [second.new_id(), second.new_id()]
    early = first.new_id()
    first.advance(1)
    assert early < first.new_id()


async def test_tasks_wait_for_their_moment_and_no_time_passes() -> None:
    clock = ManualClock()
    woken: list[float] = []

    async def wait(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for seconds in (30, 10, 20):
                group.start_soon(wait, seconds)
            await anyio.wait_all_tasks_blocked()
            assert clock.waiting == 3
            clock.advance(20)
            await anyio.wait_all_tasks_blocked()
            assert sorted(woken) == [10, 20]
            clock.advance(10)
    assert (clock.waiting, woken[-1]) == (0, 30)
    await clock.reached(30)
