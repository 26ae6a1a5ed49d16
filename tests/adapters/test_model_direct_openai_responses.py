"""OpenAI Responses, as it goes over the wire."""

import base64

import anyio
import pytest

from hilt.core.content import ImagePart
from hilt.core.errors import ModelError
from hilt.core.session import AssistantMessage, ToolMessage, Usage, UserMessage
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.model import Answered, ModelItem, ReasoningText
from tests.adapters.direct import SEARCH, asked, calls_of, collect, items, request, text_of
from tests.adapters.wire_formats import Said, responses
from tests.adapters.wire_servers import Reply

PNG = ImagePart(data=base64.b64encode(b"\x89PNG\r\n\x1a\n").decode(), mime_type="image/png")
TWO = [("c1", "mcp__books__search", '{"q":"one"}'), ("c2", "mcp__books__search", '{"q":"two"}')]


@pytest.mark.req("CAT-45")
async def test_a_request_has_instructions_tools_and_keeps_nothing_at_the_provider() -> None:
    async with asked("openai-responses", responses(Said(text="Hi"))) as (model, server):
        await items(model, request())
    seen = server.requests[0]
    assert seen.path == "/v1/responses"
    assert seen.at("store") is False
    assert seen.at("instructions") == "Be brief."
    tool = seen.at("tools", 0)
    assert isinstance(tool, dict)
    assert (tool["name"], tool["description"]) == (SEARCH.name, SEARCH.description)
    assert tool["parameters"] == SEARCH.schema
    assert tool["strict"] is False


async def test_usage_counts_the_cached_part_of_the_input() -> None:
    async with asked("openai-responses", responses(Said(text="Hi"))) as (model, _):
        streamed = await items(model, request())
    assert streamed[-1] == Answered(usage=Usage(input=18, output=7, cache_read=5))


@pytest.mark.req("DSP-08", "RES-05")
async def test_parallel_calls_and_their_results_go_back_in_order_with_sealed_reasoning() -> None:
    said = Said(text="Looking", reasoning="Let me see", calls=TWO)
    async with asked("openai-responses", responses(said), responses(Said(text="Done"))) as (model, server):
        first = await items(model, request())
        thoughts = [item for item in first if isinstance(item, ReasoningText)]
        answer = AssistantMessage(
            text=text_of(first),
            reasoning="".join(item.text for item in thoughts),
            reasoning_signature="".join(item.signature for item in thoughts),
            calls=tuple(calls_of(first)),
        )
        results = ToolMessage(results=(ToolResult("c1", "found", False, (PNG,)), ToolResult("c2", "gone", True)))
        await items(model, request(UserMessage(text="Find"), answer, results))
    sent = server.requests[1].at("input")
    assert isinstance(sent, list)
    assert sent[0] == {"role": "user", "content": "Find"}
    assert (sent[1]["type"], sent[1]["id"], sent[1]["encrypted_content"]) == ("reasoning", "rs_1", "sealed")
    assert sent[1]["summary"] == [{"type": "summary_text", "text": "Let me see"}]
    assert sent[2] == {"role": "assistant", "content": "Looking"}
    assert [(item["type"], item["call_id"], item["arguments"]) for item in sent[3:5]] == [
        ("function_call", "c1", '{"q":"one"}'),
        ("function_call", "c2", '{"q":"two"}'),
    ]
    assert [(item["type"], item["call_id"]) for item in sent[5:]] == [
        ("function_call_output", "c1"),
        ("function_call_output", "c2"),
    ]
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG.data}", "detail": "auto"}
    assert sent[5]["output"] == [{"type": "input_text", "text": "found"}, picture]
    assert sent[6]["output"] == "gone"


async def test_an_image_of_the_user_is_sent_beside_the_text() -> None:
    async with asked("openai-responses", responses(Said(text="A cat"))) as (model, server):
        await items(model, request(UserMessage(text="What is it?", parts=(PNG,))))
    content = server.requests[0].at("input", 0, "content")
    assert isinstance(content, list)
    assert [part["type"] for part in content] == ["input_text", "input_image"]


@pytest.mark.req("DSP-18")
@pytest.mark.parametrize("end", ["whole", "drop"])
async def test_a_stream_that_ends_inside_a_call_is_a_transient_failure(end: str) -> None:
    reply = responses(Said(text="Let", calls=TWO, cut=True), end="drop" if end == "drop" else "whole")
    async with asked("openai-responses", reply) as (model, _):
        with pytest.raises(ModelError) as caught:
            await items(model, request())
    assert caught.value.transient


async def test_a_failed_response_is_a_transient_failure() -> None:
    async with asked("openai-responses", responses(Said(text="Let", stop="failed"))) as (model, _):
        with pytest.raises(ModelError, match="it broke") as caught:
            await items(model, request())
    assert caught.value.transient


async def test_a_failed_response_without_a_reason_is_a_transient_failure() -> None:
    reply = responses(Said(text="Let", stop="failed"))
    silent = Reply(pieces=[piece.replace('"error": {', '"unsaid": {') for piece in reply.pieces])
    async with asked("openai-responses", silent) as (model, _):
        with pytest.raises(ModelError, match="gave up") as caught:
            await items(model, request())
    assert caught.value.transient


async def test_a_call_that_the_token_limit_cuts_fails_for_good() -> None:
    cut = Said(calls=[("c1", "mcp__books__search", '{"q": "on')], stop="max_output_tokens")
    async with asked("openai-responses", responses(cut)) as (model, _):
        with pytest.raises(ModelError, match="limit of output tokens") as caught:
            await items(model, request())
    assert not caught.value.transient


async def test_cancelling_closes_the_connection() -> None:
    reply = responses(Said(text="Once upon a time", calls=TWO, cut=True), end="hang")
    async with asked("openai-responses", reply) as (model, server):
        streamed: list[ModelItem] = []
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(collect, model, request(), streamed)
                await server.replied.wait()
                group.cancel_scope.cancel()
            await server.closed.wait()
    assert calls_of(streamed) == []


async def test_a_call_comes_back_as_the_model_wrote_it() -> None:
    said = Said(calls=[("c1", "mcp__books__search", '{ "q" : 1 }')])
    async with asked("openai-responses", responses(said)) as (model, _):
        assert calls_of(await items(model, request())) == [ToolCall("c1", "mcp__books__search", '{ "q" : 1 }')]
