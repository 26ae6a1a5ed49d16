"""The teams that a session knows."""

from itertools import count

import pytest

from hilt.core.errors import ErrorCode, ToolError
from hilt.engine.teams import TEAMS_MAX, SessionTeams


def teams() -> SessionTeams:
    numbers = count(1)
    return SessionTeams(lambda: str(next(numbers)))


@pytest.mark.req("BLT-73")
def test_the_agents_of_a_member_are_known_in_order_each_once() -> None:
    known = teams()
    team = known.open(["ann", "bob"])
    for agent in ("agent_1", "agent_2", "agent_1"):
        known.note(team, "ann", agent)
    assert (known.agents(team, "ann"), known.agents(team, "bob")) == (("agent_1", "agent_2"), ())


@pytest.mark.req("BLT-73")
def test_of_many_teams_the_last_256_stay_known_and_a_late_note_for_another_is_nothing() -> None:
    known = teams()
    ids = [known.open(["ann"]) for _ in range(TEAMS_MAX + 2)]
    known.note(ids[0], "ann", "agent_1")
    for gone in ids[:2]:
        with pytest.raises(ToolError, match=f"Team not found: {gone}") as refusal:
            known.agents(gone, "ann")
        assert refusal.value.code is ErrorCode.EXECUTION_FAILED
    assert TEAMS_MAX == 256
    assert all(known.agents(one, "ann") == () for one in ids[2:])
    with pytest.raises(ToolError, match="Member not found: bob; the members of team_3 are ann"):
        known.agents(ids[2], "bob")
