"""InspectSubagent: shows what a child agent and its model said, page by page."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.delegation.reach import children_of
from hilt.core.args import Args
from hilt.core.child_page import MESSAGE_MAX_CHARS, page
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectSubagentArgs:
    """Arguments of `InspectSubagent`."""

    agent_id: Annotated[str, Field(description="Id of the agent.")]
    limit: Annotated[int, Field(ge=1, le=200, description="Messages to show at most.")] = 50
    before: Annotated[int | None, Field(description="Show messages before this number; the last ones without.")] = None


class InspectSubagent:
    """Returns a page of a child agent's transcript."""

    _args = Args(InspectSubagentArgs)
    read_only = True
    spec = ToolSpec(
        "InspectSubagent",
        "Return what one child agent was told, answered, called and got, message by message, the newest page first. "
        "Use it to see how an agent came to its answer, or why it failed. "
        "Do not use it to read the answer itself, which Subagent and SubagentStatus return. "
        f"Limits: a page holds about 20 kB, each text of it {MESSAGE_MAX_CHARS} characters.",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return the page."""
        args = self._args.decode(call)
        found = children_of(env).transcript(args.agent_id)
        return ToolResult.text(call.id, page(found.child, found.messages, limit=args.limit, before=args.before))
