"""agent_list: lists the child agents."""

from dataclasses import dataclass

from hilt.builtins.agents.reach import children_of, json_result
from hilt.core.args import Args
from hilt.core.child import short
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentListArgs:
    """Arguments of `agent_list`: none."""


class AgentList:
    """Returns the child agents of the session."""

    _args = Args(AgentListArgs)
    read_only = True
    spec = ToolSpec(
        "agent_list",
        "Return the child agents of this session as JSON: agents by id, and running_count, completed_count, "
        "failed_count and total_count. "
        "Use it to see which agents work, or to find the id of one. "
        "Do not use it to read what an agent found (agent_status). "
        "Limits: of the agents that ended the last 256.",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return the agents."""
        self._args.decode(call)
        children = children_of(env).children()
        states = [child.state for child in children]
        agents = {
            child.id: {"name": child.name, "state": child.state, "description": short(child.description)}
            for child in sorted(children, key=lambda child: child.id)
        }
        return json_result(
            call,
            {
                "agents": agents,
                "running_count": states.count("running"),
                "completed_count": states.count("completed"),
                "failed_count": states.count("failed"),
                "total_count": len(states),
            },
        )
