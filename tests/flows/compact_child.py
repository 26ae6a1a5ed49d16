"""A process that runs sessions, each in a fork that kills itself while a summary is stored.

`python -m tests.flows.compact_child` reads lines `FOLDER KIND NUMBER` and answers each with the fork's exit, as
`kill_child` does. NUMBER counts the operations of the store since the model was asked for the summary; past the last
one the fork ends by itself.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio

from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.store_jsonl import JsonlStore
from hilt.app.config import Config
from hilt.core.session import UserMessage
from hilt.engine.compaction import SUMMARY_PROMPT
from hilt.ports.model import Capabilities, ModelRequest
from hilt.testing import ScriptedModel
from tests.flows.compacting import WINDOW_TOKENS, answer, fill, house, say
from tests.flows.kill_child import Killer

ID = "killed"
SECRET_PLACE = "the spare key lies under the blue flowerpot"


async def session_of(folder: Path, kind: str, number: int) -> None:
    """Run until something gave way."""
    killer = Killer(kind, number)

    def watching(request: ModelRequest) -> Mapping[str, object]:
        last = request.messages[-1]
        if isinstance(last, UserMessage) and last.text.startswith(SUMMARY_PROMPT):
            killer.watch()
        return answer(request)

    model = ScriptedModel([watching] * 50, capabilities=Capabilities(window_tokens=WINDOW_TOKENS))
    folder.mkdir()
    store = JsonlStore(folder / "store", clock=FixedClock())
    async with house(folder, store=store, config=Config(state_dir=str(folder / "state")), model=model) as app:
        session = await app.sessions.create(id=ID)
        await say(session, SECRET_PLACE)
        await fill(session)


def in_fork(folder: Path, kind: str, number: int) -> int:
    """Run one session in a fork and return how it ended."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    status = 1
    try:
        anyio.run(session_of, folder, kind, number)
        status = 0
    finally:
        os._exit(status)


def main() -> None:
    """Answer the lines of standard input."""
    for line in sys.stdin:
        folder, kind, number = line.rsplit(maxsplit=2)
        print(in_fork(Path(folder), kind, int(number)), flush=True)


if __name__ == "__main__":
    main()
