"""Scripts of model answers: what they may hold, what is wrong with them, and how they are played."""

import json
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import pytest

from hilt.adapters.model_scripted import ScriptModel
from hilt.core.errors import ConfigError, ModelError
from hilt.core.session import AssistantMessage, Message, SummaryMessage, ToolMessage, Usage, UserMessage
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.model import (
    Answered,
    CallRequested,
    Capabilities,
    ModelItem,
    ModelRequest,
    ReasoningText,
    TextDelta,
)


def script(tmp_path: Path, *lines: object) -> ScriptModel:
    file = tmp_path / "s.jsonl"
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    file.write_text(text, encoding="utf-8")
    return ScriptModel.load(file, source="demo/s.jsonl")


async def played(model: ScriptModel, *messages: Message, turn: int = 1) -> list[ModelItem]:
    return [item async for item in model.stream(ModelRequest(messages=messages, turn=turn))]


async def test_an_answer_has_reasoning_text_calls_and_usage_in_that_order(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        {
            "text": "abcde",
            "reasoning": "why",
            "calls": [
                {"name": "Read", "args": {"path": "ä"}, "id": "x"},
                {"name": "Glob", "args": "{not json"},
            ],
            "chunk": 2,
            "usage": {"input": 4, "output": 2},
        },
    )
    assert await played(model) == [
        ReasoningText(text="wh"),
        ReasoningText(text="y"),
        TextDelta(text="ab"),
        TextDelta(text="cd"),
        TextDelta(text="e"),
        CallRequested(call=ToolCall("x", "Read", '{"path": "ä"}')),
        CallRequested(call=ToolCall("call_1_2", "Glob", "{not json")),
        Answered(usage=Usage(input=4, output=2)),
    ]


@pytest.mark.req("CLI-62")
async def test_an_absent_id_is_made_of_turn_and_number(tmp_path: Path) -> None:
    calls = [{"name": "Read"}, {"name": "Read", "id": "own"}, {"name": "Read", "args": ""}]
    model = script(tmp_path, {"calls": calls})
    ids = [item.call.id for item in await played(model, turn=3) if isinstance(item, CallRequested)]
    assert ids == ["call_3_1", "own", "call_3_3"]


async def test_a_script_gives_the_same_answers_each_time_it_is_loaded(tmp_path: Path) -> None:
    lines = [{"text": "one", "calls": [{"name": "Read", "args": {"b": 1, "a": 2}}]}, {"text": "two"}]
    runs = []
    for _ in range(2):
        model = script(tmp_path, *lines)
        runs.append([await played(model), await played(model, turn=2)])
    assert runs[0] == runs[1]


@pytest.mark.req("CLI-62")
async def test_a_request_past_the_last_line_says_so(tmp_path: Path) -> None:
    model = script(tmp_path, {"text": "one"}, "", {"text": "two"})
    await played(model)
    await played(model)
    with pytest.raises(ModelError) as caught:
        await played(model)
    assert str(caught.value) == "the script demo/s.jsonl has 2 answers and none for request 3"
    assert not caught.value.transient


@pytest.mark.req("CLI-62")
async def test_a_condition_that_does_not_hold_says_so_and_stays_the_next_one(tmp_path: Path) -> None:
    model = script(tmp_path, {"text": "one", "when": "two books"})
    wrong: Sequence[Sequence[Message]] = (
        (),
        (UserMessage(text="two books"), UserMessage(text="three books")),
        (ToolMessage(results=(ToolResult("a", "two"), ToolResult("b", "books"))),),
    )
    for messages in wrong:
        with pytest.raises(ModelError) as caught:
            await played(model, *messages)
        assert str(caught.value) == (
            "answer 1 of the script demo/s.jsonl waits for 'two books', which the last message does not hold"
        )
        assert not caught.value.transient
    assert len(await played(model, UserMessage(text="here: two books"))) == 2


@pytest.mark.parametrize(
    "message",
    [
        UserMessage(text="a needle"),
        SummaryMessage(text="a needle"),
        AssistantMessage(text="a needle"),
        ToolMessage(results=(ToolResult("a", "x"), ToolResult("b", "a needle", True))),
    ],
)
async def test_a_condition_looks_at_the_last_message_whoever_says_it(tmp_path: Path, message: Message) -> None:
    model = script(tmp_path, {"text": "found", "when": "needle"})
    assert await played(model, UserMessage(text="hay"), message) == [TextDelta(text="found"), Answered()]


async def test_an_error_comes_after_the_text_and_another_try_gets_the_next_line(tmp_path: Path) -> None:
    error = {"status": 529, "retry_after_s": 0.5, "message": "too much"}
    model = script(tmp_path, {"text": "Let", "error": error}, {"error": {"status": 400}}, {"text": "Hi"})
    with pytest.raises(ModelError) as caught:
        await played(model)
    assert (str(caught.value), caught.value.transient) == ("too much", True)
    assert (caught.value.status, caught.value.retry_after_s) == (529, 0.5)
    with pytest.raises(ModelError) as caught:
        await played(model)
    assert (str(caught.value), caught.value.transient) == ("the script answers with status 400", False)
    assert await played(model) == [TextDelta(text="Hi"), Answered()]


@pytest.mark.req("DSP-18")
async def test_a_break_gives_the_calls_before_the_last_and_then_fails(tmp_path: Path) -> None:
    model = script(tmp_path, {"calls": [{"name": "Read"}, {"name": "Write"}], "break": True})
    stream = model.stream(ModelRequest())
    assert await anext(stream) == CallRequested(call=ToolCall("call_1_1", "Read", "{}"))
    with pytest.raises(ModelError, match="inside a call of 'Write'") as caught:
        await anext(stream)
    assert caught.value.transient


async def test_a_delay_can_be_cancelled(tmp_path: Path) -> None:
    model = script(tmp_path, {"text": "late", "delay_ms": 3_600_000})
    with anyio.move_on_after(0) as scope:
        await played(model)
    assert scope.cancelled_caught


async def test_a_short_delay_only_delays(tmp_path: Path) -> None:
    assert await played(script(tmp_path, {"text": "late", "delay_ms": 0.5})) == [
        TextDelta(text="late"),
        Answered(),
    ]


@pytest.mark.req("CLI-62")
@pytest.mark.parametrize(
    ("line", "key", "message"),
    [
        ({"txt": "a"}, "txt", "unknown key; did you mean 'text'?"),
        ({"zzz": 1}, "zzz", "unknown key; known keys are text, reasoning, calls"),
        ({"text": 7}, "text", "expected text, got a number"),
        ({"reasoning": None}, "reasoning", "expected text, got null"),
        ({"calls": {}}, "calls", "expected a list, got an object"),
        ({"calls": ["Read"]}, "calls[0]", "expected an object, got text"),
        ({"calls": [{"name": "a"}, {"args": {}}]}, "calls[1].name", "is missing"),
        ({"calls": [{"name": 1}]}, "calls[0].name", "expected text, got a number"),
        (
            {"calls": [{"name": "a", "args": []}]},
            "calls[0].args",
            "expected an object or raw text, got a list",
        ),
        ({"calls": [{"name": "a", "argz": {}}]}, "calls[0].argz", "did you mean 'args'?"),
        ({"chunk": 0}, "chunk", "expected a whole number from 1, got 0"),
        ({"chunk": 1.5}, "chunk", "expected a whole number from 1, got 1.5"),
        ({"chunk": True}, "chunk", "expected a whole number from 1, got a truth value"),
        ({"delay_ms": -1}, "delay_ms", "expected a number from 0, got -1"),
        ({"delay_ms": "1"}, "delay_ms", "expected a number from 0, got text"),
        ({"usage": 5}, "usage", "expected an object, got a number"),
        ({"usage": {"inputs": 5}}, "usage.inputs", "did you mean 'input'?"),
        ({"usage": {"output": 0.5}}, "usage.output", "expected a whole number from 0, got 0.5"),
        ({"when": []}, "when", "expected text, got a list"),
        ({"error": {}}, "error.status", "is missing"),
        ({"error": {"status": 7}}, "error.status", "expected a whole number from 100, got 7"),
        ({"error": {"status": 500, "message": 1}}, "error.message", "expected text, got a number"),
        ({"break": False}, "break", "is given as true or left out"),
        ({"break": True}, "break", "there is no call"),
        ({"break": True, "calls": [{"name": "a"}], "error": {"status": 500}}, "break", "one way"),
    ],
)
async def test_a_wrong_key_is_told_with_file_line_and_key(tmp_path: Path, line: object, key: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        script(tmp_path, {"text": "fine"}, "", line)
    error = caught.value
    assert (error.source, error.line, error.key) == ("demo/s.jsonl", 3, key)
    assert str(error).startswith(f"demo/s.jsonl:3: {key}: ")
    assert message in error.reason


@pytest.mark.req("CLI-62")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "column 2"),
        ("[]", "an answer is an object, not a list"),
        ('"text"', "an answer is an object, not text"),
        ('{"delay_ms": NaN}', "NaN is not JSON"),
        ('{"text": "a", "text": "b"}', "the key 'text' occurs twice"),
        ("[" * 200_000, "nested too deeply"),
        ('{"delay_ms": ' + "1" * 5000 + "}", "digits"),
    ],
)
async def test_a_line_that_is_no_answer_is_told_with_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        script(tmp_path, {"text": "fine"}, line)
    assert (caught.value.source, caught.value.line) == ("demo/s.jsonl", 2)


async def test_a_script_that_cannot_be_read_is_told_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^none\.jsonl: the script cannot be read: No such file"):
        ScriptModel.load(tmp_path / "none.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"text": "\xe4"}')
    with pytest.raises(ConfigError, match=r"^latin\.jsonl: the script is not UTF-8 text"):
        ScriptModel.load(tmp_path / "latin.jsonl")


async def test_the_name_is_what_settings_say_and_capabilities_are_given(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text("", encoding="utf-8")
    takes = Capabilities(images=True)
    model = ScriptModel.load(file, source="./s.jsonl", capabilities=takes)
    assert (model.name, model.capabilities) == ("scripted:./s.jsonl", takes)
    assert script(tmp_path).capabilities == Capabilities()
    with pytest.raises(ModelError, match="has 0 answers and none for request 1"):
        await played(model)


async def test_two_readers_at_once_get_different_answers(tmp_path: Path) -> None:
    model = script(tmp_path, {"text": "one"}, {"text": "two"})
    streams: list[AsyncIterator[ModelItem]] = [model.stream(ModelRequest()), model.stream(ModelRequest())]
    assert [await anext(stream) for stream in streams] == [TextDelta(text="one"), TextDelta(text="two")]


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "great"])
def test_a_script_is_a_regular_file_of_limited_size(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path("/dev/zero") if kind == "device" else tmp_path / "script"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "great":
        file.write_text('{"text": "x"}')
        monkeypatch.setattr("hilt.adapters.model_scripted.SCRIPT_MAX_BYTES", 5)
    said = {"great": "has 13 bytes, at most 5", "folder": "cannot be read"}.get(kind, "is no regular file")
    with pytest.raises(ConfigError, match=said):
        ScriptModel.load(file)
