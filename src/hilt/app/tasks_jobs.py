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

    def attend(self, conversation: Conversation) -> None:
        """Take the conversation of a child agent, which began in this process."""
        if self.jobs is not None:
            self.jobs.attend(conversation)

    @property
    def busy(self) -> bool:
        """Whether a job runs."""
        return self.jobs is not None and self.jobs.busy

    async def rest(self) -> None:
        """End the jobs that run; others may be started later."""
        if self.jobs is not None:
            await self.jobs.end_all()

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
        return self._with_jobs(self._tasks, self._starter, self._watchers)

    def of_child(self, record: SessionRecord) -> OwnServices:
        """Return what a child agent of a session gets: a list of its own, and jobs where its session has them."""
        tasks = MemoryTasks(clock=self._clock)
        if record.profile == NO_FILES_PROFILE or self._starter is None or self._watchers is None:
            return OwnServices(services={TaskStore: tasks})
        return self._with_jobs(tasks, self._starter, self._watchers)

    def _with_jobs(self, tasks: TaskStore, starter: CommandStarter, watchers: TaskGroup) -> OwnServices:
        jobs = SessionJobs(starter, tasks=watchers, clock=self._clock)
        return OwnServices(services={TaskStore: tasks, ShellJobs: jobs}, jobs=jobs)
