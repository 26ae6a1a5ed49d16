"""How the tools reach the jobs of the session and what keeps long output, and how they answer."""

import json
from typing import Final

from hilt.core.errors import ToolError
from hilt.core.json_text import Keep
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.job import ShellJobs
from hilt.ports.results import RetainedResults
from hilt.ports.tool import Environment

OUTPUT_CAP_BYTES: Final = 25_000


def jobs_of(env: Environment) -> ShellJobs:
    """Return the jobs of the session.

    Raises:
        ToolError: It cannot have any.
    """
    try:
        return env.service(ShellJobs)  # type: ignore[type-abstract]  # the host names it by its port
    except LookupError:
        raise ToolError.unavailable("this session cannot run commands in the background") from None


def keeper(env: Environment) -> Keep | None:
    """Return what keeps output that is cut, None where nothing does."""
    try:
        return env.service(RetainedResults).keep  # type: ignore[type-abstract]  # the host names it by its port
    except LookupError:
        return None


def json_result(call: ToolCall, body: object) -> ToolResult:
    """Return a result of JSON text."""
    return ToolResult.text(call.id, json.dumps(body, ensure_ascii=False))
