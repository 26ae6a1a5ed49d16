"""Memory: what one session remembers another finds, a change needs the current version, and earlier turns are searched.

The memory of a project lies in the user's own folder, or in that of the store, never in the workspace.
"""

import asyncio
import json
from collections.abc import Mapping
from tempfile import TemporaryDirectory

import hilt
from hilt.ports.model import Capabilities, ModelRequest


def answer(request: ModelRequest) -> Mapping[str, object]:
    """Answer shortly; asked for a summary of what no longer fits, give one."""
    return {"text": "We spoke of numbers." if "<conversation>" in str(request.messages[-1]) else "I see."}


async def main(folder: str) -> None:
    """Remember in one application, recall in the next, and fill a small window until turns give way."""
    store = f"jsonl:{folder}/sessions"
    async with hilt.build(workspace=folder, store=store, enable_memory=True) as app:
        session = await app.sessions.create()
        note = {"key": "build/test-command", "value": "pytest -q", "description": "How to run the tests"}
        await session.call_tool("Remember", json.dumps(note))

    model = hilt.ScriptedModel([answer] * 40, capabilities=Capabilities(window_tokens=20_000))
    async with hilt.build(workspace=folder, store=store, enable_memory=True, model=model) as app:
        session = await app.sessions.create()
        print(inside((await session.call_tool("SearchMemory", '{"query": "tests"}')).content))
        print(inside((await session.call_tool("Recall", '{"key": "build/test-command"}')).content))
        stale = json.dumps({**note, "value": "nox", "expected_version": "2"})
        refused = json.loads((await session.call_tool("Remember", stale)).content)
        print(refused["message"])

        for said in ("the magic number is 4711", *["and so on " * 1000] * 8):
            async for _ in session.prompt(said):
                pass
        (found, *_) = json.loads((await session.call_tool("memory_search", '{"query": "magic"}')).content)
        print("earlier:", inside(found["content"]).partition("user: ")[2])


def inside(content: str) -> str:
    """Return what stands between the marks that frame it as data."""
    return "\n".join(content.splitlines()[3:-1])


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        asyncio.run(main(place))
