"""How the tools reach the list of tasks, and how they show it."""

import json
from collections.abc import Sequence
from typing import Final

from hilt.core.errors import ToolError
from hilt.core.task import Task
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.task import TaskStore
from hilt.ports.tool import Environment

SUBJECT_MAX: Final = 500
DESCRIPTION_MAX: Final = 20_000


def store_of(env: Environment) -> TaskStore:
    """Return the session's list of tasks.

    Raises:
        ToolError: It has none.
    """
    try:
        return env.service(TaskStore)  # type: ignore[type-abstract]  # the host names it by its port
    except LookupError:
        raise ToolError.unavailable("this session has no list of tasks") from None


def shown(call: ToolCall, found: Task | Sequence[Task]) -> ToolResult:
    """Return a task as a JSON object, several as an array."""
    body: object = found.to_json() if isinstance(found, Task) else [task.to_json() for task in found]
    return ToolResult.text(call.id, json.dumps(body, ensure_ascii=False))
