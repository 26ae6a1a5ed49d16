"""The `shell` tool: one command in the workspace, its output as JSON."""

import json
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from hilt.builtins.shell.output import decode
from hilt.builtins.shell.reach import OUTPUT_CAP_BYTES, jobs_of, json_result, keeper
from hilt.core.args import Args
from hilt.core.errors import ToolError
from hilt.core.job import STARTED
from hilt.core.json_text import fit
from hilt.core.permission import Subject, Subjects
from hilt.core.shell import Analysis, analyse
from hilt.core.shell_policy import PolicyMode, check_policy, policy_asks
from hilt.core.subjects import argument_subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.runner import CommandResult
from hilt.ports.tool import Environment

FOREGROUND_MAX_S: Final = 600
BACKGROUND_MAX_S: Final = 86_400
BACKGROUND_S: Final = 3600
MARGIN_S: Final = 10.0
START_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellArgs:
    """Arguments of `shell`."""

    command: Annotated[
        str, Field(min_length=1, max_length=32_768, description="Shell text, run unchanged by `PROGRAM -c`.")
    ]
    working_dir: Annotated[str, Field(description="Folder inside the workspace; its root by default.")] = ""
    timeout_secs: Annotated[
        int,
        Field(
            ge=1,
            le=BACKGROUND_MAX_S,
            description="Seconds until the command is ended, at most 600; in the background 3600 by default.",
        ),
    ] = 120
    background: Annotated[bool, Field(description="Return at once and go on as a job.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellPolicy:
    """The operator's word on commands, above every rule: a mode and patterns over segments."""

    mode: PolicyMode = "unrestricted"
    patterns: tuple[str, ...] = ()


class Shell:
    """Runs a command and returns its exit code and output."""

    _args = Args(ShellArgs)
    read_only = False
    spec = ToolSpec(
        name="shell",
        description=(
            "Run a shell command in the workspace; returns exit_code, stdout and stderr as JSON. Standard "
            "input is empty and there is no terminal, so a command that asks somebody fails. To read, search "
            "and edit files use the file tools. A command over its time is ended, with timed_out true, and "
            "so is whatever a command leaves running. Long output keeps its head and tail. "
            "Use background for what runs long, such as a server: it goes on as a job while you do other things. "
            "Do not use `&` for that."
        ),
        schema=_args.schema,
    )

    def __init__(
        self,
        *,
        policy: ShellPolicy | None = None,
        posix: bool = True,
        output_cap_bytes: int = OUTPUT_CAP_BYTES,
    ) -> None:
        """`posix` says whether the configured program reads POSIX text; other text cannot be analysed."""
        self._policy = policy if policy is not None else ShellPolicy()
        self._posix = posix
        self._cap_bytes = output_cap_bytes
        self._analysed: tuple[str, Analysis] | None = None

    def deadline_s(self, call: ToolCall) -> float:
        """Return the command's own time and ten seconds; in the background a start takes half a minute at most."""
        args = self._args.decode(call)
        return START_S if args.background else args.timeout_secs + MARGIN_S

    def subjects(self, call: ToolCall) -> Subjects:
        """Return the segments of the command, and `command`, `working_dir` and `background` by name."""
        args = self._args.decode(call)
        segments = self._analysis(args.command).subjects()
        named = argument_subjects(call.arguments, ("working_dir", "background")).named
        folder = tuple(Subject(text=args.working_dir or ".", kind="path") for _ in named["working_dir"])
        return Subjects(
            unnamed=segments,
            named={"command": segments, "working_dir": folder, "background": named["background"]},
        )

    def refuses(self, call: ToolCall) -> str | None:
        """Return why the policy forbids the call whatever rules, grants and modes say, None otherwise."""
        command = self._args.decode(call).command
        return check_policy(self._analysis(command), self._policy.mode, self._policy.patterns)

    def must_ask(self, call: ToolCall) -> str | None:
        """Return why the policy wants a person asked whatever rules and grants allow, None otherwise."""
        command = self._args.decode(call).command
        if policy_asks(self._analysis(command), self._policy.mode, self._policy.patterns):
            return "the command cannot be analysed and shell.policy has a deny list"
        return None

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Run the command.

        Raises:
            ToolError: The policy forbids it, the arguments do not fit together, or it cannot be started.
        """
        args = self._args.decode(call)
        refusal = self.refuses(call)
        if refusal is not None:
            raise ToolError.access_denied(refusal)
        if args.background:
            return await self._start(call, args, env)
        if args.timeout_secs > FOREGROUND_MAX_S:
            raise ToolError.invalid_arguments(f"timeout_secs: at most {FOREGROUND_MAX_S} without background")
        if env.runner is None:
            raise ToolError.unavailable("this session cannot run commands")
        done = await env.runner.run(args.command, timeout_s=float(args.timeout_secs), working_dir=args.working_dir)
        return ToolResult.text(call.id, self._shown(done, env))

    async def _start(self, call: ToolCall, args: ShellArgs, env: Environment) -> ToolResult:
        timeout_s = args.timeout_secs if "timeout_secs" in call.arguments else BACKGROUND_S
        job = await jobs_of(env).start(args.command, timeout_s=timeout_s, working_dir=args.working_dir)
        message = (
            f"{STARTED} for at most {timeout_s} s. A notice tells its end; shell_job_status shows its "
            "output so far, shell_job_cancel ends it."
        )
        return json_result(call, {"job_id": job.id, "status": job.status, "message": message})

    def _analysis(self, command: str) -> Analysis:
        known = self._analysed
        if known is None or known[0] != command:
            known = self._analysed = (command, analyse(command, posix=self._posix))
        return known[1]

    def _shown(self, done: CommandResult, env: Environment) -> str:
        out, err = decode(done.stdout, done.stdout_dropped), decode(done.stderr, done.stderr_dropped)

        def body(stdout: str, stderr: str) -> str:
            return json.dumps(
                {
                    "exit_code": done.exit_code,
                    "stdout": stdout,
                    "stderr": stderr,
                    "timed_out": done.timed_out,
                    "duration_secs": round(done.duration_s, 3),
                    "stdout_lossy": out.lossy,
                    "stderr_lossy": err.lossy,
                },
                ensure_ascii=False,
            )

        room = self._cap_bytes - len(body("", "").encode())
        return body(*fit(out.text, err.text, budget_bytes=room, keep=keeper(env)))
