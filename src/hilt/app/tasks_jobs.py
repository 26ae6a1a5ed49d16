"""What each session has of its own for the categories tasks and shell: a list of tasks, and later its jobs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hilt.adapters.inmemory.task import MemoryTasks
from hilt.adapters.task_file import TaskFile
from hilt.app.catalog import NO_FILES_PROFILE
from hilt.core.session import SessionRecord
from hilt.ports.clock import Clock
from hilt.ports.task import TaskStore


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnServices:
    """What was made for one session."""

    services: Mapping[type, object] = field(default_factory=dict)


class SessionServices:
    """Makes them. Sessions with files share the list of the workspace; each without has one of its own."""

    def __init__(self, root: str, *, clock: Clock) -> None:
        self._clock = clock
        self._tasks = TaskFile(root, clock=clock)

    def own(self, record: SessionRecord) -> OwnServices:
        """Return what a session gets."""
        no_files = record.profile == NO_FILES_PROFILE
        tasks: TaskStore = MemoryTasks(clock=self._clock) if no_files else self._tasks
        return OwnServices(services={TaskStore: tasks})
