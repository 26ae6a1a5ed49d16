"""The Anthropic Messages API, as it goes over the wire."""

import base64

import anyio
import pytest

from hilt.core.content import AudioPart, ImagePart, StructuredPart
from hilt.core.errors import ModelError
from hilt.core.session import AssistantMessage, SummaryMessage, ToolMessage, Usage, UserMessage
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.model import Answered, Capabilities, ModelItem, ModelRequest, ReasoningText
from tests.adapters.direct import (
    SEARCH,
    SECRET,
    asked,
    calls_of,
    collect,
    direct_model,
    items,
    request,
    text_of,
)
from tests.adapters.wire_formats import Said, anthropic
from tests.adapters.wire_servers import Reply, provider, refusal

PNG = ImagePart(data=base64.b64encode(b"\x89PNG\r\n\x1a\n").decode(), mime_type="image/png")
CALL = ToolCall("c1", "mcp__books__search", '{"q": "one"}')
MARK = {"type": "ephemeral", "ttl": "5m"}


@pytest.mark.req("CAT-45")
async def test_tools_are_sent_in_order_with_name_description_and_schema_as_they_are() -> None:
    other = ToolSpec("Read", "Reads.", {"type": "object", "properties": {"p": {"pattern": "^a(?=b)"}}})
    async with asked("anthropic", anthropic(Said(text="Hi"))) as (model, server):
        await items(model, request(tools=[SEARCH, other]))
    tools = server.requests[0].at("tools")
    assert isinstance(tools, list)
    sent = [(tool["name"], tool["description"], tool["input_schema"]) for tool in tools]
    assert sent == [(spec.name, spec.description, spec.schema) for spec in (SEARCH, other)]
    assert server.requests[0].path == "/v1/messages"


async def test_the_prompt_is_marked_for_the_cache_after_tools_instructions_and_last_message() -> None:
    async with asked("anthropic", anthropic(Said(text="Hi"))) as (model, server):
        await items(model, request())
    seen = server.requests[0]
    assert seen.at("tools", 0, "cache_control") == MARK
    assert seen.at("system") == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]
    assert seen.at("messages", 0, "content", 0) == {"type": "text", "text": "Hello", "cache_control": MARK}


async def test_usage_counts_the_cache_on_its_own_and_within_the_input() -> None:
    async with asked("anthropic", anthropic(Said(text="Hi"))) as (model, _):
        streamed = await items(model, request())
    assert streamed[-1] == Answered(usage=Usage(input=18, output=7, cache_read=5, cache_write=3))


@pytest.mark.req("DSP-08", "RES-05")
async def test_results_go_back_beside_their_calls_with_images_inside() -> None:
    calls = [("c1", "mcp__books__search", '{"q": "one"}'), ("c2", "mcp__books__search", '{"q": "two"}')]
    async with asked("anthropic", anthropic(Said(text="Looking", calls=calls))) as (model, _):
        first = await items(model, request())
    answer = AssistantMessage(text=text_of(first), calls=tuple(calls_of(first)))
    results = ToolMessage(
        results=(
            ToolResult("c1", "found", False, (PNG, StructuredPart(value=1))),
            ToolResult("c2", "no such book", True),
        )
    )
    async with asked("anthropic", anthropic(Said(text="Done"))) as (model, server):
        await items(model, request(UserMessage(text="Find"), answer, results))
    source = {"type": "base64", "media_type": "image/png", "data": PNG.data}
    assert server.requests[0].at("messages", 1, "content") == [
        {"type": "text", "text": "Looking"},
        {"type": "tool_use", "id": "c1", "name": "mcp__books__search", "input": {"q": "one"}},
        {"type": "tool_use", "id": "c2", "name": "mcp__books__search", "input": {"q": "two"}},
    ]
    assert server.requests[0].at("messages", 2, "content") == [
        {
            "type": "tool_result",
            "tool_use_id": "c1",
            "is_error": False,
            "content": [{"type": "text", "text": "found"}, {"type": "image", "source": source}],
        },
        {
            "type": "tool_result",
            "tool_use_id": "c2",
            "is_error": True,
            "content": [{"type": "text", "text": "no such book"}],
            "cache_control": MARK,
        },
    ]


@pytest.mark.req("RES-05", "RES-06")
@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("", "[image image/png of 8 bytes: not shown, this model cannot take it]"),
        ("a map", "a map\n[image image/png of 8 bytes: not shown, this model cannot take it]"),
    ],
)
async def test_an_image_that_the_model_does_not_take_is_told(content: str, shown: str) -> None:
    results = ToolMessage(results=(ToolResult("c1", content, False, (PNG,)),))
    blind = Capabilities(images=False, profile="anthropic")
    async with asked("anthropic", anthropic(Said(text="Hm")), capabilities=blind) as (model, server):
        await items(model, request(UserMessage(text="Look"), AssistantMessage(calls=(CALL,)), results))
    blocks = server.requests[0].at("messages", 2, "content", 0, "content")
    assert isinstance(blocks, list)
    assert [block["text"] for block in blocks] == [shown]


async def test_media_that_cannot_be_decoded_is_told_and_not_sent() -> None:
    broken = ImagePart(data="%%%", mime_type="image/png")
    sound = AudioPart(data="UklGRg==", mime_type="audio/wav")
    async with asked("anthropic", anthropic(Said(text="Hm"))) as (model, server):
        await items(model, request(UserMessage(text="Look", parts=(broken, sound, PNG))))
    content = server.requests[0].at("messages", 0, "content")
    assert isinstance(content, list)
    assert [block["type"] for block in content] == ["text", "image"]
    held = ("image image/png of 2 bytes", "audio audio/wav of 4 bytes")
    lines = ["Look", *(f"[{what}: not shown, this model cannot take it]" for what in held)]
    assert content[0]["text"] == "\n".join(lines)


async def test_an_empty_result_is_sent_without_an_empty_block() -> None:
    results = ToolMessage(results=(ToolResult("c1", ""),))
    async with asked("anthropic", anthropic(Said(text="Hm"))) as (model, server):
        await items(model, request(UserMessage(text="Go"), AssistantMessage(calls=(CALL,)), results))
    assert server.requests[0].at("messages", 2, "content", 0, "content") == ""


async def test_signed_reasoning_goes_back_as_it_came_to_the_same_wire_alone() -> None:
    said = Said(reasoning="first|second", calls=[("c1", "mcp__books__search", '{"q": "one"}')])
    async with asked("anthropic", anthropic(said)) as (model, _):
        streamed = await items(model, request())
    thoughts = [item for item in streamed if isinstance(item, ReasoningText)]
    reasoning = "".join(item.text for item in thoughts)
    assert reasoning == "first\n\nsecond"
    seals = [item.signature for item in thoughts if item.signature]
    assert len(seals) == 1
    expected = {
        (reasoning, seals[0]): [("thinking", "first", "sig1"), ("thinking", "second", "sig2")],
        ("changed", seals[0]): [],
        (reasoning, seals[0].replace("anthropic", "openai")): [],
        (reasoning, "no seal"): [],
        (reasoning, seals[0].replace("5", '"five"')): [],
        (reasoning, seals[0].replace("[{", '[7,{"characters":-1},{')): [],
    }
    for (text, seal), blocks in expected.items():
        answer = AssistantMessage(reasoning=text, reasoning_signature=seal, calls=(CALL,))
        results = ToolMessage(results=(ToolResult("c1", "found"),))
        async with asked("anthropic", anthropic(Said(text="Done"))) as (model, server):
            await items(model, request(UserMessage(text="Find"), answer, results))
        content = server.requests[0].at("messages", 1, "content")
        assert isinstance(content, list)
        sent = [(b["type"], b["thinking"], b["signature"]) for b in content if b["type"] != "tool_use"]
        assert sent == blocks


async def test_a_summary_and_a_notice_are_said_by_the_user() -> None:
    summary = SummaryMessage(text="Before: much.")
    empty = UserMessage(text="")
    async with asked("anthropic", anthropic(Said(text="Hm"))) as (model, server):
        await items(model, request(summary, empty, UserMessage(text="Go on")))
    content = server.requests[0].at("messages", 0, "content")
    assert isinstance(content, list)
    assert [block["text"] for block in content] == ["Before: much.", "Go on"]


async def test_the_limit_of_output_tokens_is_sent() -> None:
    wanted = ModelRequest(messages=[UserMessage(text="Hi")], max_output_tokens=77)
    async with asked("anthropic", anthropic(Said(text="Hm"))) as (model, server):
        await items(model, wanted)
    assert server.requests[0].at("max_tokens") == 77
    assert "system" not in server.requests[0].body


async def test_a_name_that_does_not_fit_is_repaired_and_mapped_back_everywhere() -> None:
    odd = ToolSpec("mcp__files__read.file", "Reads.")
    wire = "mcp__files__read_file_dcef985e"
    said = Said(calls=[("c1", wire, "{}"), ("c2", "mcp__books__search", "{}"), ("c3", "nobody", "{}")])
    async with asked("anthropic", anthropic(said), anthropic(Said(text="Ok"))) as (model, server):
        calls = calls_of(await items(model, request(tools=[odd, SEARCH])))
        names = [call.name for call in calls]
        results = ToolMessage(results=tuple(ToolResult(call.id, "x") for call in calls))
        answer = AssistantMessage(calls=tuple(calls))
        await items(model, request(UserMessage(text="Go"), answer, results, tools=[odd, SEARCH]))
    assert server.requests[0].at("tools", 0, "name") == wire
    assert names == ["mcp__files__read.file", "mcp__books__search", "nobody"]
    assert server.requests[1].at("messages", 1, "content", 0, "name") == wire


@pytest.mark.req("PRV-07")
async def test_of_two_tools_with_one_wire_name_the_later_is_not_sent() -> None:
    first, second = "...../....////.../", "..///./..../..//.."
    tools = [ToolSpec(second, "second"), ToolSpec(first, "first")]
    async with asked("anthropic", anthropic(Said(text="Hi"))) as (model, server):
        await items(model, request(tools=tools))
    sent = server.requests[0].at("tools")
    assert isinstance(sent, list)
    assert [tool["description"] for tool in sent] == ["first"]


async def test_arguments_that_come_whole_are_kept() -> None:
    said = anthropic(Said(calls=[("c1", "mcp__books__search", "")]))
    whole = [piece.replace('"input": {}', '"input": {"q": "\u00fc"}') for piece in said.pieces]
    async with asked("anthropic", Reply(pieces=whole)) as (model, _):
        calls = calls_of(await items(model, request()))
    assert calls == [ToolCall("c1", "mcp__books__search", '{"q": "ü"}')]


async def test_a_connection_that_drops_inside_a_call_is_a_transient_failure() -> None:
    said = Said(text="Let", calls=[("c1", "mcp__books__search", '{"q": "one"}')], cut=True)
    async with asked("anthropic", anthropic(said, end="drop")) as (model, _):
        with pytest.raises(ModelError) as caught:
            await items(model, request())
    assert caught.value.transient


async def test_an_error_inside_the_stream_has_the_status_it_stands_for() -> None:
    error = '{"type": "error", "error": {"type": "overloaded_error", "message": "too much"}}'
    opened = anthropic(Said(text="Let", calls=[("c1", "x", '{"a": 1}')], cut=True)).pieces
    async with asked("anthropic", Reply(pieces=[*opened, f"event: error\ndata: {error}\n\n"])) as (model, _):
        with pytest.raises(ModelError) as caught:
            await items(model, request())
    assert (caught.value.transient, caught.value.status) == (True, 529)
    assert str(caught.value) == "anthropic/claude-sonnet-5-5: status 529: too much"


async def test_a_call_that_the_token_limit_cuts_fails_for_good() -> None:
    cut = Said(calls=[("c1", "mcp__books__search", '{"q": "on')], stop="max_tokens")
    whole = Said(calls=[("c1", "mcp__books__search", '{"q": "one"}')], stop="max_tokens")
    async with asked("anthropic", anthropic(cut), anthropic(whole)) as (model, _):
        with pytest.raises(ModelError, match="limit of output tokens inside a call of 'mcp__books__search'"):
            await items(model, request())
        assert len(calls_of(await items(model, request()))) == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(pieces=["event: message_start\ndata: {not json\n\n"]),
        Reply(pieces=['event: message_start\ndata: {"type": "message_start"}\n\n']),
        Reply(pieces=['event: message_stop\ndata: {"type": "message_stop"}\n\n']),
        Reply(pieces=["<html>hello</html>"], media_type="text/html"),
        Reply(),
        Reply(status=307, headers={"location": "http://127.0.0.1:1/"}),
    ],
)
async def test_an_answer_that_is_none_is_a_model_error(reply: Reply) -> None:
    async with asked("anthropic", reply) as (model, server):
        with pytest.raises(ModelError):
            await items(model, request())
    assert len(server.requests) == 1


async def test_a_provider_that_is_not_there_is_a_transient_failure() -> None:
    async with provider() as server:
        url = server.url
    model = direct_model("anthropic", url)
    with pytest.raises(ModelError) as caught:
        await items(model, request())
    await model.aclose()
    assert caught.value.transient
    assert caught.value.status is None


async def test_no_error_holds_the_key_or_a_long_body() -> None:
    body = {"error": {"type": "authentication_error", "message": f"bad key {SECRET}\n" + "x" * 2000}}
    async with asked("anthropic", refusal(401, body)) as (model, _):
        with pytest.raises(ModelError) as caught:
            await items(model, request())
    assert SECRET not in str(caught.value)
    assert "bad key [secret] xxx" in str(caught.value)
    assert len(str(caught.value)) < 600


async def test_a_refusal_without_a_reason_is_told_by_its_type() -> None:
    async with asked("anthropic", refusal(500, {"error": {"type": "api_error"}}), refusal(502, [])) as (
        model,
        _,
    ):
        with pytest.raises(ModelError, match="status 500: api_error"):
            await items(model, request())
        with pytest.raises(ModelError, match="status 502: the provider gave no reason"):
            await items(model, request())


async def test_an_exhausted_account_is_not_tried_again() -> None:
    body = {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}
    async with asked("anthropic", refusal(400, body)) as (model, _):
        with pytest.raises(ModelError) as caught:
            await items(model, request())
    assert not caught.value.transient


async def test_cancelling_closes_the_connection() -> None:
    said = Said(text="Once upon a time", calls=[("c1", "mcp__books__search", '{"q": "one"}')], cut=True)
    async with asked("anthropic", anthropic(said, end="hang")) as (model, server):
        streamed: list[ModelItem] = []
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(collect, model, request(), streamed)
                await server.replied.wait()
                group.cancel_scope.cancel()
            await server.closed.wait()
    assert calls_of(streamed) == []


async def test_leaving_the_stream_early_closes_the_connection() -> None:
    said = Said(text="Once upon a time", calls=[("c1", "mcp__books__search", '{"q": "one"}')], cut=True)
    async with asked("anthropic", anthropic(said, end="hang")) as (model, server):
        stream = model.stream(request())
        await anext(stream)
        await stream.aclose()
        with anyio.fail_after(5):
            await server.closed.wait()


async def test_no_variable_of_the_environment_changes_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-spy: 1\nx-api-key: other")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "other")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with asked("anthropic", anthropic(Said(text="Hi"))) as (model, server):
        await items(model, request())
    headers = server.requests[0].headers
    assert headers["x-api-key"] == SECRET
    assert headers["user-agent"] == "hilt"
    assert {name for name in headers if name.startswith(("x-s", "authorization"))} == set()
