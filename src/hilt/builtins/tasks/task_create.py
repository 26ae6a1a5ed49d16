"""task_create: adds a task."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.tasks.reach import DESCRIPTION_MAX, SUBJECT_MAX, shown, store_of
from hilt.core.args import Args
from hilt.core.task import TASKS_MAX, Links, NewTask, Priority
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCreateArgs:
    """Arguments of `task_create`."""

    subject: Annotated[str, Field(min_length=1, max_length=SUBJECT_MAX, description="What is to be done, in one line.")]
    description: Annotated[
        str | None, Field(max_length=DESCRIPTION_MAX, description="What done means, and what helps to get there.")
    ] = None
    priority: Annotated[Priority, Field(description="How urgent it is.")] = "medium"
    labels: Annotated[tuple[str, ...] | None, Field(description="Words to find it by.")] = None
    blocks: Annotated[tuple[str, ...] | None, Field(description="Ids of tasks that must wait for this one.")] = None
    blocked_by: Annotated[tuple[str, ...] | None, Field(description="Ids of tasks that this one must wait for.")] = None
    owner: Annotated[str | None, Field(description="Who does it.")] = None
    metadata: Annotated[dict[str, object] | None, Field(description="Whatever else belongs to it.")] = None


class TaskCreate:
    """Adds a task and returns it."""

    _args = Args(TaskCreateArgs)
    read_only = False
    spec = ToolSpec(
        "task_create",
        "Add one task to the list that all who work in this workspace share; returns it as JSON, with its id. "
        "Use it to plan work of several steps, or to note what is left to do. "
        "Do not use it for what you finish in this answer, or to change a task that is there (task_update). "
        f"Limits: {TASKS_MAX} tasks; links must go to tasks that are there, and make no circle.",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Add the task."""
        args = self._args.decode(call)
        new = NewTask(
            subject=args.subject,
            description=args.description or "",
            priority=args.priority,
            labels=args.labels or (),
            links=Links(blocks=args.blocks or (), blocked_by=args.blocked_by or ()),
            owner=args.owner or "",
            metadata=args.metadata or {},
        )
        return shown(call, await store_of(env).create(new, session=env.session_id))
