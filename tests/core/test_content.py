"""Parts to JSON and back, and the size of base64 (core/content.py)."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.content import (
    AudioPart,
    EmbeddedResourcePart,
    ImagePart,
    Part,
    ResourceLinkPart,
    StructuredPart,
    TextPart,
    base64_size,
    part_from_json,
    part_to_json,
)

PARTS: list[Part] = [
    TextPart(text="", audience=("user",)),
    ImagePart(data="AAAA", mime_type="image/png"),
    AudioPart(data="", mime_type=""),
    ResourceLinkPart(uri="doc://1", name="one", size_bytes=3, server="s"),
    EmbeddedResourcePart(uri="", text=""),
    EmbeddedResourcePart(uri="x", blob="AA=="),
    StructuredPart(value={"a": [1, None]}),
    StructuredPart(value=None),
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.kind)
def test_a_part_is_the_same_after_json(part: Part) -> None:
    assert part_from_json(part_to_json(part)) == part


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        {"kind": "hologram"},
        {"kind": ["text"]},
        {"kind": "text"},
        {"kind": "text", "text": 3},
        {"kind": "text", "text": "a", "more": "b"},
        {"kind": "text", "text": "a", "audience": [1]},
        {"kind": "resource_link", "uri": "x", "size_bytes": "3"},
    ],
)
def test_what_is_no_part_is_refused(raw: object) -> None:
    with pytest.raises(ValueError, match=r"part"):
        part_from_json(raw)


@given(st.binary(max_size=64))
def test_the_size_of_base64_is_that_of_its_bytes(content: bytes) -> None:
    assert base64_size(base64.b64encode(content).decode()) == len(content)
