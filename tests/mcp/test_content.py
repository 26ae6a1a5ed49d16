import base64
import json

import pytest

from hilt.core.content import (
    AudioPart,
    EmbeddedResourcePart,
    ImagePart,
    ResourceLinkPart,
    StructuredPart,
    TextPart,
)
from hilt.core.tool import ToolResult
from hilt.mcp.content import NO_CONTENT, read_result

PNG = base64.b64encode(b"\x89PNG....").decode()


def _read(*blocks: object, **more: object) -> ToolResult:
    return read_result({"content": list(blocks), **more}, call_id="c", server="far", tool="t")


def _text(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


@pytest.mark.req("RES-08", "RES-01", "RES-03", "RES-04")
def test_texts_stay_as_they_are_in_their_order_whatever_the_audience() -> None:
    result = _read({**_text(" a\n"), "annotations": {"audience": ["user", 3]}}, _text("b"))
    assert result == ToolResult("c", " a\n\nb", False, (TextPart(text=" a\n", audience=("user",)), TextPart(text="b")))


@pytest.mark.req("RES-09", "RES-11")
def test_image_and_audio_become_parts_whose_note_is_left_to_who_holds_them_back() -> None:
    result = _read(
        {"type": "image", "data": PNG, "mimeType": "image/PNG"},
        {"type": "audio", "data": PNG, "mimeType": "audio/wav", "annotations": {"audience": ["assistant"]}},
    )
    assert result.content == ""
    assert result.parts == (
        ImagePart(data=PNG, mime_type="image/png"),
        AudioPart(data=PNG, mime_type="audio/wav", audience=("assistant",)),
    )


@pytest.mark.req("RES-10")
def test_an_image_of_another_type_is_a_note_with_type_and_size() -> None:
    result = _read({"type": "image", "data": PNG, "mimeType": "image/tiff"})
    assert result == ToolResult("c", "[image 'image/tiff', 8 bytes: not shown]")


@pytest.mark.req("RES-12", "RES-65")
def test_a_link_is_its_uri_name_and_the_way_to_read_it() -> None:
    link = {
        "type": "resource_link",
        "uri": "note://7",
        "name": "seven",
        "title": "T",
        "description": "D",
        "mimeType": "text/plain",
        "size": 5,
    }
    result = _read(link, {"type": "resource_link", "uri": "https://h.example/x", "size": True})
    assert result.content == (
        "[resource note://7 (seven): read it with ReadMcpResource, server 'far']\n"
        "[resource https://h.example/x: read it with FetchMcpResource]"
    )
    assert result.parts == (
        ResourceLinkPart(
            uri="note://7",
            name="seven",
            title="T",
            description="D",
            mime_type="text/plain",
            size_bytes=5,
            server="far",
        ),
        ResourceLinkPart(uri="https://h.example/x", server="far"),
    )


@pytest.mark.req("RES-13", "RES-14")
def test_an_embedded_resource_shows_its_text_or_its_type_and_size() -> None:
    result = _read(
        {"type": "resource", "resource": {"uri": "a://1", "text": "", "mimeType": "text/x"}},
        {"type": "resource", "resource": {"uri": "a://2", "blob": PNG}},
    )
    assert result.content == "[resource a://1]\n\n[resource a://2: type unknown, 8 bytes]"
    assert result.parts == (
        EmbeddedResourcePart(uri="a://1", mime_type="text/x", text=""),
        EmbeddedResourcePart(uri="a://2", blob=PNG),
    )


@pytest.mark.req("RES-15", "RES-18")
@pytest.mark.parametrize("value", [{"a": [1, 12345678901234567890]}, [], "x", 0, False, None])
def test_structured_content_of_any_type_is_json_text_and_the_last_part(value: object) -> None:
    alone = _read(structuredContent=value)
    assert json.loads(alone.content) == value
    assert alone.parts == (StructuredPart(value=value),)
    behind = _read(_text("see"), structuredContent=value)
    assert behind.content == f"see\n{json.dumps(value)}"
    assert behind.parts == (TextPart(text="see"), StructuredPart(value=value))


@pytest.mark.req("RES-16")
@pytest.mark.parametrize(
    "block",
    [
        {"type": "hologram"},
        {"type": ["text"]},
        {},
        "text",
        {"type": "text"},
        {"type": "text", "text": 5},
        {"type": "image", "data": "!!!", "mimeType": "image/png"},
        {"type": "image", "data": PNG},
        {"type": "audio", "mimeType": "audio/wav"},
        {"type": "resource_link", "name": "x"},
        {"type": "resource"},
        {"type": "resource", "resource": {"text": "x"}},
        {"type": "resource", "resource": {"uri": "a://1"}},
        {"type": "resource", "resource": {"uri": "a://1", "blob": "!"}},
    ],
)
def test_an_unknown_or_malformed_block_is_one_line_and_the_others_arrive(block: object) -> None:
    result = _read(block, _text("kept"))
    line, kept = result.content.split("\n")
    assert line.startswith("[")
    assert "left out" in line
    assert kept == "kept"
    assert result.parts == (TextPart(text="kept"),)


@pytest.mark.req("RES-17")
def test_the_same_data_is_shown_once_and_the_parts_keep_both() -> None:
    value = {"total": 41}
    result = _read(_text('{ "total" : 41 }'), structuredContent=value)
    assert result.content == '{ "total" : 41 }'
    assert result.parts == (TextPart(text='{ "total" : 41 }'), StructuredPart(value=value))
    twice = _read(_text("same"), _text("same"), _text("other"))
    assert twice.content == "same\nother"
    assert len(twice.parts) == 3


@pytest.mark.req("RES-18")
@pytest.mark.parametrize("raw", [{}, {"content": []}, {"content": None}])
def test_an_empty_result_says_so_and_is_no_error(raw: dict[str, object]) -> None:
    assert read_result(raw, call_id="c", server="s", tool="t") == ToolResult("c", NO_CONTENT)


@pytest.mark.req("RES-20", "RES-21")
def test_an_error_has_the_server_s_own_text_and_its_data() -> None:
    result = _read(_text("no rows"), isError=True, structuredContent={"code": "NO_ROWS"})
    assert result.is_error
    assert result.content == 'no rows\n{"code": "NO_ROWS"}'
    assert result.parts[-1] == StructuredPart(value={"code": "NO_ROWS"})


@pytest.mark.req("RES-23")
def test_an_answer_that_is_no_result_is_an_error_with_server_and_tool() -> None:
    result = read_result({"content": "text"}, call_id="c", server="far", tool="t")
    assert result.is_error
    assert "'far'" in result.content
    assert "'t'" in result.content


def test_a_text_that_nests_without_end_is_compared_with_nothing() -> None:
    deep = "[" * 200_000
    assert _read(_text(deep), structuredContent=[]).content == f"{deep}\n[]"
