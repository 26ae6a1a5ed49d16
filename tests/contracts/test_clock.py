"""What every clock does, over each adapter."""

from collections.abc import Callable
from datetime import UTC, timedelta

import pytest

from hilt.adapters.clock_system import SystemClock
from hilt.adapters.inmemory.clock import FixedClock
from hilt.ports.clock import Clock
from hilt.testing import ManualClock

CLOCKS: dict[str, Callable[[], Clock]] = {
    "system": SystemClock,
    "fixed": FixedClock,
    "manual": ManualClock,
}


@pytest.fixture(params=CLOCKS)
def clock(request: pytest.FixtureRequest) -> Clock:
    return CLOCKS[request.param]()


def test_the_time_is_told_in_utc_with_its_zone(clock: Clock) -> None:
    assert clock.now().tzinfo is UTC


def test_the_monotonic_clock_never_goes_back(clock: Clock) -> None:
    told = [clock.monotonic() for _ in range(100)]
    assert told == sorted(told)


def test_ids_are_uuid7_in_hex_and_sort_by_age(clock: Clock) -> None:
    ids = [clock.new_id() for _ in range(5000)]
    assert all(len(made) == 32 and made[12] == "7" and made[16] in "89ab" for made in ids)
    assert ids == sorted(set(ids))


def test_ids_hold_the_time_at_which_they_were_made(clock: Clock) -> None:
    made = int(clock.new_id()[:12], 16) / 1000
    assert abs(made - clock.now().timestamp()) < timedelta(minutes=1).total_seconds()
