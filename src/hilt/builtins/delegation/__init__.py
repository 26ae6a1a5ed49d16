"""The category `delegation`: tasks handed to child agents, whose answers are the results."""

from collections.abc import Sequence

from hilt.builtins.delegation.inspect_member import InspectMember
from hilt.builtins.delegation.inspect_subagent import InspectSubagent
from hilt.builtins.delegation.parallel import Parallel
from hilt.builtins.delegation.subagent import Subagent
from hilt.builtins.delegation.subagent_status import SubagentStatus
from hilt.builtins.delegation.team import Team
from hilt.core.child_definition import ChildDefinition
from hilt.ports.tool import Tool


def delegation_tools(agents: Sequence[ChildDefinition] = ()) -> list[Tool]:
    """Return the tools of the family `subagent`; `agents` are the definitions that a task can be handed to."""
    return [Subagent(agents), InspectSubagent(), SubagentStatus()]


def parallel_tools() -> list[Tool]:
    """Return the tool of the family `parallel`."""
    return [Parallel()]


def team_tools() -> list[Tool]:
    """Return the tools of the family `team`."""
    return [Team(), InspectMember()]
