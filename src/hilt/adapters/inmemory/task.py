"""A list of tasks in memory: that of a session without files, and of a child agent."""

from collections.abc import Sequence

from hilt.core.task import Book, NewTask, Status, Task, TaskChange, Touch, added, changed, chosen, found
from hilt.ports.clock import Clock


class MemoryTasks:
    """Keeps tasks as long as it lives; see `TaskStore`."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._book: Book = {}

    async def create(self, new: NewTask, *, session: str) -> Task:
        """See `TaskStore.create`."""
        id_ = self._clock.new_id()
        self._book = added(self._book, id_, new, self._touch(session))
        return self._book[id_]

    async def get(self, id_: str) -> Task:
        """See `TaskStore.get`."""
        return found(self._book, id_)

    async def tasks(self, *, status: Status | None = None, labels: Sequence[str] = ()) -> Sequence[Task]:
        """See `TaskStore.tasks`."""
        return chosen(self._book, status=status, labels=labels)

    async def update(self, id_: str, change: TaskChange, *, session: str) -> Task:
        """See `TaskStore.update`."""
        self._book = changed(self._book, id_, change, self._touch(session))
        return self._book[id_]

    def _touch(self, session: str) -> Touch:
        return Touch(session=session, at=self._clock.now().isoformat())
