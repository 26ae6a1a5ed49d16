"""Structured results over the cap, as `shape` treats them whatever they hold."""

import json
import random
import re

import pytest

from hilt.core.content import (
    AudioPart,
    EmbeddedResourcePart,
    ImagePart,
    Part,
    ResourceLinkPart,
    StructuredPart,
    TextPart,
)
from hilt.core.origin import HEAVY, Origin, is_heavy, outweighs
from hilt.core.shaping import CAP_BYTES, Shaped, gate_media, shape
from hilt.core.structured import find_json, is_json_type, narrowing
from hilt.core.tool import ToolResult

ROWS = [{"id": number, "name": "n" * 20} for number in range(2_000)]
FAR = Origin(tool="mcp__far__list", remote=True, server="far", server_tool="list", filters=True)


class Kept:
    """Takes what was kept."""

    def __init__(self, handle: str = "r1-0123456789abcdef") -> None:
        self.kept: list[tuple[str, str | None]] = []
        self._handle = handle

    def keep(self, text: str, *, structured: str | None = None) -> str:
        self.kept.append((text, structured))
        return self._handle


def message(shaped: Shaped) -> str:
    return str(json.loads(shaped.result.content)["message"])


@pytest.mark.req("RES-02")
def test_a_result_without_parts_is_serialised_as_if_there_were_none() -> None:
    for result in (ToolResult("c", "é"), ToolResult.error("c", "no")):
        assert json.dumps(result.to_json()) == json.dumps(
            {"call_id": "c", "content": result.content, "is_error": result.is_error}
        )
        assert shape(result, keep=Kept().keep).result is result


@pytest.mark.req("RES-24", "RES-33", "RES-36")
def test_ten_thousand_random_results_hold_the_cap_are_legal_and_come_out_the_same_twice() -> None:
    source = random.Random(20_261_130)
    media: tuple[Part, ...] = (
        ImagePart(data="AAAA", mime_type="image/png"),
        AudioPart(data="AAAA", mime_type="audio/wav"),
        ResourceLinkPart(uri="a:b"),
    )
    for _ in range(10_000):
        cap = source.choice((300, 2_000, 9_000))
        value = _value(source, 3)
        text = json.dumps(value, ensure_ascii=source.random() < 0.5) * source.choice((1, 1, 1, 2))
        text = text if source.random() < 0.8 else f"{text}\udc80"
        parts: list[Part] = [*source.sample(media, k=source.choice((0, 0, 1, 3)))]
        if source.random() < 0.5:
            parts.append(TextPart(text=text))
        if source.random() < 0.3:
            parts.append(StructuredPart(value=value))
        if source.random() < 0.1:
            parts.append(EmbeddedResourcePart(uri="a:b", mime_type="application/json", text=text))
        origin = Origin(
            tool=source.choice(("Look", "mcp__far__" + "é" * 60)),
            remote=source.random() < 0.7,
            server="far",
            server_tool="list",
            typed=source.random() < 0.2,
            read_only=source.random() < 0.5,
            filters=source.random() < 0.7,
            schema={"properties": {"limit": {}, "pageToken": {}, "x": {}}} if source.random() < 0.5 else None,
            arguments={"a": "b" * source.choice((1, 600))} if source.random() < 0.5 else None,
        )
        result = ToolResult("c", text, source.random() < 0.1, tuple(parts))
        kept = Kept(source.choice(("", "r1-0123456789abcdef")))
        shaped = shape(result, keep=kept.keep, cap_bytes=cap, origin=origin)
        content = shaped.result.content
        assert len(content.encode("utf-8")) <= cap
        assert len(gate_media(shaped.result, images=False, audio=False).content.encode("utf-8")) <= cap
        if source.random() < 0.2:
            assert shape(result, keep=kept.keep, cap_bytes=cap, origin=origin) == shaped
        if shaped.code:
            assert shaped.code == "result_too_large"
            assert shaped.result.is_error
            assert not result.is_error
            assert not any(isinstance(p, TextPart | StructuredPart) for p in shaped.result.parts)
            assert "VALUE" not in content
        elif len(content) < len(text):
            assert not (origin.remote and origin.typed) or result.is_error
            assert not any(isinstance(part, StructuredPart) for part in result.parts) or result.is_error


def _value(source: random.Random, levels: int) -> object:
    kind = source.choice(("list", "dict", "leaf")) if levels else "leaf"
    if kind == "list":
        return [_value(source, levels - 1)] * source.choice((0, 2, 20))
    if kind == "dict":
        return {f"k{number}é": _value(source, levels - 1) for number in range(source.choice((1, 5, 30)))}
    return source.choice(("VALUE é" * 9, 1, None, "VALUE\n"))


@pytest.mark.req("RES-33", "RES-35")
def test_what_is_kept_is_the_whole_text_and_its_json() -> None:
    sent = json.dumps(ROWS, indent=1)
    for parts, text, structured in (
        ((), sent, sent),
        ((TextPart(text="head"), TextPart(text=sent)), f"head\n{sent}", sent),
        ((StructuredPart(value=ROWS),), f"head\n{sent}", json.dumps(ROWS)),
    ):
        kept = Kept()
        shaped = shape(ToolResult("c", text, False, parts), keep=kept.keep, origin=FAR)
        assert kept.kept == [(text, structured)]
        assert shaped.notes[-1] == f"JSON of {len(text)} bytes was withheld"
        assert "nnnn" not in shaped.result.content


def test_what_holds_no_text_stays() -> None:
    image = ImagePart(data="AAAA", mime_type="image/png")
    blob = EmbeddedResourcePart(uri="a:b", blob="AAAA")
    parts = (TextPart(text="t"), image, blob, EmbeddedResourcePart(uri="a:b", text="t"), StructuredPart(value=1))
    shaped = shape(ToolResult("c", json.dumps(ROWS), False, parts), keep=Kept().keep, origin=FAR)
    assert shaped.result.parts == (image, blob)


@pytest.mark.req("RES-34", "RES-35")
def test_the_message_names_the_ways_that_there_are() -> None:
    result = ToolResult("c", json.dumps(ROWS))
    schema: dict[str, object] = {
        "properties": {"pageSize": {}, "max_results": {}, "city": {}, "perPage": {}, "limited": {}}
    }
    told = message(shape(result, keep=Kept().keep, origin=FAR))
    assert "(1) CallMcpWithQuery" in told
    assert "(2) ReadResult" in told
    assert "carried out" not in told
    named = Origin(tool="Look", schema=schema, remote=True, read_only=False, typed=True)
    told = message(shape(result, keep=Kept().keep, origin=named))
    assert "carried out" in told
    assert '(1) ReadResult {"handle": "r1-0123456789abcdef"} for its pages' in told
    assert "(2) call Look with less asked for by its pageSize, max_results, perPage" in told
    told = message(shape(result, keep=Kept("").keep, origin=Origin(tool="Look", remote=True)))
    assert "ReadResult" not in told
    assert "(1) call Look so that it returns less." in told


@pytest.mark.req("RES-34")
def test_long_arguments_are_not_repeated() -> None:
    long = Origin(tool="t", remote=True, server="far", server_tool="list", filters=True, arguments={"a": "b" * 600})
    assert '"args": "the same as before"' in message(
        shape(ToolResult("c", json.dumps(ROWS)), keep=Kept().keep, origin=long)
    )


@pytest.mark.req("RES-31", "RES-32")
def test_what_counts_as_structured() -> None:
    sent = json.dumps(ROWS)
    here, far = Origin(), Origin(remote=True)
    assert find_json(ToolResult("c", sent), here) is None
    assert find_json(ToolResult("c", f"{sent}."), far) is None
    assert find_json(ToolResult("c", "42"), far) is None
    assert find_json(ToolResult("c", "[info] x"), far) is None
    found = find_json(ToolResult("c", f"\n {sent}"), far)
    assert found is not None
    assert found.shape is not None
    found = find_json(ToolResult("c", "x", False, (StructuredPart(value=ROWS),)), here)
    assert found is not None
    assert found.text == sent
    deep: object = 1
    for _ in range(5_000):
        deep = [deep]
    for part in (StructuredPart(value=deep), StructuredPart(value={1})):
        found = find_json(ToolResult("c", "x", False, (part,)), here)
        assert found is not None
        assert (found.text, found.shape) == (None, None)


@pytest.mark.req("RES-32")
@pytest.mark.parametrize(
    ("mime_type", "right"),
    [
        ("application/json", True),
        ("text/json; charset=utf-8", True),
        ("Application/LD+JSON", True),
        ("application/x-ndjson", False),
        ("text/plain", False),
        ("image/svg+json", False),
        ("", False),
    ],
)
def test_types_that_say_json(mime_type: str, right: bool) -> None:
    assert is_json_type(mime_type) is right


def test_parameters_that_narrow_a_result_are_known_by_the_words_of_their_names() -> None:
    names = ["startCursor", "LIMIT", "page_token", "q", "city", "limitless", "unlimited", "orderBy", "top-k", "since\n"]
    assert narrowing({"properties": dict.fromkeys(names)}) == ["startCursor", "LIMIT", "page_token", "q", "top-k"]
    assert narrowing({"properties": {f"limit_{n}": {} for n in range(20)}}) == [f"limit_{n}" for n in range(8)]
    assert narrowing({"properties": {"limit" + "x" * 60: {}, "limit_" + "x" * 60: {}}}) == []
    assert narrowing({"properties": []}) == narrowing({}) == narrowing(None) == []


def test_weight_is_judged_without_looking_at_all_of_it() -> None:
    assert not outweighs({"a": ["x" * 10, 1, None]}, 20)
    assert outweighs({"a": "x" * 30}, 20)
    assert outweighs([1] * 30, 20)
    assert outweighs(dict.fromkeys(map(str, range(30))), 20)
    assert outweighs({"k" * 30: 1}, 20)
    assert not is_heavy(ToolResult("c", "x" * 1000, False, (ImagePart(data="A" * (2 * HEAVY), mime_type="image/png"),)))
    for part in (
        TextPart(text="x" * (HEAVY + 1)),
        EmbeddedResourcePart(uri="a:b", text="x" * (HEAVY + 1)),
    ):
        assert is_heavy(ToolResult("c", "", False, (part,)))


def test_a_structured_part_far_over_its_limit_is_left_out_without_being_written_out() -> None:
    part = StructuredPart(value=["x" * 100] * 10_000)
    shaped = shape(ToolResult("c", "short", False, (part,)), keep=Kept().keep)
    assert shaped.result == ToolResult("c", f"short\n[structured of more than {HEAVY} bytes: left out, too large]")


def test_a_cap_with_no_room_for_the_message_still_holds() -> None:
    shaped = shape(ToolResult("c", json.dumps(ROWS)), keep=Kept().keep, cap_bytes=40, origin=FAR)
    assert len(shaped.result.content.encode()) <= 40
    assert CAP_BYTES == 25_000
    assert re.match(r'\{"error": "result_too_large"', shaped.result.content)
