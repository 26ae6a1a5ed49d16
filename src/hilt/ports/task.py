"""Where the tasks of a workspace, or of one session, are kept."""

from collections.abc import Sequence
from typing import Protocol

from hilt.core.task import NewTask, Status, Task, TaskChange


class TaskStore(Protocol):
    """One list of tasks. Each change is one step: of changes at the same time none is lost.

    Every method raises `ToolError` where the list cannot be read or written.
    """

    async def create(self, new: NewTask, *, session: str) -> Task:
        """Add a task and return it, with an id that is later than all before it.

        Raises:
            ToolError: A link goes to no task or makes a cycle, or the list is full of open tasks.
        """
        ...

    async def get(self, id_: str) -> Task:
        """Return a task.

        Raises:
            ToolError: There is none of this id.
        """
        ...

    async def tasks(self, *, status: Status | None = None, labels: Sequence[str] = ()) -> Sequence[Task]:
        """Return the tasks of a status that have any of the labels, oldest first; nothing given chooses all."""
        ...

    async def update(self, id_: str, change: TaskChange, *, session: str) -> Task:
        """Change a task and return it as it is then.

        Raises:
            ToolError: There is none of this id, or a link goes to no task or makes a cycle.
        """
        ...
