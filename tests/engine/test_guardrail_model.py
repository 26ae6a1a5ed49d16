"""The reviewer that asks a model."""

import json
from collections.abc import AsyncIterator

import pytest

from hilt.core.guardrail import Payload
from hilt.core.session import UserMessage
from hilt.core.tool import ToolResult
from hilt.engine.guardrail_model import ModelReviewer, UnclearVerdictError
from hilt.ports.model import Answered, Capabilities, ModelItem, ModelRequest, TextDelta


class Answers:
    """A model that gives one text, in pieces."""

    name = "test/answers"
    capabilities = Capabilities()

    def __init__(self, text: str) -> None:
        self.text = text
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        self.requests.append(request)
        for letter in self.text:
            yield TextDelta(text=letter)
        yield Answered()


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("ALLOW", None),
        (" allow. ", None),
        ("BLOCK: it holds\n a key", "it holds a key"),
        ("block", "the model gave no reason"),
    ],
)
async def test_the_first_word_is_the_verdict(text: str, finding: str | None) -> None:
    assert await ModelReviewer(Answers(text)).review("in", "x", {}) == finding


@pytest.mark.req("HOK-34")
@pytest.mark.parametrize("text", ["", "I think ALLOW", "ALLOW: but BLOCK", "OK"])
async def test_any_other_answer_is_no_verdict(text: str) -> None:
    with pytest.raises(UnclearVerdictError):
        await ModelReviewer(Answers(text)).review("in", "x", {})


@pytest.mark.req("HOK-35")
@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        ({"a": 1}, {"tool": "x", "arguments": {"a": 1}}),
        (
            ToolResult("c", "t" * 100_000),
            {"tool": "x", "result": {"call_id": "c", "content": "t" * 100_000, "is_error": False}},
        ),
    ],
)
async def test_the_model_is_shown_everything_as_data(payload: Payload, shown: object) -> None:
    model = Answers("ALLOW")
    await ModelReviewer(model).review("out" if isinstance(payload, ToolResult) else "in", "x", payload)
    (message,) = model.requests[0].messages
    assert isinstance(message, UserMessage)
    assert json.loads(message.text) == shown
    assert model.requests[0].tools == ()


async def test_what_is_too_large_to_be_shown_is_not_waved_through() -> None:
    model = Answers("ALLOW")
    with pytest.raises(UnclearVerdictError):
        await ModelReviewer(model).review("out", "x", ToolResult("c", "t" * 500_000))
    assert model.requests == []
