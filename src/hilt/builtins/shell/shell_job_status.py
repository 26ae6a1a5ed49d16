"""shell_job_status: shows one background job and its output so far."""

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from hilt.builtins.shell.output import decode
from hilt.builtins.shell.reach import OUTPUT_CAP_BYTES, jobs_of, json_result, keeper
from hilt.core.args import Args
from hilt.core.job import short
from hilt.core.json_text import fit, json_bytes
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.job import JobReport
from hilt.ports.tool import Environment

WAIT_MAX_S: Final = 120
MARGIN_S: Final = 10.0
COMMAND_MAX_CHARS: Final = 1000
# What the JSON takes beside its texts; every key and number fits into it.
FRAME_BYTES: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellJobStatusArgs:
    """Arguments of `shell_job_status`."""

    job_id: Annotated[str, Field(description="Id of the job.")]
    wait_secs: Annotated[
        int, Field(ge=0, le=WAIT_MAX_S, description="Seconds to wait for its end before answering.")
    ] = 0


class ShellJobStatus:
    """Returns how a job stands and what it wrote."""

    _args = Args(ShellJobStatusArgs)
    read_only = True
    spec = ToolSpec(
        "shell_job_status",
        "Return one background job as JSON: status (running, completed, failed, timed_out, cancelled), exit_code, "
        "and stdout and stderr so far. "
        "Use it to look at a job's output, or to wait up to 120 seconds for its end. "
        "Do not use it again and again: the end of a job reaches you as a notice. "
        "Limits: long output keeps its head and tail.",
        _args.schema,
    )

    def __init__(self, *, output_cap_bytes: int = OUTPUT_CAP_BYTES) -> None:
        self._cap_bytes = output_cap_bytes

    def deadline_s(self, call: ToolCall) -> float:
        """Return the time it may wait and ten seconds."""
        return self._args.decode(call).wait_secs + MARGIN_S

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return the job."""
        args = self._args.decode(call)
        report = await jobs_of(env).report(args.job_id, wait_s=float(args.wait_secs))
        return json_result(call, self._body(report, env))

    def _body(self, report: JobReport, env: Environment) -> dict[str, object]:
        job, output = report.job, report.output
        command = short(job.command, COMMAND_MAX_CHARS)
        out, err = decode(output.stdout, output.stdout_dropped), decode(output.stderr, output.stderr_dropped)
        room = self._cap_bytes - FRAME_BYTES - json_bytes(command) - json_bytes(job.working_dir)
        # A running job may be asked about often; only what it gave in the end is worth a place among kept results.
        keep = None if job.status == "running" else keeper(env)
        stdout, stderr = fit(out.text, err.text, budget_bytes=room, keep=keep)
        return {
            "id": job.id,
            "command": command,
            "working_dir": job.working_dir,
            "timeout_secs": job.timeout_s,
            "started_at_unix": job.started_at,
            "status": job.status,
            "exit_code": job.exit_code,
            "stdout": stdout,
            "stderr": stderr,
            "duration_secs": round(job.duration_s, 3),
        }
