"""A model that summarises when it is asked to, calls what a prompt says, and fills its window with what it hears."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import hilt
from hilt.app.application import App
from hilt.core.earlier import counted
from hilt.core.event import Event, ToolSettled
from hilt.core.session import UserMessage
from hilt.core.tool import ToolResult
from hilt.engine.compaction import SUMMARY_PROMPT
from hilt.engine.session import Session
from hilt.ports.model import Capabilities, ModelRequest
from hilt.testing import ScriptedModel

WINDOW_TOKENS = 30_000
FILL = "filling " * 2500


def answer(request: ModelRequest) -> Mapping[str, object]:
    """Answer a prompt that begins with `call ` by that call, a request for a summary by one, anything else shortly."""
    last = request.messages[-1]
    if isinstance(last, UserMessage):
        if last.text.startswith(SUMMARY_PROMPT):
            return {"text": "They talked."}
        if last.text.startswith("call "):
            _, name, args = last.text.split(" ", 2)
            return {"calls": [{"name": name, "args": json.loads(args)}]}
    return {"text": "I see."}


def model() -> ScriptedModel:
    """Return the model."""
    return ScriptedModel([answer] * 200, capabilities=Capabilities(window_tokens=WINDOW_TOKENS))


async def say(session: Session, text: str) -> list[Event]:
    """Run a prompt to its end and return what it emitted."""
    async with session.prompt(text) as run:
        return [event async for event in run]


async def use(session: Session, name: str, **args: object) -> ToolResult:
    """Let the model make one call and return its result."""
    events = await say(session, f"call {name} {json.dumps(args)}")
    (result,) = [event.body.result for event in events if isinstance(event.body, ToolSettled)]
    return result


async def fill(session: Session, *texts: str) -> int:
    """Say the texts, then fill the window until they gave way to a summary; return how many messages did."""
    for text in texts:
        await say(session, text)
    said = session.record.archived + counted(session.record.messages)
    for _ in range(20):
        await say(session, FILL)
        if session.record.archived >= said:
            return session.record.archived
    raise AssertionError("nothing gave way")


async def search(session: Session, query: str, **args: object) -> list[dict[str, object]]:
    """Return what memory_search finds; no model is asked, so that nothing gives way meanwhile."""
    result = await session.call_tool("memory_search", json.dumps({"query": query, **args}))
    assert not result.is_error, result.content
    found: list[dict[str, object]] = json.loads(result.content)
    return found


@asynccontextmanager
async def house(root: Path, **options: object) -> AsyncIterator[App]:
    """Build an application with the category `memory` and this model."""
    options.setdefault("enable", {"memory"})
    options.setdefault("model", model())
    async with hilt.build(workspace=root, **options) as app:  # type: ignore[arg-type]  # the options of build
        yield app
