"""An agent in a process of its own: `peer_child.py SETTINGS`, a JSON object with folder, state, listen and peers.

Says `ready`, then runs one turn for each line that it reads, a JSON array of calls, and prints what came of it:
`{"results": [text of each result], "read": [each notice that the model was given so far]}`.
"""

import json
import sys

import anyio
from anyio import to_thread

from hilt.app.build import build
from hilt.app.config import Config
from hilt.app.settings import CommsSettings, PeerSettings
from hilt.core.event import ToolSettled
from hilt.core.host_rules import allow
from hilt.core.session import UserMessage
from hilt.testing import ScriptedModel


async def main(text: str) -> None:
    given = json.loads(text)
    peers = tuple(PeerSettings(**peer) for peer in given["peers"])
    config = Config(comms=CommsSettings(listen=given["listen"], peers=peers), state_dir=given["state"])
    model = ScriptedModel()
    async with build(
        workspace=given["folder"], config=config, model=model, rules=[allow("send_*")], enable_comms=True
    ) as app:
        session = await app.sessions.create()
        print("ready", flush=True)
        while line := await to_thread.run_sync(sys.stdin.readline):
            calls = json.loads(line)
            model.add(*([{"calls": calls}] if calls else []), {"text": "done"})
            results = [e.body.result.content async for e in session.prompt("go") if isinstance(e.body, ToolSettled)]
            messages = model.requests[-1].messages
            read = [m.text for m in messages if isinstance(m, UserMessage) and m.notice]
            print(json.dumps({"results": results, "read": read}), flush=True)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
