"""A reader of a session's events: each once, in order; what it missed by being slow is told as a range."""

import anyio
import pytest

from hilt.core.event import Event, MessageDelta, RunResult
from hilt.core.session import StopReason
from hilt.engine.follow import Follower, Followers, Gap


def event(seq: int, *, run: str = "run_1", last: bool = False) -> Event:
    body = RunResult(stop_reason=StopReason.END_TURN) if last else MessageDelta(text=str(seq))
    return Event(seq=seq, run=run, turn=1, time="", body=body)


async def taken(follower: Follower, count: int) -> list[object]:
    """Return the next items: numbers of events, gaps, None for the end."""
    out: list[object] = []
    for _ in range(count):
        with anyio.fail_after(5):
            found = await follower.next()
        out.append(found["seq"] if found is not None and not isinstance(found, Gap) else found)
    return out


async def test_events_come_once_in_order_behind_the_first_number_and_the_stored_ones() -> None:
    follower = Follower(after=2)
    for seq in range(1, 7):
        follower.take(event(seq))
    assert [seq for seq in (2, 3, 4) if follower.is_new(seq)] == [3, 4]
    follower.end()
    follower.take(event(7))
    assert await taken(follower, 3) == [5, 6, None]


@pytest.mark.req("SES-60")
async def test_one_too_far_behind_loses_what_waits_and_is_told_the_range_up_to_now() -> None:
    follower = Follower(behind_max=3)
    for seq in range(1, 4):
        follower.take(event(seq))
    assert await taken(follower, 1) == [1]
    for seq in range(4, 9):
        follower.take(event(seq))
    assert await taken(follower, 1) == [Gap(first=2, last=8)]
    follower.take(event(9))
    follower.end()
    assert await taken(follower, 2) == [9, None]


@pytest.mark.req("SES-60")
async def test_what_the_log_gave_meanwhile_is_no_gap() -> None:
    follower = Follower(behind_max=1)
    for seq in (1, 2, 3):
        follower.take(event(seq))
    assert [follower.is_new(seq) for seq in (1, 2)] == [True, True]
    assert await taken(follower, 1) == [Gap(first=3, last=3)]
    follower.take(event(4))
    follower.take(event(5))
    assert [follower.is_new(seq) for seq in (4, 5)] == [True, True]
    follower.take(event(6))
    follower.end()
    assert await taken(follower, 2) == [Gap(first=6, last=6), None]
    again = Follower(behind_max=1)
    for seq in (1, 2):
        again.take(event(seq))
    assert [again.is_new(seq) for seq in (1, 2)] == [True, True]
    again.end()
    assert await taken(again, 1) == [None]


async def test_the_reader_of_one_run_gets_that_run_and_ends_with_its_result() -> None:
    follower = Follower(run="run_2")
    for one in (event(1), event(2, run="run_2"), event(3, run="run_2", last=True), event(4, run="run_2")):
        follower.take(one)
    assert await taken(follower, 3) == [2, 3, None]


async def test_readers_are_of_one_session_and_a_reader_that_left_gets_nothing() -> None:
    followers = Followers()
    mine, also, other = Follower(), Follower(), Follower()
    leave = followers.add("a", mine)
    followers.add("a", also)
    followers.add("b", other)
    followers.tell("a", event(1))
    leave()
    leave()
    followers.tell("a", event(2))
    followers.tell("c", event(3))
    followers.end("a")
    followers.end("a")
    followers.tell("a", event(4))
    mine.end()
    other.end()
    assert await taken(mine, 2) == [1, None]
    assert await taken(also, 3) == [1, 2, None]
    assert await taken(other, 1) == [None]
