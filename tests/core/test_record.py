"""A session's record goes to JSON and back unchanged."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.content import PART_TYPES, Part, StructuredPart
from hilt.core.record import (
    message_from_json,
    message_to_json,
    record_from_json,
    record_to_json,
    result_from_json,
)
from hilt.core.session import (
    AssistantMessage,
    Mode,
    PendingAsk,
    RunId,
    SessionId,
    SessionRecord,
    SessionState,
    SummaryMessage,
    ToolFilter,
    ToolMessage,
    Usage,
    UserMessage,
)
from hilt.core.tool import ToolCall, ToolResult

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
COUNT = st.integers(min_value=0)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
PARTS: st.SearchStrategy[Part] = st.one_of(
    [
        st.builds(kind, audience=TEXTS) if kind is not StructuredPart else st.builds(kind, value=JSON)
        for kind in PART_TYPES.values()
    ]
)
CALLS = st.builds(ToolCall, TEXT, TEXT, TEXT)
RESULTS = st.builds(ToolResult, TEXT, TEXT, st.booleans(), st.lists(PARTS, max_size=3).map(tuple))
MESSAGES = st.one_of(
    st.builds(UserMessage, text=TEXT, parts=st.lists(PARTS, max_size=2).map(tuple), notice=st.booleans()),
    st.builds(
        AssistantMessage,
        text=TEXT,
        reasoning=TEXT,
        calls=st.lists(CALLS, max_size=3).map(tuple),
        reasoning_signature=TEXT,
    ),
    st.builds(ToolMessage, results=st.lists(RESULTS, max_size=3).map(tuple)),
    st.builds(SummaryMessage, text=TEXT),
)
RECORDS = st.builds(
    SessionRecord,
    id=TEXT.map(SessionId),
    version=COUNT,
    created_at=TEXT,
    updated_at=TEXT,
    title=TEXT,
    state=st.sampled_from(SessionState),
    mode=st.sampled_from(Mode),
    model=TEXT,
    system_prompt=TEXT,
    profile=TEXT,
    workspace=TEXT,
    enable=st.none() | TEXTS,
    tools=st.builds(ToolFilter, allow=st.none() | TEXTS, deny=TEXTS),
    limits=st.dictionaries(TEXT, st.none() | COUNT | st.floats(0, 9), max_size=2),
    messages=st.lists(MESSAGES, max_size=4).map(tuple),
    grants=TEXTS,
    hydrated=TEXTS,
    ledger=st.dictionaries(TEXT, TEXT, max_size=2),
    pending=st.none()
    | st.builds(
        PendingAsk,
        ask_id=TEXT,
        call_id=TEXT,
        tool=TEXT,
        reason=TEXT,
        arguments=st.dictionaries(TEXT, JSON, max_size=2),
    ),
    run=st.none() | TEXT.map(RunId),
    turns=COUNT,
    tool_calls=COUNT,
    usage=st.builds(Usage, input=COUNT, output=COUNT, cache_read=COUNT, cache_write=COUNT),
    last_seq=COUNT,
    client_servers=TEXTS,
)


@given(RECORDS)
def test_a_record_survives_json_text(record: SessionRecord) -> None:
    assert record_from_json(json.loads(json.dumps(record_to_json(record)))) == record


@given(MESSAGES)
def test_a_message_survives_json_text(message: object) -> None:
    raw = json.loads(json.dumps(message_to_json(message)))  # type: ignore[arg-type]  # drawn from all messages
    assert message_from_json(raw) == message


def test_absent_keys_take_their_defaults_and_unknown_ones_are_passed_over() -> None:
    raw = {"v": "hilt-session/1", "id": "s", "later": 1}
    assert record_from_json(raw) == SessionRecord(id=SessionId("s"))


WHOLE = record_to_json(
    replace(
        SessionRecord(id=SessionId("s")),
        pending=PendingAsk(ask_id="a", call_id="c", tool="t", reason="r", arguments={}),
    )
)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"v": "hilt-session/2"}, "'v' is 'hilt-session/2'"),
        ({"v": None}, "'v' is None"),
        ({"id": 1}, "'id' is no text"),
        ({"id": None}, "'id' is no text"),
        ({"title": None}, "'title' is no text"),
        ({"version": "1"}, "'version' is no whole number"),
        ({"turns": True}, "'turns' is no whole number"),
        ({"grants": {}}, "'grants' is no list"),
        ({"enable": [1]}, "'enable' holds something other than text"),
        ({"state": "asleep"}, "asleep"),
        ({"mode": 1}, "'mode' is no text"),
        ({"tools": []}, "'tools' is no object"),
        ({"limits": {"max_turns": True}}, "limit 'max_turns' is no number"),
        ({"limits": {"max_turns": "1"}}, "limit 'max_turns' is no number"),
        ({"ledger": {"a": 1}}, "'a' is no text"),
        ({"pending": 1}, "'pending' is no object"),
        ({"pending": {"arguments": []}}, "'arguments' is no object"),
        ({"run": 1}, "'run' is no text"),
        ({"usage": {"input": 1.5}}, "'input' is no whole number"),
        ({"messages": [1]}, "a message is no object"),
        ({"messages": [{"role": "system"}]}, "'role' is 'system', not one of user, assistant, tool, summary"),
        ({"messages": [{"role": "assistant", "calls": [1]}]}, "a call is no object"),
        ({"messages": [{"role": "tool", "results": [[]]}]}, "a result is no object"),
        ({"messages": [{"role": "user", "parts": [{"kind": "smell"}]}]}, "known kind"),
    ],
)
def test_a_record_of_another_shape_is_refused_with_the_key(change: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told.replace("(", "\\(")):
        record_from_json({**WHOLE, **change})


def test_what_is_no_object_is_no_record_and_no_result() -> None:
    with pytest.raises(ValueError, match="the record is no object"):
        record_from_json([])
    with pytest.raises(ValueError, match="a result is no object"):
        result_from_json("x")
