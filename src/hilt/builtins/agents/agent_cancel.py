"""agent_cancel: ends a child agent."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.agents.reach import children_of, json_result
from hilt.core.args import Args
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCancelArgs:
    """Arguments of `agent_cancel`."""

    agent_id: Annotated[str, Field(description="Id of the agent.")]


class AgentCancel:
    """Ends a child agent."""

    _args = Args(AgentCancelArgs)
    read_only = False
    spec = ToolSpec(
        "agent_cancel",
        "End one child agent: it sends no further request and starts no further tool; returns agent_id, success, "
        "previous_state and message as JSON. What it changed so far stays. "
        "Use it when what an agent works on is no longer needed. "
        "Do not use it on an agent that has ended: that changes nothing, and success is false.",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """End the agent."""
        before, after = await children_of(env).cancel(self._args.decode(call).agent_id)
        message = f"{after.name} had ended before: {before.state}." if before.ended else f"{after.name} was cancelled."
        return json_result(
            call,
            {
                "agent_id": after.id,
                "success": not before.ended,
                "previous_state": before.state,
                "message": message,
            },
        )
