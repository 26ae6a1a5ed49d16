"""Places that are taken, waited for and given back."""

import asyncio
import contextlib

import anyio
import pytest

from hilt.engine.places import Places


@pytest.mark.req("BLT-61")
async def test_those_who_wait_get_a_place_in_order_and_before_anybody_who_comes_later() -> None:
    places, got = Places(1), []
    assert places.take()
    assert not places.take()

    async def wait(name: str) -> None:
        await places.wait()
        got.append(name)

    async with anyio.create_task_group() as group:
        for name in "ab":
            group.start_soon(wait, name)
            await anyio.wait_all_tasks_blocked()
        places.give_back()
        assert not places.take()  # it is handed over, although the first in line has not come round to it
        await anyio.wait_all_tasks_blocked()
        assert got == ["a"]
        places.give_back()
    assert got == ["a", "b"]
    places.give_back()
    await places.wait()
    assert not places.take()


@pytest.mark.req("BLT-61")
async def test_a_place_is_not_lost_with_one_who_was_cancelled_before_or_just_after_getting_it() -> None:
    for handed_over in (False, True):
        places = Places(1)
        places.take()
        task = asyncio.ensure_future(places.wait())
        await anyio.wait_all_tasks_blocked()
        if handed_over:
            places.give_back()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()
        if not handed_over:
            places.give_back()
        assert places.take()
        assert not places.take()
