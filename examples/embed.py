"""Embedding the engine: sessions that a host creates, whose asks its own users answer, stored as JSON lines.

A web service would send each event to its client and call `approve` when the client's answer comes in.
"""

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import hilt
from hilt.core.event import AskOpened, ToolSettled


async def main(folder: str) -> None:
    """Let a session write two files; the user allows the first and denies the second."""
    write: list[dict[str, object]] = [
        {"name": "Write", "args": {"path": name, "content": "hello\n"}} for name in ("hello.txt", "other.txt")
    ]
    model = hilt.ScriptedModel([{"calls": write}, {"text": "One of two is written."}], name="scripted:demo")
    kinds: list[str] = []
    async with hilt.build(
        workspace=folder,
        store=f"jsonl:{folder}/.store",
        enable={"files"},
        enable_shell=True,
        model=model,
        approver=hilt.VIA_SESSION,
        on_event=lambda event: kinds.append(event.body.kind),
    ) as app:
        session = await app.sessions.create(
            id="visit-1", title="First visit", mode="default", model="scripted:demo", enable=["files"]
        )
        verdicts = iter([("allow_once", ""), ("deny", "one is enough")])
        async for event in session.prompt("Say hello in two files."):
            match event.body:
                case AskOpened(ask_id=ask_id, tool=tool, arguments=arguments):
                    verdict, message = next(verdicts)
                    print(f"asked: {tool} {json.loads(arguments)['path']} -> {verdict}")
                    await session.approve(ask_id, verdict, message=message)
                case ToolSettled(result=result):
                    print(result.content)
                case hilt.RunResult(stop_reason=reason, final_text=text):
                    print(f"{reason}: {text}")
        await session.close()
        reopened = await app.sessions.open("visit-1")
        print(f"{reopened.record.title}: {len(reopened.record.messages)} messages, events to {kinds[-1]}")


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        asyncio.run(main(place))
        print(Path(place, "hello.txt").read_text(encoding="utf-8"), end="")
