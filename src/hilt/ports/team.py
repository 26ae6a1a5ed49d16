"""The teams of one session: which agents worked as whom."""

from collections.abc import Sequence
from typing import Protocol


class Teams(Protocol):
    """The last 256 teams of one session, with the ids of the child agents that worked as each member."""

    def open(self, members: Sequence[str]) -> str:
        """Take up a team of these names and return its id."""
        ...

    def note(self, team_id: str, member: str, agent_id: str) -> None:
        """Note that an agent works as a member; one that is noted already stays where it is."""
        ...

    def agents(self, team_id: str, member: str) -> Sequence[str]:
        """Return the ids of the agents that worked as a member, in order.

        Raises:
            ToolError: No team has this id, or no member of it this name.
        """
        ...
