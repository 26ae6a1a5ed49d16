"""The `Parallel` tool: several tasks at the same time, each by a child agent of its own."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from hilt.builtins.delegation.attempt import GRACE_S
from hilt.builtins.delegation.branches import BRANCHES_S, COMPARING_S, Branches, Comparison
from hilt.builtins.delegation.reach import children_of
from hilt.builtins.delegation.subagent import MARGIN_S, Mode
from hilt.core.args import Args
from hilt.core.branch import BRANCHES_MAX, Branch, Choice, Join
from hilt.core.branch_report import all_failed, report_all, report_one
from hilt.core.errors import ToolError
from hilt.core.permission import Subject, Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.results import RetainedResults
from hilt.ports.tool import Environment

FIRST: Final = "it was the first that succeeded"
ALONE: Final = "no other branch succeeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelArgs:
    """Arguments of `Parallel`."""

    tasks: Annotated[
        tuple[str, ...],
        Field(min_length=1, max_length=BRANCHES_MAX, description="The tasks, each whole: a branch knows no other."),
    ]
    shared: Annotated[str | None, Field(description="What every branch is told before its task.")] = None
    join: Annotated[
        Join,
        Field(
            description="All results; the first that succeeds, while the rest is cancelled; the one that a judge of "
            "all chooses; or the best, each rated by itself."
        ),
    ] = "all"
    criteria: Annotated[str | None, Field(description="By what judge and best compare.")] = None
    mode: Annotated[Mode, Field(description="Whether the branches may change anything.")] = "read-only"


class Parallel:
    """Runs child agents side by side and returns what they found, or one of it."""

    _args = Args(ParallelArgs)
    read_only = True
    covers_defaults = True
    spec = ToolSpec(
        "Parallel",
        "Hand up to 16 tasks to child agents that work on them at the same time, and return their results as JSON in "
        "the order of the tasks; a branch that fails is an entry with its error. With join first, judge or best "
        "return one result, its task and the reason; SubagentStatus shows those of the others by agent_id. The "
        "branches have your tools, but those for agents, know nothing of this conversation, and only read unless mode "
        "is read-write. "
        "Use it for tasks that do not need each other's results, or for several tries at one. "
        "Do not use it for steps that follow one another, nor in read-write mode for tasks that touch the same files: "
        "nothing keeps the branches out of each other's way. "
        "Limits: a few run at once and the rest wait; they have an hour together, and count towards your limits.",
        _args.schema,
    )

    def read_only_for(self, call: ToolCall) -> bool:
        """Tell whether the branches only read."""
        return call.arguments.get("mode", "read-only") == "read-only"

    def deadline_s(self, call: ToolCall) -> float:
        """Return what the branches have together, and those who compare them where there are any."""
        return _seconds(self._args.decode(call)) + MARGIN_S

    def subjects(self, call: ToolCall) -> Subjects:
        """Return `mode` by name."""
        return Subjects(unnamed=(), named={"mode": (Subject(text=self._args.decode(call).mode),)})

    def targets(self, call: ToolCall) -> Sequence[ToolCall]:
        """Return a call of Subagent in the same mode: for rules every branch is one."""
        args = self._args.decode(call)
        arguments: dict[str, object] = {
            "prompt": "\n\n".join(filter(None, (args.shared, *args.tasks))),
            "mode": args.mode,
            "timeout_secs": int(_seconds(args)),
        }
        return [ToolCall(call.id, "Subagent", json.dumps(arguments), arguments=arguments)]

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Run the branches, and choose among them where one is wanted.

        Raises:
            ToolError: The arguments do not go together, or no branch succeeded.
        """
        args = self._args.decode(call)
        _check(args)
        children = children_of(env)
        keep = env.service(RetainedResults).keep  # type: ignore[type-abstract]  # the host names it by its port
        run = Branches(
            children,
            args.tasks,
            shared=args.shared or "",
            read_only=args.mode == "read-only",
            call_id=call.id,
            progress=env.progress,
        )
        branches = await run.run(until_first=args.join == "first")
        good = [branch for branch in branches if branch.succeeded]
        if not good:
            raise all_failed(branches)
        if args.join == "all":
            return ToolResult.text(call.id, report_all(branches, keep=keep))
        if args.join == "first":
            choice = Choice(number=run.first, reason=FIRST)
            return ToolResult.text(call.id, report_one(choice, branches, keep=keep))
        if len(good) == 1:
            choice = Choice(number=good[0].number, reason=ALONE)
            return ToolResult.text(call.id, report_one(choice, branches, keep=keep))
        compared = await self._compared(call, args, env, good)
        if compared.choice is None:
            note = f"No branch was chosen, so all results follow: {compared.trouble}"
            return ToolResult.text(call.id, report_all(branches, keep=keep, note=note))
        text = report_one(compared.choice, branches, keep=keep, ratings=compared.ratings, note=compared.trouble)
        return ToolResult.text(call.id, text)

    async def _compared(
        self, call: ToolCall, args: ParallelArgs, env: Environment, branches: Sequence[Branch]
    ) -> Comparison:
        env.progress(len(args.tasks), len(args.tasks), f"comparing {len(branches)} results")
        asked = Comparison(children_of(env), shared=args.shared or "", criteria=args.criteria or "", call_id=call.id)
        await (asked.judge(branches) if args.join == "judge" else asked.rate(branches))
        return asked


def _seconds(args: ParallelArgs) -> float:
    comparing = COMPARING_S + GRACE_S if args.join in ("judge", "best") else 0.0
    return BRANCHES_S + GRACE_S + comparing


def _check(args: ParallelArgs) -> None:
    for place, task in enumerate(args.tasks):
        if not task.strip():
            raise ToolError.invalid_arguments(f"tasks[{place}]: is blank; give each branch a task")
    if args.criteria and args.join not in ("judge", "best"):
        raise ToolError.invalid_arguments(
            f"criteria: cannot go with join {args.join}, which compares nothing; take judge or best, or leave it out"
        )
