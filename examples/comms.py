"""Two agents of one process that are each other's peers: one asks, the other answers."""

import asyncio
import json
from collections.abc import Mapping
from tempfile import TemporaryDirectory

import hilt
from hilt.core.event import ToolSettled
from hilt.core.session import UserMessage


def config(peer: str, key: hilt.PeerKeys) -> hilt.Config:
    """Return the settings of an agent with one peer in this process; `address=` names one of another process."""
    return hilt.Config(comms=hilt.CommsSettings(peers=(hilt.PeerSettings(name=peer, key=key.id),)))


async def turn(session: hilt.Session, model: hilt.ScriptedModel, name: str, **args: object) -> Mapping[str, object]:
    """Let the model make one call and return its result."""
    model.add({"calls": [{"name": name, "args": args}]}, {"text": "Done."})
    made = [event.body.result async for event in session.prompt("go") if isinstance(event.body, ToolSettled)]
    body: dict[str, object] = json.loads(made[0].content)
    return body


def read(model: hilt.ScriptedModel) -> str:
    """Return what a peer wrote, as the model read it between the marks of the last notice."""
    texts = [message.text for message in model.requests[-1].messages if isinstance(message, UserMessage)]
    inside = texts[-1].partition("<peer ")[2].partition("</peer ")[0]
    return ", ".join(inside.splitlines()[1:])


async def main(folder: str) -> None:
    """Send a request and its response."""
    keys = {"planner": hilt.PeerKey.new(), "builder": hilt.PeerKey.new()}
    models = {name: hilt.ScriptedModel() for name in keys}
    async with (
        hilt.build(
            workspace=folder,
            config=config("builder", keys["builder"]),
            services={hilt.PeerKeys: keys["planner"]},
            model=models["planner"],
            rules=[hilt.allow("send_request(builder)")],
            enable_comms=True,
        ) as planner,
        hilt.build(
            workspace=folder,
            config=config("planner", keys["planner"]),
            services={hilt.PeerKeys: keys["builder"]},
            model=models["builder"],
            rules=[hilt.allow("send_response(planner)")],
            enable_comms=True,
        ) as builder,
    ):
        plans, builds = await planner.sessions.create(), await builder.sessions.create()
        asked = await turn(plans, models["planner"], "send_request", to="builder", intent="build", params={"tag": "v1"})
        answer = {"to": "planner", "in_reply_to": asked["id"], "status": "completed", "result": {"ok": True}}
        answered = await turn(builds, models["builder"], "send_response", **answer)
        await turn(plans, models["planner"], "list_peers")
        print(f"request: {asked['status']}, response: {answered['status']}")
        print(f"builder read: {read(models['builder'])}")
        print(f"planner read: {read(models['planner'])}")


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        asyncio.run(main(place))
