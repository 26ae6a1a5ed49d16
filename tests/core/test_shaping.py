"""Fitting results to the model: cutting, leaving out, repairing, gating."""

import base64
import json
import random
import re
import tracemalloc
from dataclasses import replace

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
from hilt.core.shaping import CAP_BYTES, Shaped, gate_media, shape
from hilt.core.tool import ToolResult

MARKER = re.compile(r"\[(\d+) of (\d+) bytes are missing here; to see them call ReadResult (\{.*\})\]")


class Kept:
    """Takes the texts that were kept."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def keep(self, text: str, *, structured: str | None = None) -> str:
        self.texts.append(text)
        return f"r{len(self.texts)}-0123456789abcdef"


def nothing(text: str, *, structured: str | None = None) -> str:
    raise AssertionError("nothing is to be kept")


def size(text: str) -> int:
    return len(text.encode("utf-8"))


@pytest.mark.req("RES-24")
@pytest.mark.parametrize("content", ["", "x", "é" * 12_500, "x" * 25_000, '{"a": 1}', "\U0001f600" * 6250])
def test_a_text_within_the_cap_is_the_same_object(content: str) -> None:
    for result in (ToolResult("c", content), ToolResult("c", content, True, (TextPart(text="t"),))):
        shaped = shape(result, keep=nothing)
        assert shaped == Shaped(result=result)
        assert shaped.result is result


@pytest.mark.req("RES-24", "RES-25", "RES-26", "RES-31")
def test_a_long_text_keeps_head_and_tail_and_a_line_that_says_how_to_see_the_rest() -> None:
    kept = Kept()
    text = "".join(f"line {number}: é\n" for number in range(10_000))
    shaped = shape(ToolResult("c", text), keep=kept.keep)
    content = shaped.result.content
    assert kept.texts == [text]
    assert shaped.handle == "r1-0123456789abcdef"
    assert shaped.notes == (f"text of {size(text)} bytes was cut",)
    assert CAP_BYTES - 2 * 200 - 120 <= size(content) <= CAP_BYTES
    found = MARKER.search(content)
    assert found is not None
    head, tail = content[: found.start()], content[found.end() + 1 :]
    assert (head + tail).count("\n") == len((head + tail).splitlines())
    assert text.startswith(head)
    assert text.endswith(tail)
    assert 0.58 <= size(head) / size(head + tail) <= 0.62
    missing, total = int(found[1]), int(found[2])
    assert (missing, total) == (size(text) - size(head) - size(tail), size(text))
    assert json.loads(found[3]) == {"handle": shaped.handle, "offset": size(head), "limit": 24_000}


@pytest.mark.req("RES-25", "RES-26")
def test_what_is_missing_is_exactly_what_the_named_call_shows() -> None:
    kept = Kept()
    text = "a" * 10_000 + "b" * 20_000
    content = shape(ToolResult("c", text), keep=kept.keep).result.content
    found = MARKER.search(content)
    assert found is not None
    call = json.loads(found[3])
    assert call["limit"] == int(found[1])
    head = content[: found.start() - 1]
    rest = text.encode()[call["offset"] : call["offset"] + call["limit"]].decode()
    assert head + rest + content[found.end() + 1 :] == text


@pytest.mark.req("RES-24", "RES-25")
def test_ten_thousand_random_results_fit_and_lose_nothing_unsaid() -> None:
    # The shape of the text matters, not its wealth: one seed, so that a failure repeats.
    source = random.Random(20_260_101)
    alphabets = ("ab\n", "é\n ", "\U0001f600", "x", "日本\n語", "a\ud800b", "\r\n\t\x00")
    parts: tuple[Part, ...] = (
        TextPart(text="t" * 30),
        ImagePart(data="AAAA" * 10, mime_type="image/png"),
        TextPart(text="long" * 300),
        StructuredPart(value=["x" * 1000]),
    )
    for _ in range(10_000):
        cap = source.choice((400, 1000, 2500))
        length = source.choice((0, 5, cap // 4, cap, cap * 3))
        content = "".join(source.choices(source.choice(alphabets), k=length))
        chosen = tuple(source.sample(parts, k=source.choice((0, 0, 1, 3))))
        result = ToolResult("c", content, source.random() < 0.3, chosen)
        kept = Kept()
        shaped = shape(result, keep=kept.keep, cap_bytes=cap)
        text = shaped.result.content
        assert size(text) <= cap
        assert size(gate_media(shaped.result, images=False, audio=False).content) <= cap
        assert shaped.result.call_id == "c"
        assert shaped.result.is_error == (result.is_error or shaped.code != "")
        if shaped.code:
            assert kept.texts
            continue
        assert bool(kept.texts) == bool(shaped.handle) == ("bytes are missing here" in text)
        if not kept.texts:
            assert text == content or "replaced" in shaped.notes[0]
        assert (shaped.notes == ()) == (shaped.result is result)


@pytest.mark.req("DSP-26")
def test_text_that_is_no_valid_utf_8_is_repaired_and_the_fact_recorded() -> None:
    parts = (TextPart(text="\udc80"), EmbeddedResourcePart(uri="a:b", text="\ud800x"), TextPart(text="fine"))
    shaped = shape(ToolResult("c", "a\ud800b\ud83d\ude00", False, parts), keep=nothing)
    repaired = (TextPart(text="�"), EmbeddedResourcePart(uri="a:b", text="�x"), TextPart(text="fine"))
    assert shaped.result == ToolResult("c", "a�b\U0001f600", False, repaired)
    assert shaped.notes == (
        "invalid UTF-8 in the text was replaced",
        "invalid UTF-8 in a part was replaced",
    )


@pytest.mark.req("RES-30")
@pytest.mark.parametrize("text", ['{"a": "' + "x" * 40_000 + '"}', "E" * 40_000])
def test_an_error_is_cut_as_plain_text(text: str) -> None:
    shaped = shape(ToolResult.error("c", text), keep=Kept().keep)
    assert shaped.result.is_error
    assert shaped.code == ""
    assert shaped.result.content.startswith(text[:1000])
    assert shaped.result.content.endswith(text[-1000:])


def test_a_text_too_large_to_keep_says_so_and_names_no_call() -> None:
    shaped = shape(ToolResult("c", "x" * 50_000), keep=lambda text, structured=None: "")
    assert "the result was too large to keep]" in shaped.result.content
    assert "ReadResult" not in shaped.result.content
    assert (shaped.handle, size(shaped.result.content)) == ("", CAP_BYTES)


def test_a_cap_with_no_room_for_a_marker_still_holds() -> None:
    shaped = shape(ToolResult("c", "é" * 50), keep=Kept().keep, cap_bytes=31)
    assert shaped.result.content == "é" * 15


@pytest.mark.req("RES-27")
def test_a_part_over_its_limit_is_left_out_and_noted() -> None:
    big = base64.b64encode(bytes(10 * 1024 * 1024 + 1)).decode()
    parts = (
        TextPart(text="é" * 12_800),
        TextPart(text="é" * 12_801),
        StructuredPart(value="x" * 25_598),
        StructuredPart(value="x" * 25_599),
        ImagePart(data=big[:-4], mime_type="image/png"),
        ImagePart(data=big, mime_type="image/png"),
        AudioPart(data=big, mime_type="audio/\nwav"),
        EmbeddedResourcePart(uri="a:b", blob=big),
        EmbeddedResourcePart(uri="a:b", text="x" * 25_601),
        ResourceLinkPart(uri="a:b", size_bytes=10**12),
    )
    shaped = shape(ToolResult("c", "é" * 12_801, True, parts), keep=Kept().keep)
    assert shaped.result.parts == (parts[0], parts[2], parts[4], parts[9])
    lines = shaped.result.content.splitlines()[-6:]
    assert lines == [
        "[text of 25602 bytes: left out, too large]",
        "[structured of 25601 bytes: left out, too large]",
        "[image image/png of 10485761 bytes: left out, too large]",
        "[audio audio/wav of 10485761 bytes: left out, too large]",
        "[embedded_resource of 10485761 bytes: left out, too large]",
        "[embedded_resource of 25601 bytes: left out, too large]",
    ]
    assert size(shaped.result.content) <= CAP_BYTES


@pytest.mark.req("RES-27")
def test_all_parts_together_have_20_mib_and_many_notes_are_one() -> None:
    image = ImagePart(data="AAAA" * (1 << 20), mime_type="image/png")  # 3 MiB
    shaped = shape(ToolResult("c", "", False, (image,) * 20), keep=nothing)
    assert shaped.result.parts == (image,) * 6
    lines = shaped.result.content.splitlines()
    assert len(lines) == 11
    assert lines[-1] == "[and 4 more parts likewise]"


@pytest.mark.req("RES-27")
def test_a_structured_part_nested_too_deeply_is_left_out() -> None:
    deep: object = 1
    for _ in range(5_000):
        deep = [deep]
    shaped = shape(ToolResult("c", "text", False, (StructuredPart(value=deep),)), keep=nothing)
    assert shaped.result.parts == ()
    assert "left out, too large" in shaped.result.content


@pytest.mark.req("RES-28")
@pytest.mark.parametrize("content", ["", "the answer", None])
def test_a_text_part_that_is_left_out_never_costs_the_model_its_text(content: str | None) -> None:
    text = "".join(f"line {number}\n" for number in range(5_000))
    result = ToolResult("c", text if content is None else content, False, (TextPart(text=text),))
    kept = Kept()
    shaped = shape(result, keep=kept.keep)
    assert shaped.result.parts == ()
    whole = f"{content}\n{text}" if content else text
    assert kept.texts == [whole]
    assert "line 0\n" in shaped.result.content
    assert "line 4999\n" in shaped.result.content
    assert MARKER.search(shaped.result.content)


@pytest.mark.req("RES-29")
def test_a_block_of_32_mib_is_judged_without_being_decoded() -> None:
    part = ImagePart(data="A" * (32 << 20), mime_type="image/png" + "x" * 10_000)
    tracemalloc.start()
    try:
        shaped = shape(ToolResult("c", "", False, (part,)), keep=nothing)
        gated = gate_media(ToolResult("c", "", False, (part,)), images=False, audio=False)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20
    assert shaped.result.content.startswith("[image image/png")
    assert size(shaped.result.content) < 4000
    assert size(gated.content) < 4000


IMAGE = ImagePart(data="AAAA", mime_type="image/png")
SOUND = AudioPart(data="AAAAAA==", mime_type="audio/wav")
OTHERS = (TextPart(text="t"), ResourceLinkPart(uri="a:b"), StructuredPart(value=1))


@pytest.mark.req("RES-06")
@pytest.mark.parametrize("images", [True, False])
@pytest.mark.parametrize("audio", [True, False])
def test_media_reach_the_model_only_if_it_takes_them_and_are_one_line_otherwise(images: bool, audio: bool) -> None:
    result = ToolResult("c", "text", False, (IMAGE, SOUND, *OTHERS))
    gated = gate_media(result, images=images, audio=audio)
    passed: list[Part] = [*([IMAGE] if images else []), *([SOUND] if audio else []), *OTHERS]
    lines = [] if images else ["[image image/png of 3 bytes: not shown, this model cannot take it]"]
    lines += [] if audio else ["[audio audio/wav of 4 bytes: not shown, this model cannot take it]"]
    assert gated == ToolResult("c", "\n".join(["text", *lines]), False, tuple(passed))
    assert (gated is result) == (images and audio)


@pytest.mark.req("RES-06")
def test_a_result_with_only_an_image_is_never_empty_and_keeps_its_parts_for_others() -> None:
    result = shape(ToolResult("c", "", False, (IMAGE,)), keep=nothing).result
    gated = gate_media(result, images=False, audio=False)
    assert gated.content == "[image image/png of 3 bytes: not shown, this model cannot take it]"
    assert result.parts == (IMAGE,)


@pytest.mark.req("RES-24")
def test_lines_for_held_back_media_fit_the_cap_too() -> None:
    result = ToolResult("c", "x" * CAP_BYTES, False, (IMAGE,) * 500)
    shaped = shape(result, keep=Kept().keep).result
    gated = gate_media(shaped, images=False, audio=False)
    assert size(gated.content) <= CAP_BYTES
    assert gated == replace(gated, parts=())
