"""What every event log promises."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hilt.core.content import ImagePart
from hilt.core.event import (
    AskClosed,
    AskOpened,
    Event,
    EventBody,
    ReasoningDelta,
    RunResult,
    RunStart,
    ToolSettled,
    TurnEnd,
    event_to_json,
)
from hilt.core.session import SessionId, StopReason, Usage
from hilt.core.tool import ToolResult
from tests.contracts.stores import STORES, Store, event

A = SessionId("ses_a")


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = STORES[request.param](tmp_path)
    yield store
    store.close()


@pytest.mark.req("SES-27")
async def test_a_missing_log_reads_as_empty_and_deleting_it_is_no_error(store: Store) -> None:
    assert await store.events.read(A) == []
    await store.events.delete(A)


@pytest.mark.req("SES-11", "SES-26")
@pytest.mark.parametrize("durable", [False, True])
async def test_what_a_run_emits_is_read_as_it_was_emitted(store: Store, durable: bool) -> None:
    picture = ImagePart(data="AAAA", mime_type="image/png")
    bodies: list[EventBody] = [
        RunStart(prompt="go", mode="default", model="m"),
        ReasoningDelta(text="thinking \u2028 \U0001f600 \x00"),
        AskOpened(ask_id="a1", call_id="c1", tool="Write", reason="rule", arguments='{"n": 1}'),
        AskClosed(ask_id="a1", call_id="c1", verdict="allow_once"),
        ToolSettled(call_id="c1", tool="Write", result=ToolResult("c1", "done", False, (picture,))),
        TurnEnd(calls=1, usage=Usage(input=5)),
        RunResult(stop_reason=StopReason.END_TURN, final_text="ok", usage=Usage(output=2)),
    ]
    events: list[Event] = [event(number, body) for number, body in enumerate(bodies, start=1)]
    await store.events.append(A, events[:4], durable=durable)
    await store.events.append(A, events[4:], durable=durable)
    await store.events.append(A, [], durable=durable)
    assert await store.events.read(A) == [event_to_json(item) for item in events]


async def test_reading_starts_behind_a_number_and_goes_by_number(store: Store) -> None:
    await store.events.append(A, [event(1), event(3)])
    await store.events.append(A, [event(2), event(4)])
    assert [item["seq"] for item in await store.events.read(A)] == [1, 2, 3, 4]
    assert [item["seq"] for item in await store.events.read(A, after=2)] == [3, 4]
    assert await store.events.read(A, after=4) == []


async def test_the_logs_of_two_sessions_are_apart(store: Store) -> None:
    other = SessionId("ses_A")
    await store.events.append(A, [event(1)])
    await store.events.append(other, [event(7)])
    await store.events.delete(A)
    assert await store.events.read(A) == []
    assert [item["seq"] for item in await store.events.read(other)] == [7]
    await store.events.append(A, [event(2)])
    assert [item["seq"] for item in await store.events.read(A)] == [2]
