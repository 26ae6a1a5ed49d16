"""What every recorder of tool calls promises."""

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hilt.core.content import (
    AudioPart,
    EmbeddedResourcePart,
    ImagePart,
    ResourceLinkPart,
    StructuredPart,
    TextPart,
)
from hilt.core.tool import ToolCall, ToolResult
from tests.contracts.stores import STORES, Store


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = STORES[request.param](tmp_path)
    yield store
    store.close()


@pytest.mark.req("SES-24", "SES-25", "DSP-84")
async def test_a_call_is_one_record_with_its_arguments_and_timing(store: Store) -> None:
    call = ToolCall("c1", "Read", '{"path": "x"}', arguments={"path": "a.txt", "n": 10**25})
    detail = {
        "mode": "default",
        "decision": "allow",
        "rule": "",
        "hooks": [],
        "coercions": ["n"],
        "targets": None,
        "code": "",
        "server": "git",
        "attempt": 2,
        "tool": "not this one",
    }
    await store.calls.tool_call("ses_a", call, ToolResult("c1", "text\n", True), 0.0015, 0.25, detail=detail)
    assert await store.calls.read("ses_a") == [
        {
            "type": "tool_call",
            "time": "2026-01-01T00:00:00+00:00",
            "session_id": "ses_a",
            "call_id": "c1",
            "tool": "Read",
            "args": {"path": "a.txt", "n": 10**25},
            "result": "text\n",
            "is_error": True,
            "queued_micros": 1500,
            "took_micros": 250000,
            "mode": "default",
            "decision": "allow",
            "coercions": ["n"],
            "server": "git",
            "attempt": 2,
        }
    ]


async def test_arguments_that_are_no_object_stand_as_the_models_text(store: Store) -> None:
    call = ToolCall("c1", "Read", "this is { no JSON")
    await store.calls.tool_call("ses_a", call, ToolResult.error("c1", "no"), 0, 0, detail={})
    [record] = await store.calls.read("ses_a")
    assert record["args"] == "this is { no JSON"


async def test_records_are_apart_by_session_and_in_the_order_of_their_making(store: Store) -> None:
    for number in range(5):
        for session in ("ses_a", "ses_b"):
            call = ToolCall(f"{session}{number}", "Read", arguments={})
            await store.calls.tool_call(session, call, ToolResult(call.id, ""), 0, 0, detail={})
    assert [item["call_id"] for item in await store.calls.read("ses_a")] == [f"ses_a{n}" for n in range(5)]
    assert await store.calls.read("ses_c") == []


@pytest.mark.req("SES-32")
async def test_of_each_part_kind_type_size_and_hash_are_kept(store: Store) -> None:
    raw = b"\x89PNG raw"
    coded = base64.b64encode(raw).decode()
    parts = (
        TextPart(text="é"),
        ImagePart(data=coded, mime_type="image/png"),
        AudioPart(data="not base64!", mime_type="audio/wav"),
        ResourceLinkPart(uri="https://example.invalid/a", mime_type="text/plain"),
        ResourceLinkPart(uri="file:b"),
        EmbeddedResourcePart(uri="file:c", text="inside"),
        EmbeddedResourcePart(uri="file:d", blob=coded, mime_type="application/x"),
        StructuredPart(value={"b": 1, "a": [2]}),
    )
    hashed = [
        "é".encode(),
        raw,
        b"not base64!",
        b"https://example.invalid/a",
        b"file:b",
        b"inside",
        raw,
        b'{"a":[2],"b":1}',
    ]
    result = ToolResult.with_parts("c1", "text", parts)
    await store.calls.tool_call("ses_a", ToolCall("c1", "T", arguments={}), result, 0, 0, detail={"parts": 8})
    [record] = await store.calls.read("ses_a")
    kept = record["parts"]
    assert isinstance(kept, list)
    assert [part["kind"] for part in kept] == [part.kind for part in parts]
    assert [part.get("mime_type") for part in kept] == [
        None,
        "image/png",
        "audio/wav",
        "text/plain",
        None,
        None,
        "application/x",
        None,
    ]
    assert [(part["size_bytes"], part["sha256"]) for part in kept] == [
        (len(item), hashlib.sha256(item).hexdigest()) for item in hashed
    ]
    assert record["result"] == "text"


async def test_a_large_result_with_parts_is_recorded_like_a_small_one(store: Store) -> None:
    parts = (ImagePart(data="AAAA" * 200_000, mime_type="image/png"), TextPart(text="t"))
    result = ToolResult.with_parts("c1", "x" * 20_000, parts)
    await store.calls.tool_call("ses_a", ToolCall("c1", "T", arguments={}), result, 0, 0, detail={})
    [record] = await store.calls.read("ses_a")
    assert record["result"] == "x" * 20_000
