"""The `Team` tool: a goal handed to several child agents with roles, of which the first leads."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.delegation.attempt import GRACE_S
from hilt.builtins.delegation.reach import children_of, teams_of
from hilt.builtins.delegation.subagent import MARGIN_S
from hilt.builtins.delegation.team_work import PLAN_S, REPORT_S, WORK_S, TeamWork
from hilt.core.args import Args
from hilt.core.child import TOKENS_FLOOR
from hilt.core.errors import ToolError
from hilt.core.team import MEMBERS_MAX, Member, check_members, told
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberArgs:
    """One member."""

    name: Annotated[str, Field(description="What it is called; no other may have that name.")]
    role: Annotated[str, Field(description="What it is in the team for.")]
    mutating: Annotated[bool, Field(description="Whether it may change anything.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamArgs:
    """Arguments of `Team`."""

    goal: Annotated[str, Field(description="What the team is to reach, with all that it has to know.")]
    members: Annotated[
        tuple[MemberArgs, ...],
        Field(min_length=1, max_length=MEMBERS_MAX, description="Who is in it; the first leads."),
    ]
    max_team_tokens: Annotated[
        int | None,
        Field(description=f"Tokens that all may use together; less than {TOKENS_FLOOR} counts as that."),
    ] = None


class Team:
    """Runs a team of child agents and returns its lead's report."""

    _args = Args(TeamArgs)
    read_only = False
    timeout_s = PLAN_S + WORK_S + 2 * REPORT_S + 4 * GRACE_S + MARGIN_S
    spec = ToolSpec(
        "Team",
        "Hand a goal to a team of child agents and return the report of its lead, then `team_id: ID`. The first "
        "member leads: it plans an assignment for each of the others, these work at the same time, and with their "
        "reports it writes the team's. If one fails the others go on, and the report says so. "
        "Use it for work with several sides that need each other's results in one answer, such as a review. "
        "Do not use it for tasks whose results you put together yourself (Parallel), or for one task (Subagent), and "
        "let two members change the same files only if the goal keeps them apart: nothing else does. "
        "Limits: 8 members; a few run at once and the rest wait; they know nothing of this conversation, and count "
        "towards your limits.",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Let the team work.

        Raises:
            ToolError: The members cannot be told apart, or no child agent can be started here.
        """
        args = self._args.decode(call)
        members = [Member(name=one.name.strip(), role=one.role.strip(), mutating=one.mutating) for one in args.members]
        check_members(members)
        if not args.goal.strip():
            raise ToolError.invalid_arguments("goal: is blank; say what the team is to reach")
        teams = teams_of(env)
        children = children_of(env).together(max_tokens=_tokens(args.max_team_tokens))
        team_id = teams.open([member.name for member in members])
        work = TeamWork(
            children,
            args.goal,
            members,
            call_id=call.id,
            note=lambda member, child: teams.note(team_id, member.name, child.id),
            progress=env.progress,
        )
        text = told(await work.report(), work.troubles, team_id)
        return ToolResult.text(call.id, text) if work.achieved else ToolResult.error(call.id, text)


def _tokens(asked: int | None) -> int | None:
    """Return the limit of tokens of a whole team, None where none was asked for.

    Raises:
        ToolError: It is negative.
    """
    if asked is not None and asked < 0:
        raise ToolError.invalid_arguments("max_team_tokens: expected 0 or more; 0 takes what is left")
    return max(asked, TOKENS_FLOOR) if asked else None
