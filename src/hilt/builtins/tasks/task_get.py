"""task_get: shows one task."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.tasks.reach import shown, store_of
from hilt.core.args import Args
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGetArgs:
    """Arguments of `task_get`."""

    id: Annotated[str, Field(description="Id of the task.")]


class TaskGet:
    """Returns one task."""

    _args = Args(TaskGetArgs)
    read_only = True
    spec = ToolSpec(
        "task_get",
        "Return one task of the shared list as JSON, with all its fields. "
        "Use it before you work on a task, to see how it stands now. "
        "Do not use it to find a task whose id you do not know (task_list).",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return the task."""
        return shown(call, await store_of(env).get(self._args.decode(call).id))
