"""A shared list of tasks: one session plans, another works through the plan. The list lies in `.hilt/tasks.json`."""

import asyncio
import json
from tempfile import TemporaryDirectory

import hilt
from hilt.core.event import ToolSettled


async def main(folder: str) -> None:
    """Plan two tasks, of which one waits for the other; then do the first."""
    model = hilt.ScriptedModel()
    async with hilt.build(workspace=folder, enable_builtins=True, model=model) as app:
        planner = await app.sessions.create(id="planner")
        worker = await app.sessions.create(id="worker")

        async def turn(session: hilt.Session, name: str, **args: object) -> dict[str, object]:
            """Let the model make one call and return its result."""
            model.add({"calls": [{"name": name, "args": args}]}, {"text": "Done."})
            made = [event.body.result async for event in session.prompt("go") if isinstance(event.body, ToolSettled)]
            body: dict[str, object] = json.loads(made[0].content)
            return body

        sand = await turn(planner, "task_create", subject="Sand the boards", priority="high")
        paint = await turn(planner, "task_create", subject="Paint the boards", blocked_by=[sand["id"]])
        done = await turn(worker, "task_update", id=sand["id"], status="completed")
        print(f"{done['subject']}: {done['status']} by {done['updated_by_session']}")
        print(f"{paint['subject']}: {paint['status']}, waits for {len(str(paint['blocked_by']).split(','))}")
        wrong = await turn(worker, "task_update", id=sand["id"], add_blocked_by=[paint["id"]])
        print(wrong["error"])


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        asyncio.run(main(place))
