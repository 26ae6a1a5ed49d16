"""Commands that go on in the background: how each stands."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from hilt.core.session import AssistantMessage, Message, ToolMessage, UserMessage

JobStatus = Literal["running", "completed", "failed", "timed_out", "cancelled"]

ENDED_MAX: Final = 100
KEPT_S: Final = 300.0
_SHOWN_CHARS: Final = 80
_TOOL: Final = "shell"

STARTED: Final = "It runs in the background"
"""How the message of a start begins, so that one can be told from every other result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job at one moment. `started_at` is in seconds of Unix time; `exit_code` is None while it runs.

    It is also None after a signal. `completed` is an exit code of 0, `failed` any other end of its own.
    """

    id: str
    command: str
    working_dir: str = ""
    timeout_s: int
    started_at: int
    status: JobStatus = "running"
    exit_code: int | None = None
    duration_s: float = 0.0


def status_of(exit_code: int | None, *, timed_out: bool) -> JobStatus:
    """Return what the end of a command makes of its job."""
    if timed_out:
        return "timed_out"
    return "completed" if exit_code == 0 else "failed"


def short(command: str, limit: int = _SHOWN_CHARS) -> str:
    """Return the command, cut after `limit` characters."""
    return command if len(command) <= limit else f"{command[: limit - 1]}…"


def notice(job: Job) -> str:
    """Return how the model is told that a job has ended."""
    code = "" if job.exit_code is None else f", exit code {job.exit_code}"
    return (
        f"The background job {job.id} ({short(' '.join(job.command.split()))}) has ended: {job.status}{code}, "
        f"after {job.duration_s:.1f} s. shell_job_status shows its output."
    )


def lost(messages: Sequence[Message]) -> list[str]:
    """Return the ids of jobs that the messages start and tell no end of, oldest first.

    Of a conversation that is opened again these did not survive.
    """
    told = "\n".join(message.text for message in messages if isinstance(message, UserMessage) and message.notice)
    calls = [call for message in messages if isinstance(message, AssistantMessage) for call in message.calls]
    shell = {call.id for call in calls if call.name == _TOOL}
    results = [each for message in messages if isinstance(message, ToolMessage) for each in message.results]
    started = dict.fromkeys(_started(each.content) for each in results if each.call_id in shell)
    return [id_ for id_ in started if id_ and id_ not in told]


def lost_notice(id_: str) -> str:
    """Return how the model is told that a job did not survive."""
    return f"The background job {id_} was lost: the session was closed or the program ended while it ran."


def _started(content: str) -> str:
    """Return the id of the job that a result tells the start of, "" where it tells of none."""
    if STARTED not in content:
        return ""
    try:
        body: object = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    id_, message = (body.get("job_id"), body.get("message")) if isinstance(body, dict) else (None, None)
    told = isinstance(message, str) and message.startswith(STARTED)
    return id_ if told and isinstance(id_, str) else ""
