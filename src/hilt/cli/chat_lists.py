"""What the chat shows of the session's background jobs and of the list of tasks."""

from typing import Final

from hilt.cli.output import one_line
from hilt.cli.view import duration
from hilt.ports.job import ShellJobs
from hilt.ports.task import TaskStore
from hilt.ports.tool import Environment

JOBS_HEAD: Final = ("ID", "STATUS", "TOOK", "COMMAND")
TASKS_HEAD: Final = ("ID", "STATUS", "PRIORITY", "OWNER", "SUBJECT")
TEXT_MAX: Final = 80


def job_rows(env: Environment) -> list[tuple[str, ...]]:
    """Return a row for each job of the session, none where it can have no jobs."""
    try:
        jobs = env.service(ShellJobs)  # type: ignore[type-abstract]  # the host names it by its port
    except LookupError:
        return []
    return [
        (job.id, job.status, duration(int(job.duration_s * 1000)), one_line(job.command, TEXT_MAX))
        for job in jobs.jobs()
    ]


def running_lines(env: Environment) -> list[str]:
    """Return a line for each job that runs."""
    return [f"job {command} · {took}" for _, status, took, command in job_rows(env) if status == "running"]


async def task_rows(env: Environment) -> list[tuple[str, ...]]:
    """Return a row for each task, none where the session has no list.

    Raises:
        ToolError: The list cannot be read.
    """
    try:
        store = env.service(TaskStore)  # type: ignore[type-abstract]  # the host names it by its port
    except LookupError:
        return []
    return [
        (task.id, task.status, task.priority, one_line(task.owner, TEXT_MAX) or "-", one_line(task.subject, TEXT_MAX))
        for task in await store.tasks()
    ]
