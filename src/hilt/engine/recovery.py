"""What a restart left open: which calls had ended, which had started, and what the others are told."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

import anyio

from hilt.core.errors import ErrorCode, ToolError
from hilt.core.event import AskClosed, AskOpened, EventBody, RunResult, ToolCallTaken, ToolEnd, ToolSettled
from hilt.core.record import result_from_json
from hilt.core.session import SessionState, StopReason, ToolMessage
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.asking import cut_arguments
from hilt.engine.assembly import Host
from hilt.engine.conversation import Conversation
from hilt.engine.emitter import Emitter
from hilt.engine.journal import Journal
from hilt.engine.keeper import RecordKeeper
from hilt.engine.settle import RECORD_TIMEOUT_S
from hilt.ports.permission import Verdict, VerdictKind
from hilt.ports.store import ToolCallReader, ToolCallRecorder

logger = logging.getLogger(__name__)

OUTCOME_UNKNOWN = (
    "hilt was restarted while this call ran: its outcome is unknown and nothing was repeated. "
    "Check what it changed before trying again."
)
NOT_RUN = "hilt was restarted before this call: it was not run."


@dataclass(slots=True, kw_only=True)
class Trace:
    """What the event log tells of one run; `over` says that it has its result event.

    `results` and `verdicts` are by call id, `taken`, `started` and `ended` are call ids, `opened` and `closed` ask ids.
    """

    results: dict[str, ToolResult] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    started: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    opened: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    over: bool = False


def last_seq(events: Sequence[Mapping[str, object]]) -> int:
    """Return the highest number among stored events, 0 without one."""
    return max((seq for event in events if isinstance(seq := event.get("seq"), int)), default=0)


def trace(events: Sequence[Mapping[str, object]], *, run: str) -> Trace:
    """Read the trace of a run from stored events (`event_to_json`)."""
    found = Trace()
    for event in events:
        if event.get("run") == run:
            _note(found, event)
    return found


def _note(found: Trace, event: Mapping[str, object]) -> None:
    call_id = str(event.get("call_id", ""))
    ask_id = str(event.get("ask_id", ""))
    match event.get("type"):
        case "tool.call":
            found.taken.add(call_id)
        case "tool.start":
            found.started.add(call_id)
        case "tool.end":
            found.ended.add(call_id)
        case "tool.result":
            found.results[call_id] = result_from_json(event.get("result"))
        case "permission.ask":
            found.opened.add(ask_id)
        case "permission.verdict":
            found.closed.add(ask_id)
            _note_verdict(found, call_id, event)
        case "result":
            found.over = True


def _note_verdict(found: Trace, call_id: str, event: Mapping[str, object]) -> None:
    """Keep a verdict that was given; a grant of its is stored with the session and not given again."""
    kind = "allow_once" if event.get("verdict") == "allow_always" else event.get("verdict")
    for known in get_args(VerdictKind):
        if kind == known:
            found.verdicts[call_id] = Verdict(kind=known, message=str(event.get("message", "")))


def settle_open(calls: Sequence[ToolCall], found: Trace) -> tuple[ToolResult, ...]:
    """Return one result for each call: the stored one, or an error that says how far it came."""
    return tuple(found.results.get(call.id) or _error(call, call.id in found.started) for call in calls)


def closing(calls: Sequence[ToolCall], results: Sequence[ToolResult], found: Trace) -> Sequence[EventBody]:
    """Return the events that the log lacks of these calls, so that each is taken, ended and settled exactly once."""
    out: list[EventBody] = []
    for call, result in zip(calls, results, strict=True):
        if call.id in found.results:
            continue
        if call.id not in found.taken:
            out.append(ToolCallTaken(call_id=call.id, tool=call.name, args=call.args))
        if call.id in found.started - found.ended:
            out.append(ToolEnd(call_id=call.id, tool=call.name, duration_ms=0.0, is_error=True))
        out.append(ToolSettled(call_id=call.id, tool=call.name, result=result, code=str(ErrorCode.TOOL_ERROR)))
    return out


def _error(call: ToolCall, started: bool) -> ToolResult:
    error = ToolError(ErrorCode.TOOL_ERROR, OUTCOME_UNKNOWN if started else NOT_RUN)
    return ToolResult.error(call.id, error.content(call.name))


class Recovery:
    """Brings one session, as it was stored, to where it can go on."""

    def __init__(
        self,
        host: Host,
        keeper: RecordKeeper,
        state: Conversation,
        emitter: Emitter,
        journal: Journal,
        recorder: ToolCallRecorder | None,
    ) -> None:
        self._host = host
        self._recorder = recorder
        self._keeper = keeper
        self._state = state
        self._emitter = emitter
        self._journal = journal

    async def trace(self) -> Trace:
        """Return what the event log tells of the stored run."""
        record = self._keeper.record
        return trace(await self._host.log.read(record.id), run=record.run or "")

    async def recover(self) -> None:
        """Settle a run that a restart cut off; tell the ask of one that awaits a verdict, where the log lacks it."""
        record = self._keeper.record
        if record.state not in (SessionState.RUNNING, SessionState.AWAITING):
            return
        found, pending = await self.trace(), record.pending
        open_ids = {call.id for call in self._state.open_calls()}
        if pending is None or pending.ask_id in found.closed or pending.call_id not in open_ids:
            await self.end_open(StopReason.ERROR, "hilt was restarted while this run was going on")
        elif pending.ask_id not in found.opened:
            self._emitter.run = record.run or ""
            self._emitter.emit(
                AskOpened(
                    ask_id=pending.ask_id,
                    call_id=pending.call_id,
                    tool=pending.tool,
                    reason=pending.reason,
                    arguments=cut_arguments(json.dumps(pending.arguments, ensure_ascii=False)),
                )
            )
            await self._journal.write()

    async def end_open(self, reason: StopReason, error: str) -> None:
        """Pair what is open and end the stored run with a result event."""
        found = await self.trace()
        calls = self._state.open_calls()
        results = settle_open(calls, found)
        if calls:
            self._state.messages.append(ToolMessage(results=results))
            await self._record([pair for pair in zip(calls, results, strict=True) if pair[0].id not in found.results])
        self._emitter.run = self._keeper.record.run or ""
        pending = self._keeper.record.pending
        if pending is not None and pending.ask_id not in found.closed:
            self._emitter.emit(AskClosed(ask_id=pending.ask_id, call_id=pending.call_id, verdict="retracted"))
        for body in closing(calls, results, found):
            self._emitter.emit(body)
        if not found.over:
            self._emitter.emit(RunResult(stop_reason=reason, error=error, final_text=self._state.final_text()))
        self._keeper.record = replace(self._keeper.record, pending=None, state=SessionState.RUNNING)
        await self._journal.write()
        await self._keeper.move(SessionState.IDLE)

    async def _record(self, settled: Sequence[tuple[ToolCall, ToolResult]]) -> None:
        """Give each of these calls its audit record, unless the cut-off process came as far as that."""
        recorder, session_id = self._recorder, self._keeper.record.id
        if recorder is None or not settled:
            return
        detail = {"mode": str(self._state.mode), "code": str(ErrorCode.TOOL_ERROR)}
        try:
            with anyio.fail_after(RECORD_TIMEOUT_S):
                stored = await recorder.read(session_id) if isinstance(recorder, ToolCallReader) else ()
                known = {record.get("call_id") for record in stored}
                for call, result in settled:
                    if call.id not in known:
                        await recorder.tool_call(session_id, call, result, 0.0, 0.0, detail=detail)
        except Exception as exc:
            logger.exception("tool_call_recorder_failed session=%s why=%s", session_id, type(exc).__name__)
