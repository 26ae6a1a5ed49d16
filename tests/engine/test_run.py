"""A run in its reader's hands: order, end, fault, and leaving early."""

import anyio
import pytest

from hilt.core.errors import HarnessFault
from hilt.core.event import Event, Notice, RunResult
from hilt.core.session import StopReason
from hilt.engine.run import Run

RESULT = RunResult(stop_reason=StopReason.END_TURN)


def event(seq: int, body: Notice | RunResult | None = None) -> Event:
    return Event(seq=seq, run="run_1", turn=0, time="", body=body or Notice(topic="t", text=str(seq)))


async def test_events_come_in_order_whether_they_were_there_before_or_come_while_waiting() -> None:
    run = Run()
    run.take(event(1))
    seen: list[int] = []
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:

            async def read() -> None:
                seen.extend([one.seq async for one in run])

            group.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            assert seen == []
            run.take(event(2))
            await anyio.wait_all_tasks_blocked()
            run.take(event(3, RESULT))
            run.end()
    assert seen == [1, 2, 3]
    assert run.result == RESULT
    assert await run.finished() == RESULT


async def test_two_readers_share_the_events_and_both_end() -> None:
    run = Run()
    seen: list[int] = []
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:

            async def read() -> None:
                seen.extend([one.seq async for one in run])

            group.start_soon(read)
            group.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            run.take(event(1))
            run.take(event(2))
            await anyio.wait_all_tasks_blocked()
            run.end()
    assert sorted(seen) == [1, 2]


async def test_a_fault_comes_after_the_last_event_and_each_time() -> None:
    run = Run()
    run.take(event(1))
    run.failed(HarnessFault("the disk is full"))
    run.end()
    assert (await anext(run)).seq == 1
    for _ in range(2):
        with pytest.raises(HarnessFault, match="disk is full"):
            await anext(run)
    assert await run.finished() is None


async def test_leaving_cancels_the_scope_and_waits_for_the_end_even_when_cancelled_itself() -> None:
    run = Run()
    ended = False

    async def drive() -> None:
        nonlocal ended
        with run.scope:
            await anyio.sleep_forever()
        ended = True
        run.end()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(drive)
            with anyio.CancelScope() as scope:
                async with run:
                    scope.cancel()
                    await anyio.sleep_forever()
            assert ended


async def test_closing_an_ended_run_waits_for_nothing() -> None:
    run = Run()
    run.take(event(1))
    run.end()
    with anyio.fail_after(5):
        await run.aclose()
        await run.aclose()
    assert [one.seq async for one in run] == [1]
