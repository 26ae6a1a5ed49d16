"""The category `agents`: child agents that work in the background."""

from hilt.builtins.agents.agent_cancel import AgentCancel
from hilt.builtins.agents.agent_fork import AgentFork
from hilt.builtins.agents.agent_list import AgentList
from hilt.builtins.agents.agent_spawn import AgentSpawn
from hilt.builtins.agents.agent_status import AgentStatus
from hilt.ports.tool import Tool


def agents_tools() -> list[Tool]:
    """Return all tools of the category."""
    return [AgentSpawn(), AgentFork(), AgentStatus(), AgentCancel(), AgentList()]
