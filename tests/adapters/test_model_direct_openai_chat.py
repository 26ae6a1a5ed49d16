"""OpenAI Chat Completions, as it goes over the wire."""

import base64

import anyio
import pytest

from hilt.adapters.model_direct.openai import load_model
from hilt.core.content import AudioPart, ImagePart
from hilt.core.errors import ModelError
from hilt.core.session import AssistantMessage, ToolMessage, Usage, UserMessage
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.model import Answered, Capabilities, ModelItem, ModelRequest, ReasoningText
from tests.adapters.direct import SEARCH, SECRET, asked, calls_of, collect, items, request, text_of
from tests.adapters.wire_formats import Said, chat
from tests.adapters.wire_servers import Reply, provider, refusal

PNG = ImagePart(data=base64.b64encode(b"\x89PNG\r\n\x1a\n").decode(), mime_type="image/png")
CALLS = (
    ToolCall("c1", "mcp__books__search", '{"q":"one"}'),
    ToolCall("c2", "mcp__books__search", '{"q": "two'),
)


@pytest.mark.req("CAT-45")
async def test_tools_are_sent_in_order_with_their_schemas_as_they_are() -> None:
    other = ToolSpec("Read", "", {"type": "object", "properties": {"p": {"pattern": "^a(?=b)"}}})
    async with asked("openai", chat(Said(text="Hi"))) as (model, server):
        await items(model, request(tools=[SEARCH, other]))
    seen = server.requests[0]
    tools = seen.at("tools")
    assert isinstance(tools, list)
    sent = [(t["function"]["name"], t["function"]["description"], t["function"]["parameters"]) for t in tools]
    assert sent == [(spec.name, spec.description, spec.schema) for spec in (SEARCH, other)]
    assert not any(tool["function"].get("strict") for tool in tools)
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {SECRET}"
    assert seen.at("messages") == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
    ]


async def test_usage_counts_the_cached_part_of_the_input() -> None:
    async with asked("openai", chat(Said(text="Hi"))) as (model, _):
        streamed = await items(model, request())
    assert streamed[-1] == Answered(usage=Usage(input=18, output=7, cache_read=5))


@pytest.mark.req("DSP-08", "RES-05")
async def test_results_follow_their_calls_and_images_follow_the_results() -> None:
    results = ToolMessage(results=(ToolResult("c1", "found", False, (PNG,)), ToolResult("c2", '{"error":"x"}', True)))
    async with asked("openai", chat(Said(text="Done"))) as (model, server):
        answer = AssistantMessage(text="Looking", calls=CALLS)
        await items(model, request(UserMessage(text="Find"), answer, results))
    messages = server.requests[0].at("messages")
    assert isinstance(messages, list)
    assert [message["role"] for message in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]
    assert [call["id"] for call in messages[2]["tool_calls"]] == ["c1", "c2"]
    assert messages[2]["tool_calls"][0]["function"]["arguments"] == '{"q":"one"}'
    assert messages[3:5] == [
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "tool", "tool_call_id": "c2", "content": '{"error":"x"}'},
    ]
    assert messages[5]["content"] == [
        {"type": "text", "text": "Shown with the result of mcp__books__search:"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG.data}"}},
    ]


@pytest.mark.req("RES-06")
async def test_an_image_that_the_model_does_not_take_is_told() -> None:
    results = ToolMessage(results=(ToolResult("c1", "", False, (PNG,)),))
    blind = Capabilities(profile="openai")
    async with asked("openai", chat(Said(text="Hm")), capabilities=blind) as (model, server):
        await items(model, request(UserMessage(text="Go"), AssistantMessage(calls=CALLS[:1]), results))
    told = "[image image/png of 8 bytes: not shown, this model cannot take it]"
    assert server.requests[0].at("messages", 3, "content") == told


@pytest.mark.req("RES-05")
async def test_a_sound_goes_to_a_model_that_takes_it_alone() -> None:
    sound, odd = (AudioPart(data="UklGRg==", mime_type=mime) for mime in ("audio/wav", "audio/midi"))
    for name, kinds in (("gpt-4o-audio-preview", ["text", "input_audio"]), ("gpt-5", ["text"])):
        async with provider(chat(Said(text="Hm"))) as server:
            model = load_model(
                f"openai/{name}",
                keys={"openai": SECRET},
                base_urls={"openai": server.url},
                capabilities=Capabilities(images=True, audio=True, profile="openai"),
            )
            await items(model, request(UserMessage(text="Listen", parts=(sound, odd))))
            await model.aclose()
        content = server.requests[0].at("messages", 1, "content")
        found = [part["type"] for part in content] if isinstance(content, list) else ["text"]
        assert found == kinds


async def test_ids_of_calls_come_as_the_provider_gave_them() -> None:
    said = Said(calls=[("same", "Read", "{}"), ("same", "Read", ""), (None, "Read", "{}")])
    async with asked("openai", chat(said)) as (model, _):
        calls = calls_of(await items(model, request()))
    assert calls == [ToolCall("same", "Read", "{}"), ToolCall("same", "Read", ""), ToolCall("", "Read", "{}")]


async def test_reasoning_of_servers_that_give_it_is_streamed_and_sent_back() -> None:
    said = Said(reasoning="Let me see", calls=[("c1", "mcp__books__search", "{}")])
    async with asked("openai", chat(said), chat(Said(text="Done"))) as (model, server):
        thoughts = [item for item in await items(model, request()) if isinstance(item, ReasoningText)]
        answer = AssistantMessage(reasoning="Let me see", reasoning_signature=thoughts[-1].signature, calls=CALLS[:1])
        results = ToolMessage(results=(ToolResult("c1", "x"),))
        await items(model, request(UserMessage(text="Go"), answer, results))
    assert "".join(item.text for item in thoughts) == "Let me see"
    assert server.requests[1].at("messages", 2, "reasoning_content") == "Let me see"


async def test_a_refusal_of_the_model_is_its_text() -> None:
    async with asked("openai", chat(Said(extra={"refusal": "I will not."}))) as (model, _):
        assert text_of(await items(model, request())) == "I will not."


@pytest.mark.req("DSP-18")
@pytest.mark.parametrize("end", ["whole", "drop"])
async def test_a_stream_that_ends_without_a_finish_is_a_transient_failure(end: str) -> None:
    said = Said(text="Let me", calls=[("c1", "mcp__books__search", '{"q": "one"}')], cut=True)
    async with asked("openai", chat(said, end="drop" if end == "drop" else "whole")) as (model, _):
        with pytest.raises(ModelError) as caught:
            await items(model, request())
    assert caught.value.transient


async def test_a_call_that_the_token_limit_cuts_fails_for_good() -> None:
    cut = Said(calls=[("c1", "mcp__books__search", "")], stop="length")
    async with asked("openai", chat(cut)) as (model, _):
        with pytest.raises(ModelError, match="inside a call") as caught:
            await items(model, request())
    assert not caught.value.transient


async def test_a_text_that_the_token_limit_cuts_is_an_answer() -> None:
    async with asked("openai", chat(Said(text="Once upon", stop="length"))) as (model, server):
        wanted = ModelRequest(messages=[UserMessage(text="Hi")], max_output_tokens=9)
        assert text_of(await items(model, wanted)) == "Once upon"
    assert server.requests[0].at("max_completion_tokens") == 9


async def test_an_error_inside_the_stream_is_a_model_error() -> None:
    error = 'data: {"error": {"code": "server_error", "type": "server_error", "message": "it broke"}}\n\n'
    async with asked("openai", Reply(pieces=[error])) as (model, _):
        with pytest.raises(ModelError, match="it broke") as caught:
            await items(model, request())
    assert caught.value.transient


async def test_a_used_up_quota_is_not_tried_again() -> None:
    body = {"error": {"code": "insufficient_quota", "type": "insufficient_quota", "message": "pay"}}
    async with asked("openai", refusal(429, body)) as (model, server):
        with pytest.raises(ModelError) as caught:
            await items(model, request())
    assert (caught.value.transient, caught.value.status) == (False, 429)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(pieces=["data: {not json\n\n"]),
        Reply(pieces=["data: [1]\n\n"]),
        Reply(pieces=['data: {"choices": [{"delta": 7}]}\n\n']),
        Reply(pieces=["data: [DONE]\n\n"]),
        Reply(),
    ],
)
async def test_an_answer_that_is_none_is_a_model_error(reply: Reply) -> None:
    async with asked("openai", reply) as (model, _):
        with pytest.raises(ModelError):
            await items(model, request())


async def test_cancelling_closes_the_connection() -> None:
    said = Said(text="Once upon a time", calls=[("c1", "mcp__books__search", '{"q": "one"}')], cut=True)
    async with asked("openai", chat(said, end="hang")) as (model, server):
        streamed: list[ModelItem] = []
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(collect, model, request(), streamed)
                await server.replied.wait()
                group.cancel_scope.cancel()
            await server.closed.wait()
    assert calls_of(streamed) == []


async def test_no_variable_of_the_environment_changes_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-spy: 1")
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with asked("openai", chat(Said(text="Hi"))) as (model, server):
        await items(model, request())
    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {SECRET}"
    assert {name for name in headers if name.startswith(("x-", "openai"))} == set()
