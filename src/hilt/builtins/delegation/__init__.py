"""The category `delegation`: tasks handed to child agents, whose answers are the results."""

from hilt.builtins.delegation.inspect_subagent import InspectSubagent
from hilt.builtins.delegation.subagent import Subagent
from hilt.builtins.delegation.subagent_status import SubagentStatus
from hilt.ports.tool import Tool


def delegation_tools() -> list[Tool]:
    """Return the tools of the family `subagent`."""
    return [Subagent(), InspectSubagent(), SubagentStatus()]
