"""How the tools reach the child agents of the session."""

from hilt.core.errors import ToolError
from hilt.ports.child import ChildAgents
from hilt.ports.team import Teams
from hilt.ports.tool import Environment


def children_of(env: Environment) -> ChildAgents:
    """Return the child agents of the session.

    Raises:
        ToolError: It cannot have any.
    """
    try:
        return env.service(ChildAgents)  # type: ignore[type-abstract]  # the host names it by its port
    except LookupError:
        raise ToolError.unavailable("this agent cannot start child agents") from None


def teams_of(env: Environment) -> Teams:
    """Return the teams of the session.

    Raises:
        ToolError: It cannot have any.
    """
    try:
        return env.service(Teams)  # type: ignore[type-abstract]  # the host names it by its port
    except LookupError:
        raise ToolError.unavailable("this agent cannot start child agents") from None
