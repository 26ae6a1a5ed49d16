"""Keeps the teams of one session."""

from collections.abc import Callable, Sequence

from hilt.core.child import ENDED_MAX
from hilt.core.team import no_member, no_team

TEAMS_MAX = ENDED_MAX


class SessionTeams:
    """See `Teams`. `new_id` makes the part of an id that no other has."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._teams: dict[str, dict[str, list[str]]] = {}

    def open(self, members: Sequence[str]) -> str:
        """See `Teams.open`."""
        team_id = f"team_{self._new_id()}"
        self._teams[team_id] = {name: [] for name in members}
        while len(self._teams) > TEAMS_MAX:
            del self._teams[next(iter(self._teams))]
        return team_id

    def note(self, team_id: str, member: str, agent_id: str) -> None:
        """See `Teams.note`."""
        agents = self._teams.get(team_id, {}).get(member)
        if agents is not None and agent_id not in agents:
            agents.append(agent_id)

    def agents(self, team_id: str, member: str) -> Sequence[str]:
        """See `Teams.agents`."""
        team = self._teams.get(team_id)
        if team is None:
            raise no_team(team_id)
        if member not in team:
            raise no_member(team_id, member, list(team))
        return tuple(team[member])
