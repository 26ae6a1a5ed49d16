"""The category `tasks`: a list of what is to be done, shared by all who work in a workspace."""

from hilt.builtins.tasks.task_create import TaskCreate
from hilt.builtins.tasks.task_get import TaskGet
from hilt.builtins.tasks.task_list import TaskList
from hilt.builtins.tasks.task_update import TaskUpdate
from hilt.ports.tool import Tool


def tasks_tools() -> list[Tool]:
    """Return all tools of the category."""
    return [TaskCreate(), TaskList(), TaskGet(), TaskUpdate()]
