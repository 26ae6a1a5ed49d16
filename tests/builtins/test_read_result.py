"""ReadResult pages through results that were cut."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.builtins.meta.read_result import ReadResult
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.shaping import shape
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.retained import Retained
from hilt.ports.results import RetainedResults
from hilt.ports.tool import Environment, Tool

HEAD = re.compile(r"\[bytes (\d+) to (\d+) of (\d+); (?:next offset (\d+)|this is the end)\]\n", re.ASCII)


def environment(retained: Retained) -> Environment:
    return Environment(services={RetainedResults: retained})


async def read(retained: Retained, **arguments: object) -> str:
    call = ToolCall("c1", "ReadResult", json.dumps(arguments), arguments=arguments)
    result = await ReadResult().execute(call, environment(retained))
    assert (result.call_id, result.is_error, result.parts) == ("c1", False, ())
    return result.content


async def refusal(retained: Retained, **arguments: object) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await read(retained, **arguments)
    return caught.value


async def pages(retained: Retained, handle: str, limit: int) -> list[str]:
    offset, found = 0, []
    while True:
        page = await read(retained, handle=handle, offset=offset, limit=limit)
        head = HEAD.match(page)
        assert head is not None
        found.append(page[head.end() :])
        if head[4] is None:
            assert head[2] == head[3]
            return found
        assert int(head[4]) > offset
        offset = int(head[4])


def test_it_is_a_read_only_tool_with_the_stated_arguments() -> None:
    tool: Tool = ReadResult()
    assert tool.read_only is True
    schema = tool.spec.schema
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert list(schema["required"]) == ["handle"]  # type: ignore[call-overload]  # a list of names
    assert set(properties) == {"handle", "offset", "limit", "pattern", "jq_filter"}
    assert {key: properties["offset"].get(key) for key in ("default", "minimum")} == {
        "default": 0,
        "minimum": 0,
    }
    limit = {key: properties["limit"].get(key) for key in ("default", "minimum", "maximum")}
    assert limit == {"default": 20_000, "minimum": 1, "maximum": 24_000}
    assert len(tool.spec.description) >= 100


@pytest.mark.req("RES-39", "BLT-95")
@given(text=st.text(st.characters(codec="utf-8"), min_size=1, max_size=60), limit=st.integers(1, 30))
async def test_the_pages_put_together_are_the_text_exactly(text: str, limit: int) -> None:
    retained = Retained()
    found = await pages(retained, retained.keep(text), limit)
    assert "".join(found) == text
    assert all(len(page.encode()) <= max(limit, 4) for page in found)


@pytest.mark.req("RES-39", "RES-26")
async def test_the_call_that_a_cut_result_names_shows_what_is_missing() -> None:
    retained = Retained()
    text = "".join(f"{number} é\n" for number in range(9_000))
    shaped = shape(ToolResult("c", text), keep=retained.keep)
    named = re.search(r"ReadResult (\{.*\})\]", shaped.result.content)
    assert named is not None
    head, _, rest = shaped.result.content.partition("[")
    page = await read(retained, **json.loads(named[1]))
    match = HEAD.match(page)
    assert match is not None
    assert text.startswith(head + page[match.end() :])
    assert "".join(await pages(retained, shaped.handle, 24_000)) == text
    assert rest.endswith("8999 é\n")


@pytest.mark.req("BLT-95")
async def test_an_offset_inside_a_character_is_moved_to_its_start() -> None:
    retained = Retained()
    handle = retained.keep("aé\U0001f600b")
    assert await read(retained, handle=handle, offset=2, limit=3) == "[bytes 1 to 3 of 8; next offset 3]\né"
    whole = "[bytes 3 to 7 of 8; next offset 7]\n\U0001f600"
    assert await read(retained, handle=handle, offset=5, limit=1) == whole
    assert await read(retained, handle=handle, offset=8) == "[bytes 8 to 8 of 8; this is the end]\n"
    beyond = await refusal(retained, handle=handle, offset=9)
    assert (beyond.code, beyond.reason) == (
        ErrorCode.INVALID_ARGUMENTS,
        "offset 9 is past the end, the result has 8 bytes",
    )


@pytest.mark.req("BLT-95")
async def test_a_pattern_gives_matching_lines_with_their_offsets() -> None:
    retained = Retained()
    handle = retained.keep("one\ntwo é\n\nthree é\nfour")
    found = await read(retained, handle=handle, pattern="é$")
    assert found == "[2 matching lines of 25 bytes; this is the end]\n4: two é\n12: three é"
    anchored = await read(retained, handle=handle, pattern="(?i)^FOUR|^$|one\\stwo")
    assert anchored == "[2 matching lines of 25 bytes; this is the end]\n11: \n21: four"
    later = await read(retained, handle=handle, pattern="o", offset=6)
    assert later == "[2 matching lines of 25 bytes; this is the end]\n4: two é\n21: four"
    none = await read(retained, handle=handle, pattern="five|\ud800")
    assert none == "[0 matching lines of 25 bytes; this is the end]"


@pytest.mark.req("BLT-95")
async def test_many_matching_lines_come_in_pages_and_long_ones_are_shown_in_part() -> None:
    retained = Retained()
    lines = [f"line {number} " + "é" * (400 if number % 2 else 3) for number in range(2_000)]
    handle = retained.keep("\n".join(lines) + "\n")
    offset, shown = 0, []
    while True:
        page = await read(retained, handle=handle, pattern="line", offset=offset, limit=24_000)
        assert len(page.encode()) <= 25_000
        head, *found = page.split("\n")
        shown += [line.split(": ", 1)[1][:12] for line in found]
        following = re.search(r"next offset (\d+)", head)
        if following is None:
            break
        offset = int(following[1])
    assert shown == [line[:12] for line in lines]
    assert "é [8" in await read(retained, handle=handle, pattern="line 1 ")


async def test_a_text_that_ends_in_a_line_end_has_no_empty_line_behind_it() -> None:
    retained = Retained()
    handle = retained.keep("a\nb\n")
    assert await read(retained, handle=handle, pattern="x*") == (
        "[2 matching lines of 4 bytes; this is the end]\n0: a\n2: b"
    )


@pytest.mark.parametrize("pattern", ["(", "[a", "a**", "(?P<x", ")(", "\\1"])
async def test_a_pattern_that_does_not_compile_is_named_as_such(pattern: str) -> None:
    retained = Retained()
    refused = await refusal(retained, handle=retained.keep("x"), pattern=pattern)
    assert refused.code is ErrorCode.INVALID_ARGUMENTS
    assert refused.reason.startswith("pattern is no RE2 expression: ")


@pytest.mark.req("BLT-96", "RES-42")
async def test_a_handle_that_gives_nothing_says_why() -> None:
    retained, other = Retained(), Retained()
    gone = retained.keep("x")
    retained.clear()
    for handle, why in ((gone, "is gone"), (other.keep("x"), "of another session"), ("r1-0", "is unknown")):
        refused = await refusal(retained, handle=handle)
        assert refused.code is ErrorCode.EXECUTION_FAILED
        assert why in refused.reason


async def test_a_filter_needs_a_result_that_is_json_and_a_system_that_runs_filters() -> None:
    retained = Retained()
    refused = await refusal(retained, handle=retained.keep("plain"), jq_filter=".a")
    assert refused.code is ErrorCode.INVALID_ARGUMENTS
    assert "this result is not JSON" in refused.reason
    refused = await refusal(retained, handle=retained.keep("{}", structured="{}"), jq_filter=".a")
    assert refused.code is ErrorCode.TOOL_UNAVAILABLE


async def test_a_session_that_keeps_no_results_says_so() -> None:
    call = ToolCall("c1", "ReadResult", arguments={"handle": "r1"})
    with pytest.raises(ToolError) as caught:
        await ReadResult().execute(call, Environment())
    assert caught.value.code is ErrorCode.TOOL_UNAVAILABLE
