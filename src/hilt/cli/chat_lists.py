"""What the chat shows of the session's background jobs, of its child agents, and of the list of tasks."""

from collections.abc import Sequence
from typing import Final

from hilt.cli.output import one_line
from hilt.cli.view import duration
from hilt.core.child import Child
from hilt.ports.child import ChildAgents
from hilt.ports.job import ShellJobs
from hilt.ports.task import TaskStore
from hilt.ports.tool import Environment

JOBS_HEAD: Final = ("ID", "STATUS", "TOOK", "COMMAND")
AGENTS_HEAD: Final = ("ID", "NAME", "STATE", "TOOK", "CALLS", "TOKENS", "TASK")
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


def agent_rows(env: Environment) -> list[tuple[str, ...]]:
    """Return a row for each child agent of the session, none where it can have none."""
    return [
        (
            child.id,
            child.name,
            child.state,
            _took(child),
            str(child.calls),
            f"{child.tokens:,}",
            one_line(child.description, TEXT_MAX) or "-",
        )
        for child in _children(env)
    ]


def running_lines(env: Environment) -> list[str]:
    """Return a line for each job and each child agent that runs."""
    jobs = [f"job {command} · {took}" for _, status, took, command in job_rows(env) if status == "running"]
    return jobs + [_line(child) for child in _children(env) if not child.ended]


def _line(child: Child) -> str:
    about = f": {child.description}" if child.description else ""
    return f"{child.name}{about} · {child.calls} calls, {child.tokens:,} tokens · {_took(child)}"


def _took(child: Child) -> str:
    return duration(int(child.duration_s * 1000))


def _children(env: Environment) -> Sequence[Child]:
    try:
        return env.service(ChildAgents).children()  # type: ignore[type-abstract]  # the host names it by its port
    except LookupError:
        return ()


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
