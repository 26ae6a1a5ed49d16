"""What the log tells of a run that was cut off, and what its calls are told."""

import json
from collections.abc import Mapping

import pytest

from hilt.core.event import ToolCallTaken, ToolEnd, ToolSettled
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.recovery import NOT_RUN, OUTCOME_UNKNOWN, Trace, closing, last_seq, settle_open, trace
from hilt.ports.permission import Verdict

CALLS = tuple(ToolCall(id_, "Look", "{}") for id_ in ("done", "ended", "started", "taken", "unheard"))
DONE = ToolResult.text("done", "fine")


def stored(seq: int, type_: str, call_id: str = "", *, run: str = "run_1", **more: object) -> Mapping[str, object]:
    return {"seq": seq, "run": run, "type": type_, "call_id": call_id, **more}


EVENTS = [
    stored(1, "result", run="run_0"),
    stored(2, "tool.result", "done", run="run_0", result=ToolResult.text("done", "of another run").to_json()),
    stored(3, "run.start"),
    *[stored(4 + n, "tool.call", call.id) for n, call in enumerate(CALLS[:4])],
    *[stored(8 + n, "tool.start", call.id) for n, call in enumerate(CALLS[:3])],
    *[stored(11 + n, "tool.end", call.id) for n, call in enumerate(CALLS[:2])],
    stored(13, "tool.result", "done", result=DONE.to_json()),
]


def told(result: ToolResult) -> object:
    return json.loads(result.content)["message"]


@pytest.mark.req("SES-43", "DSP-01")
def test_each_call_has_its_stored_result_or_one_that_says_how_far_it_came() -> None:
    done, ended, started, taken, unheard = settle_open(CALLS, trace(EVENTS, run="run_1"))
    assert done == DONE
    assert [told(result) for result in (ended, started)] == [OUTCOME_UNKNOWN] * 2
    assert [told(result) for result in (taken, unheard)] == [NOT_RUN] * 2
    assert [result.call_id for result in (ended, started, taken, unheard)] == [call.id for call in CALLS[1:]]


@pytest.mark.req("DSP-70")
def test_the_events_that_lack_are_told_and_no_other() -> None:
    found = trace(EVENTS, run="run_1")
    bodies = closing(CALLS, settle_open(CALLS, found), found)
    assert [(type(body), getattr(body, "call_id", "")) for body in bodies] == [
        (ToolSettled, "ended"),
        (ToolEnd, "started"),
        (ToolSettled, "started"),
        (ToolSettled, "taken"),
        (ToolCallTaken, "unheard"),
        (ToolSettled, "unheard"),
    ]


def test_only_the_run_asked_for_is_traced() -> None:
    assert trace(EVENTS, run="run_0").over
    assert not trace(EVENTS, run="run_1").over
    assert trace(EVENTS, run="") == Trace()


@pytest.mark.req("SES-42")
def test_verdicts_are_kept_for_their_calls_and_a_retracted_ask_has_none() -> None:
    events = [
        stored(1, "permission.ask", "a", ask_id="ask_a"),
        stored(2, "permission.verdict", "a", ask_id="ask_a", verdict="allow_always"),
        stored(3, "permission.ask", "b", ask_id="ask_b"),
        stored(4, "permission.verdict", "b", ask_id="ask_b", verdict="deny", message="no"),
        stored(5, "permission.ask", "c", ask_id="ask_c"),
        stored(6, "permission.verdict", "c", ask_id="ask_c", verdict="retracted"),
        stored(7, "permission.ask", "d", ask_id="ask_d"),
    ]
    found = trace(events, run="run_1")
    assert found.verdicts == {"a": Verdict(kind="allow_once"), "b": Verdict(kind="deny", message="no")}
    assert found.opened == {"ask_a", "ask_b", "ask_c", "ask_d"}
    assert found.closed == {"ask_a", "ask_b", "ask_c"}


@pytest.mark.req("DSP-72")
def test_the_last_number_is_the_highest_and_0_without_events() -> None:
    assert last_seq(EVENTS) == 13
    assert last_seq([*EVENTS, {"seq": "none"}]) == 13
    assert last_seq([]) == 0
