"""The model of users' tests: answers in code, requests kept."""

from collections.abc import Mapping

import pytest

from hilt.core.errors import ConfigError, ModelError
from hilt.core.session import UserMessage
from hilt.core.tool import ToolCall
from hilt.ports.model import Answered, CallRequested, Capabilities, ModelItem, ModelRequest, TextDelta
from hilt.testing import ScriptedModel


async def items(model: ScriptedModel, wanted: ModelRequest) -> list[ModelItem]:
    return [item async for item in model.stream(wanted)]


@pytest.mark.req("DSP-88")
async def test_answers_are_objects_or_functions_of_the_request() -> None:
    def count(request: ModelRequest) -> Mapping[str, object]:
        return {"calls": [{"name": "Read", "args": {"n": len(request.messages)}}]}

    model = ScriptedModel([{"text": "Hi"}, count])
    model.add({"text": "Bye"})
    first, second = ModelRequest(), ModelRequest(messages=[UserMessage(text="x")], turn=2)
    assert await items(model, first) == [TextDelta(text="Hi"), Answered()]
    assert await items(model, second) == [
        CallRequested(call=ToolCall("call_2_1", "Read", '{"n": 1}')),
        Answered(),
    ]
    assert await items(model, first) == [TextDelta(text="Bye"), Answered()]
    assert model.requests == [first, second, first]


async def test_a_request_past_the_last_answer_is_kept_and_refused() -> None:
    model = ScriptedModel(name="scripted:mine")
    with pytest.raises(ModelError, match="scripted:mine has 0 answers and none for request 1"):
        await items(model, ModelRequest())
    assert model.requests == [ModelRequest()]


async def test_a_condition_that_does_not_hold_is_refused() -> None:
    model = ScriptedModel([{"text": "Hi", "when": "please"}])
    with pytest.raises(ModelError, match="answer 1 of scripted:test waits for 'please'"):
        await items(model, ModelRequest(messages=[UserMessage(text="now")]))


async def test_a_wrong_answer_is_told_when_it_is_given() -> None:
    with pytest.raises(ConfigError, match="scripted:test:2: txt: unknown key"):
        ScriptedModel([{"text": "fine"}, {"txt": "wrong"}])
    with pytest.raises(ConfigError, match="scripted:test:1: calls"):
        await items(ScriptedModel([lambda _: {"calls": 1}]), ModelRequest())


def test_name_and_capabilities_are_given() -> None:
    takes = Capabilities(images=True)
    model = ScriptedModel(name="scripted:mine", capabilities=takes)
    assert (model.name, model.capabilities) == ("scripted:mine", takes)
