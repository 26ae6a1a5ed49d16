"""The lines of the JSON-lines store: their limit, masking, and values that JSON lacks."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.store_jsonl import JsonlStore
from hilt.adapters.store_jsonl.files import CALLS, EVENTS, RECORD
from hilt.adapters.store_jsonl.lines import decode, to_line
from hilt.core.content import ImagePart, StructuredPart
from hilt.core.event import Notice, ToolCallTaken, ToolSettled
from hilt.core.redaction import MASK, Redactor
from hilt.core.session import AssistantMessage, ToolMessage, UserMessage
from hilt.core.tool import ToolCall, ToolResult
from tests.adapters.jsonl_folder import A, file_of, write_call
from tests.contracts.stores import event, record

LINE_MAX = 16 * 1024 * 1024


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JsonlStore]:
    store = JsonlStore(tmp_path / "store", clock=FixedClock())
    yield store
    store.close()


@pytest.mark.req("SES-30")
async def test_no_line_exceeds_16_mib_and_what_was_cut_is_marked(store: JsonlStore, tmp_path: Path) -> None:
    huge = "\x01x" * (8 << 20)
    picture = ImagePart(data="A" * (20 << 20), mime_type="image/png")
    result = ToolResult("c1", huge, False, (picture, ImagePart(data="AAAA", mime_type="image/png")))
    call = ToolCall("c1", "Read", arguments={"text": huge})
    await store.calls.tool_call(A, call, result, 0, 0, detail={})
    await write_call(store)
    await store.events.append(
        A,
        [
            event(1, ToolSettled(call_id="c1", tool="Read", result=result)),
            event(2, ToolCallTaken(call_id="c1", tool="Read", args=huge)),
            event(3),
        ],
    )
    messages = (UserMessage(text=huge), ToolMessage(results=(result, ToolResult("c2", "small"))))
    saved = await store.sessions.save(record(A, messages=messages))

    for end in (CALLS, EVENTS, RECORD):
        lines = file_of(tmp_path, end).read_bytes().split(b"\n")
        assert max(map(len, lines)) < LINE_MAX
        assert b'"result_truncated":true' in b"".join(lines)
    first, second = await store.calls.read(A)
    assert first["result_truncated"] is True
    assert str(first["result"]).startswith("\x01x")
    assert "result_truncated" not in second
    marks = [item.get("result_truncated", False) for item in await store.events.read(A)]
    assert marks == [True, True, False]
    loaded = await store.sessions.load(A)
    assert loaded is not None
    user, tool = loaded.messages
    assert isinstance(user, UserMessage)
    assert huge.startswith(user.text)
    assert isinstance(tool, ToolMessage)
    assert tool.results[0].parts == (ImagePart(data="AAAA", mime_type="image/png"),)
    assert tool.results[1] == ToolResult("c2", "small")
    assert saved.messages == messages


@pytest.mark.req("SES-30")
async def test_a_line_that_is_long_by_its_number_of_items_keeps_what_fits_of_it(
    store: JsonlStore,
) -> None:
    numbers = ToolResult.with_parts("c1", "sum", [StructuredPart(value=list(range(2_400_000)))])
    call = ToolCall("c1", "Sum", arguments={"numbers": list(range(2_400_000))})
    await store.calls.tool_call(A, call, ToolResult("c1", "sum"), 0, 0, detail={"attempt": 2})
    await store.events.append(A, [event(1, ToolSettled(call_id="c1", tool="Sum", result=numbers))])
    saved = await store.sessions.save(record(A, messages=(ToolMessage(results=(numbers,)),)))
    [kept] = await store.calls.read(A)
    assert isinstance(kept["args"], dict)
    assert kept["args"]["numbers"] == list(range(len(kept["args"]["numbers"])))
    assert (kept["result"], kept["attempt"], kept["result_truncated"]) == ("sum", 2, True)
    [settled] = await store.events.read(A)
    assert settled["result"] == {"call_id": "c1", "content": "sum", "is_error": False, "parts": []}
    loaded = await store.sessions.load(A)
    assert loaded == replace(saved, messages=(ToolMessage(results=(ToolResult("c1", "sum"),)),))


async def test_text_that_is_no_valid_unicode_and_values_that_are_no_json_are_stored(
    store: JsonlStore,
) -> None:
    saved = await store.sessions.save(record("\ud800", messages=(UserMessage(text="a \udcff b"),)))
    assert await store.sessions.load(saved.id) == saved
    assert (await store.sessions.list())[0] == [saved]
    assert (await store.sessions.save(saved)).version == 2
    call = ToolCall("c1", "Read", arguments={"x": 1})
    await store.calls.tool_call(A, call, ToolResult("c1", "ok"), 0, 0, detail={"targets": {Path("p")}})
    [kept] = await store.calls.read(A)
    assert kept["targets"] == ["p"]


@pytest.mark.req("SES-33")
async def test_known_secrets_are_masked_in_all_three_files(tmp_path: Path) -> None:
    secret = 'tok"en/\\ é-1234'
    store = JsonlStore(tmp_path / "store", clock=FixedClock(), redactor=Redactor([secret]))
    args = json.dumps({"header": f"Bearer {secret}"})
    result = ToolResult("c1", f"got {secret}")
    messages = (
        UserMessage(text=secret),
        AssistantMessage(calls=(ToolCall("c1", "Fetch", args),)),
        ToolMessage(results=(result,)),
    )
    await store.sessions.save(record(A, title=secret, messages=messages))
    await store.events.append(
        A,
        [
            event(1, ToolCallTaken(call_id="c1", tool="Fetch", args=args)),
            event(2, Notice(topic="x", text=secret)),
        ],
    )
    await store.calls.tool_call(
        A, ToolCall("c1", "Fetch", arguments={"h": {secret: [secret]}}), result, 0, 0, detail={"rule": secret}
    )
    for end in (RECORD, EVENTS, CALLS):
        text = file_of(tmp_path, end).read_text()
        assert "en/" not in text
        assert text.count(MASK) >= 2
    loaded = await store.sessions.load(A)
    assert loaded is not None
    assert loaded.messages[0] == UserMessage(text=MASK)
    [kept] = await store.calls.read(A)
    assert (kept["args"], kept["rule"]) == ({"h": {MASK: [MASK]}}, MASK)
    store.close()


@pytest.mark.req("SES-30")
@given(
    value=st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=900),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
            max_leaves=30,
        ),
    ),
    limit=st.integers(100, 2_000),
)
def test_any_object_becomes_one_line_within_the_limit(value: dict[str, object], limit: int) -> None:
    line = to_line(value, Redactor(), limit=limit)
    assert len(line) <= limit
    assert line.endswith(b"\n")
    assert b"\n" not in line[:-1]
    again = decode(line)
    assert isinstance(again, dict)
    assert again == value or again["result_truncated"] is True
    assert set(again) <= {*value, "result_truncated"}


async def test_a_value_nested_too_deeply_costs_its_depth_alone(store: JsonlStore) -> None:
    deep: object = "bottom"
    for level in range(5_000):
        deep = [deep] if level % 2 else {"a": deep}
    call = ToolCall("c1", "Read", arguments={"deep": deep})
    await store.calls.tool_call(A, call, ToolResult("c1", "ok"), 0, 0, detail={})
    [kept] = await store.calls.read(A)
    assert (kept["result"], kept["result_truncated"]) == ("ok", True)
