"""Child agents: one whose answer must be JSON, and one in the background, whose end is told at the next turn."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import hilt
from hilt.core.event import Notice, ToolSettled
from hilt.core.session import AssistantMessage, UserMessage
from hilt.ports.model import ModelRequest

COUNT = {"type": "object", "properties": {"files": {"type": "integer"}}, "required": ["files"]}

ANSWERS: Mapping[str, list[dict[str, object]]] = {
    "How many texts are there?": [
        {"calls": [{"name": "Subagent", "args": {"prompt": "Count the texts.", "output_schema": COUNT}}]},
        {"text": "One."},
    ],
    "Count the texts.": [
        {"calls": [{"name": "Glob", "args": {"pattern": "*.txt"}}]},
        {"text": "There is one."},  # no JSON: it is sent back
        {"text": '{"files": 1}'},
    ],
    "Have another one written.": [
        {"calls": [{"name": "agent_spawn", "args": {"prompt": "Write b.txt.", "budget": {"max_turns": 5}}}]},
        {"text": "It is being written."},
    ],
    "Write b.txt.": [
        {"calls": [{"name": "Write", "args": {"path": "b.txt", "content": "two\n"}}]},
        {"text": "I may not write."},
    ],
    "Is it there?": [{"text": "No."}],
}


def play(request: ModelRequest) -> Mapping[str, object]:
    """Answer every agent by the last prompt that it has."""
    prompts = [at for at, one in enumerate(request.messages) if isinstance(one, UserMessage) and not one.notice]
    since = request.messages[prompts[-1] :]
    answers = ANSWERS[getattr(since[0], "text", "")]
    return answers[sum(isinstance(one, AssistantMessage) for one in since)]


def shown(content: str) -> str:
    """Return the line of a result that says most."""
    body: object = json.loads(content) if content.endswith("}") else None
    return str(body["message"]) if isinstance(body, dict) else content.partition("\n")[0]


async def main(folder: str) -> None:
    """Ask three things; the rule against Write holds for children too."""
    model = hilt.ScriptedModel([play] * 20)
    rules = [hilt.allow("agent_spawn"), hilt.deny("Write")]
    async with hilt.build(
        workspace=folder, enable={"files", "delegation"}, enable_subagents=True, model=model, rules=rules
    ) as app:
        session = await app.sessions.create()
        ended = asyncio.Event()

        def watch(event: hilt.Event) -> None:
            """Note that a child has ended."""
            if isinstance(event.body, Notice) and event.body.topic == "child_ended":
                ended.set()

        session.subscribe(watch)
        for prompt in ("How many texts are there?", "Have another one written.", "Is it there?"):
            print(prompt)
            ended.clear()
            async for event in session.prompt(prompt):
                if isinstance(event.body, ToolSettled):
                    print("  " + shown(event.body.result.content))
            if prompt.startswith("Have"):
                await ended.wait()
        told = [one.text for one in session.record.messages if isinstance(one, UserMessage) and one.notice]
        print(*(text.partition(",")[0] for text in told), sep="\n")


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        Path(place, "a.txt").write_text("one\n")
        asyncio.run(main(place))
        print(*sorted(path.name for path in Path(place).glob("*.txt")))
