"""Custom tools as functions: the schema comes from the signature, the texts from the docstring.

An `async def` runs on the event loop, a plain `def` in a worker thread. They stand beside the built-in file tools.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import hilt
from hilt.core.event import ToolProgress, ToolSettled


@hilt.tool(read_only=True)
def word_count(text: str, unit: Literal["words", "lines"] = "words") -> int:
    """Count the words or lines of a text.

    Args:
        text: what to count
        unit: what counts as one
    """
    return len(text.split() if unit == "words" else text.splitlines())


@hilt.tool(name="publish")
async def publish_page(title: Annotated[str, "shown in the browser"], env: hilt.Environment) -> dict[str, str]:
    """Publish the page of this workspace. Use it once the text is final."""
    env.progress(1, total=2, text="uploading")
    return {"url": f"https://pages.example/{title.lower()}"}


async def run(folder: str) -> None:
    """Read a file with a built-in tool, count with the first function, publish with the second."""
    answers: list[dict[str, object]] = [
        {"calls": [{"name": "Read", "args": {"path": "page.txt"}}, {"name": "word_count", "args": {"text": "a b c"}}]},
        {"calls": [{"name": "publish", "args": {"title": "Home"}}]},
        {"text": "It is online."},
    ]
    async with hilt.build(
        tools=[word_count, publish_page],
        enable={"files"},
        workspace=folder,
        rules=[hilt.allow("publish(title=Home)")],
        model=hilt.ScriptedModel(answers),
    ) as app:
        print(word_count.spec.to_json())
        session = await app.sessions.create()
        async for event in session.prompt("Publish the page."):
            match event.body:
                case ToolProgress(text=text):
                    print(f"… {text}")
                case ToolSettled(tool=name, result=result):
                    print(f"{name}: {result.content.strip()}")


def main() -> None:
    """Make the workspace, run in it, and call the first function directly."""
    with TemporaryDirectory() as folder:
        Path(folder, "page.txt").write_text("a b c\n", encoding="utf-8")
        asyncio.run(run(folder))
    print(word_count("called as the function that it is"))


if __name__ == "__main__":
    main()
