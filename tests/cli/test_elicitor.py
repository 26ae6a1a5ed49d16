"""A server's question at the terminal: fields with their types, an address, and every way not to answer."""

import sys
from collections.abc import Mapping

import anyio
import pytest

from hilt.cli.elicitor import TerminalElicitor, value_of
from hilt.cli.flags import Invocation
from hilt.cli.output import Paint
from hilt.cli.reading import Interrupted
from hilt.ports.elicitation import ElicitAnswer, Elicitation
from tests.cli.kit import Hilt

PLAIN = Paint(Invocation(color=False), {})
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "as\x1b[31m others say it"},
        "age": {"type": "integer"},
        "size": {"type": "string", "enum": ["S", "M"], "default": "M"},
        "fast": {"type": "boolean"},
        "weight": {"type": "number"},
        "days": {"type": "array", "items": {"anyOf": [{"const": "mon", "title": "Monday"}, {"const": "tue"}]}},
    },
    "required": ["name", "age"],
}
SERVER = """
from typing import Annotated

from pydantic import BaseModel

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve

server = MCPServer("asking")


class Who(BaseModel):
    name: str
    age: int = 30


async def ask() -> Elicit[Who]:
    return Elicit("Who are you?", Who)


@server.tool()
async def greet(who: Annotated[Who, Resolve(ask)]) -> str:
    return f"hello {who}"


server.run()
"""


class Typed:
    """A person who types these lines and then leaves; None stands for Ctrl-C."""

    def __init__(self, *lines: str | None) -> None:
        self.lines = list(lines)
        self.prompts: list[str] = []
        self.dropped = 0

    def drop_typed_ahead(self) -> None:
        self.dropped += 1

    async def line(self, prompt: str) -> str | None:
        self.prompts.append(prompt)
        if not self.lines:
            return None
        given = self.lines.pop(0)
        if given is None:
            raise Interrupted
        return given


async def answered(
    *lines: str | None, schema: Mapping[str, object] | None = None, url: str = "", problem: str = ""
) -> tuple[ElicitAnswer, Typed]:
    reader = Typed(*lines)
    elicitor = TerminalElicitor(reader, PLAIN, interrupt=lambda: False, turns=anyio.Lock())
    asked = Elicitation(server="far", message="Hello\x07\nthere", schema=schema or {}, url=url, problem=problem)
    return await elicitor.elicit(asked), reader


async def test_a_form_is_filled_in_field_by_field(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["what", "a", "", "Ann", "old", "41", "L", "", "maybe", "yes", "heavy", "70.5", "wed", "mon, tue"]
    answer, reader = await answered(*lines, schema=SCHEMA, problem="age: too small")
    content = {"name": "Ann", "age": 41, "fast": True, "weight": 70.5, "days": ["mon", "tue"]}
    assert answer == ElicitAnswer(action="accept", content=content)
    fields = [prompt.strip() for prompt in dict.fromkeys(reader.prompts[2:])]
    assert fields == [
        "name: Your name as[31m others say it (string) >",
        "age (integer) >",
        "size (one of S, M; default M) >",
        "fast (yes or no; may be left out) >",
        "weight (number; may be left out) >",
        "days (any of mon, tue; may be left out) >",
    ]
    said = capsys.readouterr().out
    assert said.startswith("? the server far asks you; it is sent what you type\n    Hello\n    there\n")
    for told in (
        "that did not fit: age: too small",
        "please answer with one of the letters",
        "it is required",
        "please type a whole number",
        "'L' is none of them",
        "please type yes or no",
        "please type a number",
        "'wed' is none of them; separate several by commas",
    ):
        assert f"  {told}\n" in said


async def test_what_may_be_left_out_is_left_out() -> None:
    answer, _ = await answered("answer", "Ann", "41", "", "", "", "", schema=SCHEMA)
    assert answer.content == {"name": "Ann", "age": 41}


@pytest.mark.req("MCP-74")
async def test_an_address_is_shown_whole_and_opened_by_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    url = "https://example.com/" + "x" * 300
    answer, _ = await answered("yes", url=url)
    assert answer == ElicitAnswer(action="accept")
    assert f"    {url}\n" in capsys.readouterr().out
    assert (await answered("d", url=url))[0] == ElicitAnswer(action="decline")


async def test_who_declines_or_leaves_gives_no_content() -> None:
    assert (await answered("d", schema=SCHEMA))[0] == ElicitAnswer(action="decline")
    assert (await answered("a", "Ann", schema=SCHEMA))[0] == ElicitAnswer(action="cancel")
    assert (await answered("a", None, schema=SCHEMA))[0] == ElicitAnswer(action="cancel")


async def test_ctrl_c_cancels_the_run() -> None:
    pressed = anyio.Event()

    def interrupt() -> bool:
        pressed.set()
        return True

    elicitor = TerminalElicitor(Typed(None), PLAIN, interrupt=interrupt, turns=anyio.Lock())
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(elicitor.elicit, Elicitation(server="far", message="", schema=SCHEMA))
            await pressed.wait()
            tasks.cancel_scope.cancel()


async def test_questions_that_come_at_once_are_put_one_after_another() -> None:
    turns, shown = anyio.Lock(), list[str]()

    class Slow:
        def drop_typed_ahead(self) -> None:
            shown.append("drop")

        async def line(self, prompt: str) -> str:
            shown.append("in")
            await anyio.lowlevel.checkpoint()
            shown.append("out")
            return "d"

    elicitor = TerminalElicitor(Slow(), PLAIN, interrupt=lambda: False, turns=turns)
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(elicitor.elicit, Elicitation(server="far", message="", schema=SCHEMA))
    assert shown == ["drop", "in", "out"] * 3


def test_fields_of_a_schema_that_is_none_take_text() -> None:
    assert value_of("x", {}) == "x"
    assert value_of("a,b", {"type": "array", "items": "x"}) == ["a", "b"]
    assert value_of("b", {"type": "string", "oneOf": [{"const": "b"}, "c"]}) == "b"
    with pytest.raises(ValueError, match="none of them"):
        value_of("c", {"type": "string", "oneOf": [{"const": "b"}, "c"]})


@pytest.mark.req("MCP-73")
def test_a_server_asks_the_person_of_the_chat_and_gets_the_answer(hilt: Hilt) -> None:
    hilt.machine.file("asking.py", SERVER)
    assert hilt("mcp", "add", "asking", "--", sys.executable, "asking.py").code == 0
    model = hilt.script({"calls": [{"name": "mcp__asking__greet", "args": {}, "id": "c1"}]}, {"text": "done"})
    ran = hilt.really("chat", "--model", model, "--allow", "mcp__asking__greet", stdin="go\na\nAnn\nx\n41\n")
    assert ran.code == 0
    assert "? the server asking asks you" in ran.out
    assert "please type a whole number" in ran.out
    assert "✓ mcp__asking__greet" in ran.out
    stored = list((hilt.machine.home / ".local" / "state" / "hilt").rglob("*.tools.jsonl"))
    assert "hello name='Ann' age=41" in stored[0].read_text()
    alone = hilt.really("run", "go", "--model", model, "--allow", "mcp__asking__greet")
    assert "asks you" not in alone.out + alone.err
