"""A review by three child agents at the same time; the lead keeps a list of tasks and puts the findings together.

`python examples/team/review.py` runs offline, by scripts: the lead's stands here, each child has its own in `scripts/`.
`python examples/team/review.py anthropic/NAME` runs the same job with a model, with its key in the environment.
"""

import asyncio
import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import hilt
from hilt.core.event import ToolCallTaken
from hilt.core.session import ToolMessage
from hilt.ports.model import ModelRequest

HERE = Path(__file__).resolve().parent
SIDES = ("correctness", "documentation", "safety")
JOB = (
    f"Review this repository for {', '.join(SIDES)}. Create a task for each of the three. Then hand each to a Subagent "
    "that only reads, all three in one answer. Set each task to completed with what was found as its description, "
    "list the tasks, and end with one line for each finding."
)


def lead(request: ModelRequest) -> Mapping[str, object]:
    """Give the lead's next answer, by what its last calls returned."""
    results = [message for message in request.messages if isinstance(message, ToolMessage)]
    texts = [[one.content for one in message.results] for message in results]
    if not texts:
        return calls("task_create", [{"subject": side, "labels": ["review"]} for side in SIDES])
    if len(texts) == 1:
        scripts = [f"scripted:{HERE / 'scripts' / side}.jsonl" for side in SIDES]
        asked = [f"Review this repository for {side}. One line for each finding." for side in SIDES]
        return calls("Subagent", [{"prompt": p, "model": m} for p, m in zip(asked, scripts, strict=True)])
    found = [text.partition("\n\nagent_id: ")[0] for text in texts[1]]
    if len(texts) == 2:
        ids = [json.loads(text)["id"] for text in texts[0]]
        done = [{"id": id_, "status": "completed", "description": text} for id_, text in zip(ids, found, strict=True)]
        return calls("task_update", done)
    if len(texts) == 3:
        return calls("task_list", [{"status": "completed"}])
    return {"text": "\n".join(f"- {text}" for text in found)}


def calls(name: str, arguments: list[dict[str, object]]) -> Mapping[str, object]:
    """Return an answer that calls one tool several times."""
    return {"calls": [{"name": name, "args": args} for args in arguments]}


def shown(result: hilt.ToolResult) -> str:
    """Return one line on a result."""
    if not result.content.startswith(("{", "[")):
        return result.content.partition("\n")[0]
    body: object = json.loads(result.content)
    if isinstance(body, list):
        return f"{len(body)} tasks"
    return f"{body['subject']}: {body['status']}" if isinstance(body, dict) and "subject" in body else result.content


async def main(folder: str, model: str | hilt.Model) -> None:
    """Let the lead work in a copy of the shop, and print what it and the children did."""
    config = hilt.load_config() if isinstance(model, str) else None
    async with hilt.build(
        config=config, workspace=folder, model=model, enable={"files.read", "tasks", "delegation"}
    ) as app:
        session = await app.sessions.create()
        tools: dict[str, str] = {}
        used: dict[str, list[str]] = {}
        async for event in session.prompt(JOB):
            match event.body:
                case ToolCallTaken(call_id=id_, tool=tool):
                    tools[id_] = tool
                case hilt.ToolProgress(call_id=id_, text=text):
                    used.setdefault(id_, []).append(text)
                case hilt.ToolSettled(result=result):
                    by = used.get(result.call_id, ())
                    print(f"{tools[result.call_id]:12} {shown(result)}", *(f"\n{'':14}{text}" for text in by), sep="")
                case hilt.RunResult(final_text=text, error=error):
                    print(text or error)


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        shop = shutil.copytree(HERE / "shop", Path(place, "shop"))
        asyncio.run(main(str(shop), sys.argv[1] if len(sys.argv) > 1 else hilt.ScriptedModel([lead] * 9)))
