"""The function, called in a loop: what no dispatch at all costs."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from bench.peers import Call, Function, Run


@asynccontextmanager
async def turner(function: Function) -> AsyncIterator[Run]:
    """Yield a run that calls the function."""

    async def run(calls: Sequence[Call]) -> str:
        for call in calls:
            returned = function(**call.arguments)
            if not isinstance(returned, str):
                await returned
        return "done"

    yield run
