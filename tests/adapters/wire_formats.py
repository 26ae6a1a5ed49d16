"""What a model says, as the event streams of the three wire formats."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.adapters.wire_servers import End, Reply

Event = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One answer of a model.

    `calls` are (id, name, argument text); `cut` leaves out what follows half of the last call's arguments;
    `stop` is the provider's own word for the end, "" is the usual one.
    """

    text: str = ""
    reasoning: str = ""
    calls: Sequence[tuple[str | None, str, str]] = ()
    cut: bool = False
    stop: str = ""
    extra: Mapping[str, object] = field(default_factory=dict)


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


def _named(events: Iterator[Event]) -> list[str]:
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]


# ---------------------------------------------------------------- Anthropic Messages


def anthropic(said: Said, end: End = "whole") -> Reply:
    """Return a reply of the Messages API: 10 tokens new, 5 read from the cache, 3 written to it, 7 given."""
    return Reply(pieces=_named(_anthropic(said)), end=end)


def _anthropic(said: Said) -> Iterator[Event]:
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 5,
        "output_tokens": 1,
    }
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude-test"}
    yield {
        "type": "message_start",
        "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage},
    }
    blocks = [*_thoughts(said), *_texts(said), *_tool_uses(said)]
    for index, (start, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": start}
        last = said.cut and index == len(blocks) - 1
        for delta in deltas[:1] if last else deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        if last:
            return
        yield {"type": "content_block_stop", "index": index}
    stop = said.stop or ("tool_use" if said.calls else "end_turn")
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}}
    yield {"type": "message_stop"}


def _thoughts(said: Said) -> list[tuple[Event, list[Event]]]:
    return [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [
                *({"type": "thinking_delta", "thinking": piece} for piece in _halves(thought)),
                {"type": "signature_delta", "signature": f"sig{number}"},
            ],
        )
        for number, thought in enumerate(said.reasoning.split("|") if said.reasoning else [], start=1)
    ]


def _texts(said: Said) -> list[tuple[Event, list[Event]]]:
    deltas: list[Event] = [{"type": "text_delta", "text": piece} for piece in _halves(said.text)]
    return [({"type": "text", "text": ""}, deltas)] if said.text else []


def _tool_uses(said: Said) -> list[tuple[Event, list[Event]]]:
    return [
        (
            {"type": "tool_use", "id": call_id, "name": name, "input": {}},
            [{"type": "input_json_delta", "partial_json": piece} for piece in _halves(args)],
        )
        for call_id, name, args in said.calls
    ]


# ---------------------------------------------------------------- OpenAI Chat Completions


def chat(said: Said, end: End = "whole") -> Reply:
    """Return the reply of Chat Completions: 18 tokens taken, 5 of them from the cache, 7 given."""
    pieces = [f"data: {json.dumps(event)}\n\n" for event in _chat(said)]
    return Reply(pieces=pieces if said.cut else [*pieces, "data: [DONE]\n\n"], end=end)


def _chat(said: Said) -> Iterator[Event]:
    yield _chunk({"role": "assistant", "content": ""})
    if said.reasoning:
        yield _chunk({"reasoning_content": said.reasoning})
    for piece in _halves(said.text):
        yield _chunk({"content": piece})
    if said.extra:
        yield _chunk(said.extra)
    for index, (call_id, name, args) in enumerate(said.calls):
        head = {"index": index, "type": "function", "function": {"name": name, "arguments": ""}}
        yield _chunk({"tool_calls": [head if call_id is None else {**head, "id": call_id}]})
        last = said.cut and index == len(said.calls) - 1
        for piece in _halves(args)[:1] if last else _halves(args):
            yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    if said.cut:
        return
    yield _chunk({}, finish=said.stop or ("tool_calls" if said.calls else "stop"))
    usage = {"prompt_tokens": 18, "completion_tokens": 7, "total_tokens": 25}
    yield {**_chunk({}), "choices": [], "usage": {**usage, "prompt_tokens_details": {"cached_tokens": 5}}}


def _chunk(delta: Event, finish: str | None = None) -> Event:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000}
    return {**head, "model": "gpt-test", "choices": [choice]}


# ---------------------------------------------------------------- OpenAI Responses


def responses(said: Said, end: End = "whole") -> Reply:
    """Return the reply of the Responses API: 18 tokens taken, 5 of them from the cache, 7 given."""
    numbered = ({**event, "sequence_number": n} for n, event in enumerate(_responses(said)))
    return Reply(pieces=_named(numbered), end=end)


def _responses(said: Said) -> Iterator[Event]:
    yield {"type": "response.created", "response": _response("in_progress")}
    if said.reasoning:
        yield from _reasoning_item(said.reasoning)
    if said.text:
        yield from _message_item(said.text)
    for index, (call_id, name, args) in enumerate(said.calls):
        item = {"type": "function_call", "id": f"fc_{index}", "call_id": call_id, "name": name}
        place = {"item_id": f"fc_{index}", "output_index": index}
        added = {**item, "arguments": "", "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": index, "item": added}
        last = said.cut and index == len(said.calls) - 1
        for piece in _halves(args)[:1] if last else _halves(args):
            yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        if last:
            return
        yield {"type": "response.function_call_arguments.done", **place, "name": name, "arguments": args}
        done = {**item, "arguments": args, "status": "completed"}
        yield {"type": "response.output_item.done", "output_index": index, "item": done}
    if said.stop == "failed":
        error = {"code": "server_error", "message": "it broke"}
        yield {"type": "response.failed", "response": {**_response("failed"), "error": error}}
    elif said.stop:
        cut = {**_response("incomplete"), "incomplete_details": {"reason": said.stop}}
        yield {"type": "response.incomplete", "response": cut}
    else:
        yield {"type": "response.completed", "response": _response("completed")}


def _response(status: str) -> Event:
    usage = {
        "input_tokens": 18,
        "input_tokens_details": {"cached_tokens": 5},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 25,
    }
    head = {"id": "resp_1", "object": "response", "created_at": 1_700_000_000, "model": "gpt-test"}
    tail = {"output": [], "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return {**head, **tail, "status": status, "usage": usage}


def _reasoning_item(text: str) -> Iterator[Event]:
    item = {"type": "reasoning", "id": "rs_1", "summary": []}
    place = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    part = {"type": "summary_text", "text": ""}
    yield {"type": "response.reasoning_summary_part.added", **place, "part": part}
    for piece in _halves(text):
        yield {"type": "response.reasoning_summary_text.delta", **place, "delta": piece}
    summary = [{"type": "summary_text", "text": text}]
    done = {**item, "summary": summary, "encrypted_content": "sealed"}
    yield {"type": "response.output_item.done", "output_index": 0, "item": done}


def _message_item(text: str) -> Iterator[Event]:
    item = {"type": "message", "id": "m_1", "role": "assistant", "content": [], "status": "in_progress"}
    place = {"item_id": "m_1", "output_index": 0, "content_index": 0}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    for piece in _halves(text):
        yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": text, "logprobs": []}


WIRES: dict[str, Callable[..., Reply]] = {
    "anthropic": anthropic,
    "openai": chat,
    "openai-responses": responses,
}
