"""A process killed anywhere in a run leaves a store that opens, whole, with every call paired (sessions.md 4)."""

import asyncio
import json
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import hilt
from hilt import VIA_SESSION
from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.store_jsonl import JsonlStore
from hilt.core.session import AssistantMessage, SessionId, SessionRecord, SessionState, StopReason, ToolMessage
from hilt.engine.recovery import NOT_RUN, OUTCOME_UNKNOWN
from hilt.engine.session import Session
from hilt.testing import ScriptedModel
from tests.flows.kill_child import ID, RULES, tools
from tests.flows.session_kit import ended, misnumbered, pending_id, unpaired

ROOT = Path(__file__).parents[2]
CHANGES = ("change", "again", "risky", "last")


async def kill_at(folder: Path, points: Sequence[tuple[str, int]]) -> dict[Path, int]:
    """Run a session for each point, and return its folder and how its process ended."""
    folders = [folder / f"{kind}-{number}" for kind, number in points]
    lines = "".join(f"{one} {kind} {number}\n" for one, (kind, number) in zip(folders, points, strict=True))
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.flows.kill_child",
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await child.communicate(lines.encode())
    assert child.returncode == 0
    return dict(zip(folders, map(int, out.split()), strict=True))


def lines_of(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


def of_call(events: Sequence[Mapping[str, object]], call_id: str) -> Counter[object]:
    return Counter(event["type"] for event in events if event.get("call_id") == call_id)


def results_of(record: SessionRecord) -> dict[str, str]:
    return {
        result.call_id: result.content
        for message in record.messages
        if isinstance(message, ToolMessage)
        for result in message.results
    }


@pytest.mark.req("SES-13", "SES-28", "SES-40", "SES-41", "SES-42", "SES-43", "SES-44", "DSP-01", "DSP-70", "DSP-72")
@pytest.mark.parametrize(
    ("kind", "step", "least"), [("event", 1, 35), ("before", 2, 25), ("torn", 3, 15), ("after", 3, 15)]
)
async def test_a_process_killed_at_any_point_leaves_a_session_that_goes_on(
    tmp_path: Path, kind: str, step: int, least: int
) -> None:
    whole = await kill_at(tmp_path, [("none", 0)])
    assert list(whole.values()) == [0]
    events, operations = map(int, lines_of(tmp_path / "none-0" / "totals"))
    last = events if kind == "event" else operations
    ends = await kill_at(tmp_path, [(kind, number) for number in range(1, last + 1, step)])
    # How events fall into batches differs from run to run, and with it the number of operations.
    assert set(ends.values()) <= {0, -signal.SIGKILL}
    assert list(ends.values()).count(-signal.SIGKILL) >= least
    for folder in ends:
        await goes_on(folder)


async def goes_on(folder: Path) -> None:
    """Open what the killed process left, hold it against what that process knew, and go on with it."""
    store = JsonlStore(folder / "store", clock=FixedClock())
    model = ScriptedModel([{"text": "resumed"}, {"text": "further"}])
    acknowledged = lines_of(folder / "acknowledged")
    async with hilt.build(
        workspace=folder, store=store, model=model, tools=tools(folder), rules=RULES, approver=VIA_SESSION
    ) as app:
        records, _ = await app.sessions.list()
        if not records:
            assert acknowledged == []
            return
        before = await store.events.read(SessionId(ID))
        assert {int(seq) for seq in acknowledged if seq != "created"} <= {event["seq"] for event in before}
        session = await app.sessions.open(ID)
        assert session.state in (SessionState.IDLE, SessionState.AWAITING, SessionState.CLOSED)
        if session.state is SessionState.AWAITING:
            await verdict(session, folder)
        further = await ended(session.prompt("go on"))
        assert further.stop_reason is StopReason.END_TURN
        await check(session.record, folder, store, before)


async def verdict(session: Session, folder: Path) -> None:
    """Answer the ask that was open; its call, and none before it, runs now."""
    assert "risky" not in lines_of(folder / "effects")
    run = await session.approve(pending_id(session), "allow_once")
    assert run is not None
    assert (await ended(run)).final_text == "resumed"
    assert results_of(session.record)["risky"] == "changed"


async def check(record: SessionRecord, folder: Path, store: JsonlStore, before: Sequence[Mapping[str, object]]) -> None:
    """Hold messages, events, audit and effects against one another."""
    assert unpaired(record.messages) == []
    events = await store.events.read(SessionId(ID))
    assert list(events[: len(before)]) == list(before)
    assert misnumbered(events) == []
    effects = Counter(lines_of(folder / "effects"))
    audit = Counter(str(line["call_id"]) for line in await store.calls.read(ID))
    results = results_of(record)
    for call_id in {
        call.id for message in record.messages if isinstance(message, AssistantMessage) for call in message.calls
    }:
        kinds = of_call(events, call_id)
        assert (kinds["tool.call"], kinds["tool.result"]) == (1, 1)
        assert kinds["tool.start"] == kinds["tool.end"] <= 1
        assert kinds["permission.ask"] == kinds["permission.verdict"] <= 1
        assert audit[call_id] == 1
        if call_id in CHANGES:
            assert effects[call_id] in allowed_effects(results[call_id])
    assert set(effects) <= set(results)
    for run in {event["run"] for event in events}:
        assert [event["type"] for event in events if event["run"] == run].count("result") == 1
        assert [event["type"] for event in events if event["run"] == run][-1] == "result"


def allowed_effects(result: str) -> set[int]:
    """Return how often a change may have left its trace, by what the model was told of it."""
    if result == "changed":
        return {1}
    message = json.loads(result)["message"]
    return {0} if message == NOT_RUN else {0, 1} if message == OUTCOME_UNKNOWN else set()
