"""shell_job_cancel: ends a background job."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.shell.reach import jobs_of, json_result
from hilt.core.args import Args
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellJobCancelArgs:
    """Arguments of `shell_job_cancel`."""

    job_id: Annotated[str, Field(description="Id of the job.")]


class ShellJobCancel:
    """Ends a job with all its processes."""

    _args = Args(ShellJobCancelArgs)
    read_only = False
    spec = ToolSpec(
        "shell_job_cancel",
        "End one background job with all the processes that it started; returns job_id and status as JSON. "
        "Use it when a job is no longer needed, such as a server after a test. "
        "Do not use it on a job that has ended: that is an error and changes nothing.",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """End the job."""
        job = await jobs_of(env).cancel(self._args.decode(call).job_id)
        return json_result(call, {"job_id": job.id, "status": job.status})
