"""One child agent among several of a call: it waits for a place, and however it fares the call goes on."""

from dataclasses import replace
from typing import Final

import anyio

from hilt.core.child import Child, ChildOrder
from hilt.core.errors import ToolError
from hilt.ports.child import Begun, ChildAgents, Progress

GRACE_S: Final = 5.0
"""How much longer than its own limit of time a child is waited for."""


async def attempt(
    children: ChildAgents,
    order: ChildOrder,
    *,
    within_s: float,
    progress: Progress | None = None,
    begun: Begun | None = None,
) -> Child:
    """Run a child and return how it ended; a caller who is cancelled ends it.

    One that could not start, or got no place in time, has failed and has no id. `order` says itself how long it runs.
    """
    started: list[Child] = []

    def note(child: Child) -> None:
        started.append(child)
        if begun is not None:
            begun(child)

    with anyio.move_on_after(within_s + GRACE_S):
        try:
            return await children.run(order, progress=progress, begun=note)
        except ToolError as exc:
            return unstarted(exc.reason)
    if not started:
        return unstarted(f"no place became free for it within {within_s:.0f} s")
    late = await children.report(started[0].id)
    return replace(late, state="failed", error=f"the call it worked for has {within_s:.0f} s for this, and they passed")


def unstarted(error: str) -> Child:
    """Return a child that never was."""
    return Child(id="", name="", state="failed", error=error)
