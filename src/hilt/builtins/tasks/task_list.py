"""task_list: shows the tasks."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.tasks.reach import shown, store_of
from hilt.core.args import Args
from hilt.core.task import Status
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskListArgs:
    """Arguments of `task_list`."""

    status: Annotated[Status | None, Field(description="Only tasks of this status.")] = None
    labels: Annotated[tuple[str, ...] | None, Field(description="Only tasks that have any of these labels.")] = None


class TaskList:
    """Returns the tasks, oldest first."""

    _args = Args(TaskListArgs)
    read_only = True
    spec = ToolSpec(
        "task_list",
        "Return the tasks of the shared list as a JSON array, oldest first, all or those of a status or label. "
        "Use it to see what is left to do and what waits for what. "
        "Do not use it to look at one task whose id you know (task_get).",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return the tasks."""
        args = self._args.decode(call)
        return shown(call, await store_of(env).tasks(status=args.status, labels=args.labels or ()))
