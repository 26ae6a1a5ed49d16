"""Permissions in a file: the rules of `settings.yaml` decide over a session's calls, as they do for the command line.

Shows `config`, read as `hilt` itself reads files, variables and flags, and a session that narrows what it may use.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import hilt
from hilt.app.flags import Flags
from hilt.app.load import load_config
from hilt.core.event import ToolSettled

SETTINGS = Path(__file__).with_name("settings.yaml")


def write(path: str) -> dict[str, object]:
    """Return a call that writes a file."""
    return {"name": "Write", "args": {"path": path, "content": "draft\n"}}


async def main() -> None:
    """Write into three folders: one is allowed, one asked for, one denied, each by the rule that is told."""
    calls = [write("notes/today.md"), write("docs/guide.md"), write("secrets/key.md")]
    remove = {"name": "Remove", "args": {"path": "notes/today.md"}}
    with TemporaryDirectory() as folder:
        config = load_config(Flags(permission_config=(str(SETTINGS),)), environment={"HOME": folder}, cwd=Path(folder))
        model = hilt.ScriptedModel([{"calls": [*calls, remove]}, {"text": "done"}])
        async with hilt.build(config=config, model=model) as app:
            session = await app.sessions.create(
                title="notes of today",
                system_prompt="You keep notes.",
                tools=hilt.ToolFilter(deny=("Copy", "Move")),
                limits={"max_tool_calls": 10},
            )
            print("sees", ", ".join(spec.name for spec in session.specs()))
            async for event in session.prompt("Keep a note of today."):
                if isinstance(event.body, ToolSettled):
                    print(event.body.result.content)


if __name__ == "__main__":
    asyncio.run(main())
