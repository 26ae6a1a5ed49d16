"""What every model does, over each adapter."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from hilt.adapters.model_scripted import ScriptModel
from hilt.core.errors import ModelError
from hilt.core.session import Usage
from hilt.core.tool import ToolCall
from hilt.ports.model import Answered, Model, ModelItem, ReasoningText, TextDelta
from hilt.testing import ScriptedModel
from tests.adapters.direct import asked, calls_of, collect, items, request, text_of
from tests.adapters.wire_formats import WIRES, Said
from tests.adapters.wire_servers import Reply, refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer in the words of this contract; `status` is a refusal, `breaks` ends inside the last call."""

    text: str = ""
    reasoning: str = ""
    calls: Sequence[tuple[str, str, str]] = ()
    breaks: bool = False
    status: int = 0
    retry_after_s: float | None = None


Backend = Callable[[Path, Sequence[Answer]], AbstractAsyncContextManager[Model]]


def _line(answer: Answer) -> Mapping[str, object]:
    if answer.status:
        error: dict[str, object] = {"status": answer.status, "message": "not now"}
        if answer.retry_after_s is not None:
            error["retry_after_s"] = answer.retry_after_s
        return {"error": error}
    line: dict[str, object] = {
        "text": answer.text,
        "reasoning": answer.reasoning,
        "calls": [{"id": call_id, "name": name, "args": args} for call_id, name, args in answer.calls],
        "chunk": 3,
        "usage": {"input": 18, "output": 7},
    }
    return {**line, "break": True} if answer.breaks else line


@asynccontextmanager
async def _script(tmp_path: Path, answers: Sequence[Answer]) -> AsyncIterator[Model]:
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(_line(answer)) + "\n" for answer in answers), encoding="utf-8")
    yield ScriptModel.load(file)


@asynccontextmanager
async def _fake(_: Path, answers: Sequence[Answer]) -> AsyncIterator[Model]:
    yield ScriptedModel([_line(answer) for answer in answers])


def _reply(wire: str, answer: Answer) -> Reply:
    if answer.status:
        body = {"type": "error", "error": {"type": "some_error", "message": "not now"}}
        headers = {} if answer.retry_after_s is None else {"retry_after": f"{answer.retry_after_s:g}"}
        return refusal(answer.status, body, **headers)
    said = Said(text=answer.text, reasoning=answer.reasoning, calls=answer.calls, cut=answer.breaks)
    return WIRES[wire](said)


def _direct(wire: str) -> Backend:
    @asynccontextmanager
    async def backend(_: Path, answers: Sequence[Answer]) -> AsyncIterator[Model]:
        async with asked(wire, *(_reply(wire, answer) for answer in answers)) as (model, _server):
            yield model

    return backend


BACKENDS: dict[str, Backend] = {
    "script": _script,
    "testing": _fake,
    **{wire: _direct(wire) for wire in WIRES},
}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    return BACKENDS[request.param]


@pytest.mark.req("DSP-88")
async def test_a_text_comes_in_pieces_and_the_end_comes_last(backend: Backend, tmp_path: Path) -> None:
    async with backend(tmp_path, [Answer(text="Good morning")]) as model:
        streamed = await items(model, request())
    assert text_of(streamed) == "Good morning"
    assert sum(isinstance(item, TextDelta) for item in streamed) > 1
    assert [at for at, item in enumerate(streamed) if isinstance(item, Answered)] == [len(streamed) - 1]


async def test_the_end_tells_what_was_used(backend: Backend, tmp_path: Path) -> None:
    async with backend(tmp_path, [Answer(text="Hi")]) as model:
        last = (await items(model, request()))[-1]
    assert isinstance(last, Answered)
    assert (last.usage.input, last.usage.output) == (18, 7)
    assert last.usage.total == 25
    assert last.usage + Usage(input=1) == Usage(
        input=19, output=7, cache_read=last.usage.cache_read, cache_write=last.usage.cache_write
    )


@pytest.mark.req("DSP-18")
async def test_calls_come_in_order_with_the_model_s_own_argument_text(backend: Backend, tmp_path: Path) -> None:
    calls = [("a", "mcp__books__search", '{"q" :  "one" }'), ("b", "mcp__books__search", '{"q":2, "n')]
    async with backend(tmp_path, [Answer(text="Looking", calls=calls)]) as model:
        streamed = await items(model, request())
    assert calls_of(streamed) == [ToolCall(*call) for call in calls]
    assert isinstance(streamed[-1], Answered)


async def test_reasoning_comes_before_the_text(backend: Backend, tmp_path: Path) -> None:
    async with backend(tmp_path, [Answer(text="So: yes", reasoning="Let me see")]) as model:
        streamed = await items(model, request())
    assert "".join(item.text for item in streamed if isinstance(item, ReasoningText)) == "Let me see"
    first_text = next(at for at, item in enumerate(streamed) if isinstance(item, TextDelta))
    assert any(isinstance(item, ReasoningText) for item in streamed[:first_text])


@pytest.mark.req("DSP-18")
async def test_a_stream_that_breaks_inside_a_call_is_a_transient_failure(backend: Backend, tmp_path: Path) -> None:
    calls = [("a", "mcp__books__search", '{"q": "one"}'), ("b", "mcp__books__search", '{"q": "two"}')]
    streamed: list[ModelItem] = []
    async with backend(tmp_path, [Answer(text="Looking", calls=calls, breaks=True)]) as model:
        with pytest.raises(ModelError) as caught:
            await collect(model, request(), streamed)
    assert caught.value.transient
    assert not any(isinstance(item, Answered) for item in streamed)
    assert "b" not in [call.id for call in calls_of(streamed)]


@pytest.mark.parametrize("status", [429, 500, 503, 529])
async def test_a_refusal_for_now_says_when_to_come_back(backend: Backend, tmp_path: Path, status: int) -> None:
    async with backend(tmp_path, [Answer(status=status, retry_after_s=2)]) as model:
        with pytest.raises(ModelError) as caught:
            await items(model, request())
    assert (caught.value.transient, caught.value.status, caught.value.retry_after_s) == (True, status, 2.0)
    assert "not now" in str(caught.value)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_a_refusal_for_good_is_not_transient(backend: Backend, tmp_path: Path, status: int) -> None:
    async with backend(tmp_path, [Answer(status=status)]) as model:
        with pytest.raises(ModelError) as caught:
            await items(model, request())
    assert (caught.value.transient, caught.value.status, caught.value.retry_after_s) == (False, status, None)


@pytest.mark.parametrize(
    "failure",
    [Answer(status=429), Answer(calls=[("a", "mcp__books__search", '{"q": "one"}')], breaks=True)],
    ids=["refused", "broken off"],
)
async def test_a_failed_try_leaves_the_model_fit_for_another(backend: Backend, tmp_path: Path, failure: Answer) -> None:
    async with backend(tmp_path, [failure, Answer(text="Here I am")]) as model:
        with pytest.raises(ModelError):
            await items(model, request())
        assert text_of(await items(model, request())) == "Here I am"


async def test_a_model_tells_its_name_and_what_it_takes(backend: Backend, tmp_path: Path) -> None:
    async with backend(tmp_path, []) as model:
        assert model.name.startswith(("scripted:", "anthropic/", "openai/", "openai-responses/"))
        assert model.capabilities.window_tokens >= 100_000
