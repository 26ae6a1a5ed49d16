"""What each session has of its own for the categories tasks and shell: a list of tasks, and its background jobs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from anyio.abc import TaskGroup

from hilt.adapters.inmemory.task import MemoryTasks
from hilt.adapters.task_file import TaskFile
from hilt.app.catalog import NO_FILES_PROFILE
from hilt.core.session import SessionRecord
from hilt.engine.conversation import Conversation
from hilt.engine.jobs import SessionJobs
from hilt.ports.clock import Clock
from hilt.ports.job import ShellJobs
from hilt.ports.runner import CommandStarter
from hilt.ports.task import TaskStore


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnServices:
    """What was made for one session."""

    services: Mapping[type, object] = field(default_factory=dict)
    jobs: SessionJobs | None = None

    def bind(self, conversation: Conversation) -> None:
        """Take the conversation that is told when a job ends."""
        if self.jobs is not None:
            self.jobs.bind(conversation)

    async def close(self) -> None:
        """End the jobs."""
        if self.jobs is not None:
            await self.jobs.close()


class SessionServices:
    """Makes them. Sessions with files share the list of the workspace; each without has one of its own, and no jobs."""

    def __init__(
        self, root: str, *, clock: Clock, starter: CommandStarter | None = None, tasks: TaskGroup | None = None
    ) -> None:
        """Take the workspace's root, what starts commands (None where none may run), and where jobs are watched."""
        self._clock = clock
        self._starter = starter
        self._watchers = tasks
        self._tasks = TaskFile(root, clock=clock)

    def own(self, record: SessionRecord) -> OwnServices:
        """Return what a session gets."""
        if record.profile == NO_FILES_PROFILE:
            alone: TaskStore = MemoryTasks(clock=self._clock)
            return OwnServices(services={TaskStore: alone})
        if self._starter is None or self._watchers is None:
            return OwnServices(services={TaskStore: self._tasks})
        jobs = SessionJobs(self._starter, tasks=self._watchers, clock=self._clock)
        return OwnServices(services={TaskStore: self._tasks, ShellJobs: jobs}, jobs=jobs)
