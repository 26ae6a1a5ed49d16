"""shell_jobs: lists the background jobs."""

from dataclasses import dataclass
from typing import Final

from hilt.builtins.shell.reach import jobs_of, json_result
from hilt.core.args import Args
from hilt.core.job import short
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment

COMMAND_MAX_CHARS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellJobsArgs:
    """Arguments of `shell_jobs`: none."""


class ShellJobsTool:
    """Returns the jobs of the session."""

    _args = Args(ShellJobsArgs)
    read_only = True
    spec = ToolSpec(
        "shell_jobs",
        "Return the background jobs of this session as a JSON array: id, command, status and started_at_unix. "
        "Use it to see what runs, or to find the id of a job. "
        "Do not use it to see what a job wrote (shell_job_status). "
        f"Limits: of the jobs that ended the last 100; commands are cut after {COMMAND_MAX_CHARS} characters.",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return the jobs."""
        self._args.decode(call)
        rows = [
            {
                "id": job.id,
                "command": short(job.command, COMMAND_MAX_CHARS),
                "status": job.status,
                "started_at_unix": job.started_at,
            }
            for job in jobs_of(env).jobs()
        ]
        return json_result(call, rows)
