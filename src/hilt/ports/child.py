"""Child agents of one session."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hilt.core.child import Child, ChildOrder
from hilt.core.session import Message

Progress = Callable[[int, str], None]
Begun = Callable[[Child], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The messages of a child; a fork's begin with the `inherited` ones of its parent."""

    child: Child
    messages: Sequence[Message]


class ChildAgents(Protocol):
    """The child agents of one session: those that run, and the last 256 that ended.

    At most `places` run at once. A child passes through the same funnel as its session's agent, with the same rules,
    mode, hooks and approver, and never has the tools of `agents` and `delegation`.
    """

    @property
    def places(self) -> int:
        """How many children may run at once."""
        ...

    def together(self, *, max_tokens: int | None) -> "ChildAgents":
        """Return the same children, where those that are started through it spend at most `max_tokens` together.

        Raises:
            ToolError: The session is closed.
        """
        ...

    async def start(self, order: ChildOrder) -> Child:
        """Start a child in the background and return it at once; the model is told of its end by one notice.

        Raises:
            ToolError: The order cannot be carried out, or every place is taken.
        """
        ...

    async def run(self, order: ChildOrder, *, progress: Progress | None = None, begun: Begun | None = None) -> Child:
        """Run a child and return it when it has ended, however it did; a caller who is cancelled ends it.

        `progress` is told of each call that it makes: how many so far, and the tool. `begun` is told of the child as
        soon as it has a place and runs.

        Raises:
            ToolError: The order cannot be carried out, or every place is taken and it does not wait.
        """
        ...

    def children(self) -> Sequence[Child]:
        """Return all children, in the order in which they were started."""
        ...

    async def report(self, id_: str, *, wait_s: float = 0.0) -> Child:
        """Return a child, as soon as it has ended or after `wait_s` seconds.

        Raises:
            ToolError: No child has this id.
        """
        ...

    async def cancel(self, id_: str) -> tuple[Child, Child]:
        """End a child and return it as it was and as it is; one that had ended stays as it is.

        From then on it sends no model request and starts no tool.

        Raises:
            ToolError: No child has this id.
        """
        ...

    def transcript(self, id_: str) -> Transcript:
        """Return what a child and its model said to each other.

        Raises:
            ToolError: No child has this id.
        """
        ...
