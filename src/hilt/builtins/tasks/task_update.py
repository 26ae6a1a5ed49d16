"""task_update: changes a task."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.tasks.reach import DESCRIPTION_MAX, SUBJECT_MAX, shown, store_of
from hilt.core.args import Args
from hilt.core.task import Links, Priority, Status, TaskChange
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment

Ids = tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskUpdateArgs:
    """Arguments of `task_update`."""

    id: Annotated[str, Field(description="Id of the task.")]
    subject: Annotated[
        str | None, Field(min_length=1, max_length=SUBJECT_MAX, description="What is to be done, in one line.")
    ] = None
    description: Annotated[str | None, Field(max_length=DESCRIPTION_MAX, description="Its text, replaced.")] = None
    status: Annotated[Status | None, Field(description="How far it is.")] = None
    priority: Annotated[Priority | None, Field(description="How urgent it is.")] = None
    owner: Annotated[str | None, Field(description="Who does it; an empty text for nobody.")] = None
    labels: Annotated[Ids, Field(description="All its labels; they replace those it has.")] = None
    metadata: Annotated[
        dict[str, object] | None, Field(description="Merged into what it has; a null takes its key away.")
    ] = None
    add_blocks: Annotated[Ids, Field(description="Ids of further tasks that must wait for it.")] = None
    remove_blocks: Annotated[Ids, Field(description="Ids of tasks that need not wait for it any more.")] = None
    add_blocked_by: Annotated[Ids, Field(description="Ids of further tasks that it must wait for.")] = None
    remove_blocked_by: Annotated[Ids, Field(description="Ids of tasks that it need not wait for any more.")] = None


class TaskUpdate:
    """Changes a task and returns it."""

    _args = Args(TaskUpdateArgs)
    read_only = False
    spec = ToolSpec(
        "task_update",
        "Change one task of the shared list and return it as JSON; what is not given stays as it is. "
        "Use it when you begin a task (in_progress), when it is done (completed), or when it has changed. "
        "Do not use it to add a task (task_create). "
        "Limits: links must go to tasks that are there, and make no circle; both ends of a link change together.",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Change the task."""
        args = self._args.decode(call)
        change = TaskChange(
            subject=args.subject,
            description=args.description,
            status=args.status,
            priority=args.priority,
            owner=args.owner,
            labels=args.labels,
            metadata=args.metadata or {},
            add=Links(blocks=args.add_blocks or (), blocked_by=args.add_blocked_by or ()),
            remove=Links(blocks=args.remove_blocks or (), blocked_by=args.remove_blocked_by or ()),
        )
        return shown(call, await store_of(env).update(args.id, change, session=env.session_id))
