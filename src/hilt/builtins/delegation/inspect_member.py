"""InspectMember: shows what a member of a team and its model said, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.delegation.reach import children_of, teams_of
from hilt.core.args import Args
from hilt.core.child_page import MESSAGE_MAX_CHARS, page
from hilt.core.errors import ToolError
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.child import ChildAgents, Transcript
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectMemberArgs:
    """Arguments of `InspectMember`."""

    team_id: Annotated[str, Field(description="Id of the team.")]
    member: Annotated[str, Field(description="Name of the member.")]
    limit: Annotated[int, Field(ge=1, le=200, description="Messages to show at most.")] = 50
    before: Annotated[int | None, Field(description="Show messages before this number; the last ones without.")] = None


class InspectMember:
    """Returns a page of the transcript of a team's member."""

    _args = Args(InspectMemberArgs)
    read_only = True
    spec = ToolSpec(
        "InspectMember",
        "Return what one member of a team was told, answered, called and got, message by message, the newest page "
        "first. "
        "Use it to see how a member came to what it reported, or why it failed. "
        "Do not use it to read the team's report, which Team returns. "
        f"Limits: a page holds about 20 kB, each text of it {MESSAGE_MAX_CHARS} characters; the last 256 teams and "
        "agents are known.",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return the page.

        Raises:
            ToolError: No such team or member is known, or nothing of the member.
        """
        args = self._args.decode(call)
        ids = teams_of(env).agents(args.team_id, args.member)
        if not ids:
            raise ToolError.execution_failed(
                f"{args.member} of {args.team_id} never started; the team's report says why"
            )
        kept = _kept(children_of(env), ids)
        if not kept:
            raise ToolError.execution_failed(
                f"the transcript of {args.member} of {args.team_id} is no longer kept; the last 256 agents are"
            )
        messages = [message for one in kept for message in one.messages]
        return ToolResult.text(call.id, page(kept[-1].child, messages, limit=args.limit, before=args.before))


def _kept(children: ChildAgents, ids: Sequence[str]) -> list[Transcript]:
    """Return the transcripts that are still kept; a lead that started anew has two."""
    known = {child.id for child in children.children()}
    return [children.transcript(id_) for id_ in ids if id_ in known]
