"""A place for work that runs beside its owner, for as long as the owner stays in it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.abc


@asynccontextmanager
async def background_tasks() -> AsyncIterator[anyio.abc.TaskGroup]:
    """Give a task group for connections; at the end what still runs in it is cancelled.

    An error of the owner comes out as it is, not in an exception group.
    """
    error: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        except Exception as exc:
            # Raised again below, outside of the group that would wrap it.
            error = exc
        tasks.cancel_scope.cancel()
    if error is not None:
        raise error
