"""hilt as an application runs it: a stored session, with its event log and checkpoints beside rules, hook and audit."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from tempfile import TemporaryDirectory

import hilt
from bench.peers import Call, Function, Run
from bench.peers.hilt_agent import RULES, OneTurn, look


class Switched(OneTurn):
    """The one model of the application; each run puts its calls in."""

    def set(self, calls: Sequence[Call]) -> None:
        """Answer with these calls from now on."""
        self._calls = calls


@asynccontextmanager
async def turner(function: Function) -> AsyncIterator[Run]:
    """Yield a run that reads every event of a prompt of a new session."""
    model = Switched(())
    with TemporaryDirectory() as folder:
        async with hilt.build(
            tools=[hilt.tool(read_only=True)(function)],
            store=f"jsonl:{folder}",
            model=model,
            rules=RULES,
            hooks=[look],
        ) as app:

            async def run(calls: Sequence[Call]) -> str:
                model.set(calls)
                session = await app.sessions.create()
                last = None
                async for event in session.prompt("go"):
                    last = event.body
                return last.final_text if isinstance(last, hilt.RunResult) else ""

            yield run
