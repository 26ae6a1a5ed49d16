"""Teams of child agents: who is in one, what each is told, and the report when nobody could write it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hilt.core.child import Child, short
from hilt.core.errors import ToolError
from hilt.core.json_text import cut, shares

MEMBERS_MAX: Final = 8
REPORTS_MAX_BYTES: Final = 100_000
"""How much of the members' reports together the lead is shown."""

UNPLANNED: Final = "There is no plan: work on the goal itself, on what of it falls to your role."
_NAME_MAX_CHARS: Final = 80
_ERROR_CHARS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Somebody in a team; one that is not `mutating` only reads."""

    name: str
    role: str
    mutating: bool = False

    @property
    def title(self) -> str:
        """Name and role."""
        return f"{self.name} ({self.role})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A member and the child agent that worked as it, as it ended."""

    member: Member
    child: Child

    @property
    def trouble(self) -> str:
        """Why it did not do all of its work, "" if it did."""
        if self.child.state != "completed":
            how = "was cancelled" if self.child.state == "cancelled" else "failed"
            return f"{self.member.name} {how}: {short(self.child.error, _ERROR_CHARS)}"
        return "" if self.child.output.strip() else f"{self.member.name} reported nothing"


def check_members(members: Sequence[Member]) -> None:
    """Pass if every member can be told from the others.

    Raises:
        ToolError: A name or a role is blank, or two have one name; names the place.
    """
    seen: dict[str, int] = {}
    for place, member in enumerate(members):
        for key, text in (("name", member.name), ("role", member.role)):
            if not text.strip():
                raise ToolError.invalid_arguments(f"members[{place}].{key}: is blank; every member needs one")
        if len(member.name) > _NAME_MAX_CHARS or not member.name.isprintable():
            raise ToolError.invalid_arguments(
                f"members[{place}].name: expected one line of at most {_NAME_MAX_CHARS} characters"
            )
        first = seen.setdefault(member.name.strip().casefold(), place)
        if first != place:
            raise ToolError.invalid_arguments(
                f"members[{place}].name: {member.name!r} is the name of members[{first}] too; give each its own"
            )


def plan_schema(others: Sequence[Member]) -> dict[str, object]:
    """Return the schema of a plan: an assignment for each member by name."""
    names = [member.name for member in others]
    assignments: dict[str, object] = {
        "type": "object",
        "properties": {name: {"type": "string", "minLength": 1} for name in names},
        "required": names,
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"assignments": assignments},
        "required": ["assignments"],
        "additionalProperties": False,
    }


def read_plan(answer: str) -> Mapping[str, str]:
    """Return the assignments of an answer that fits `plan_schema`; a blank one is left out."""
    body: dict[str, dict[str, object]] = json.loads(answer)
    return {name: text for name, text in body["assignments"].items() if isinstance(text, str) and text.strip()}


def plan_prompt(goal: str, lead: Member, others: Sequence[Member]) -> str:
    """Return what the lead is told first."""
    shown = "\n".join(f"- {one.title}: {_may(one)}" for one in others)
    return (
        f"You are {lead.title}, the lead of a team. Its goal:\n\n{goal}\n\nThe others:\n{shown}\n\n"
        "Make the plan: an assignment for each of them. Look around first if you must; now you only read. They work at "
        "the same time, none waits for another, and each knows the goal, its role and what you assign, nothing else. "
        "Keep those that change things out of each other's way. Each reports to you once, then you write the report."
    )


def member_prompt(goal: str, lead: Member, member: Member, assignment: str) -> str:
    """Return what a member that does not lead is told."""
    return (
        f"You are {member.title}, in a team that {lead.name} leads. Its goal:\n\n{goal}\n\n"
        f"Your assignment:\n\n{assignment}\n\nYou work beside others; you {_may(member)}. "
        "Your last answer is your report to the lead: what you found or did, and what is open."
    )


def alone_prompt(goal: str, lead: Member) -> str:
    """Return what the only member of a team is told."""
    return (
        f"You are {lead.title}, and the whole team. Its goal:\n\n{goal}\n\nYou {_may(lead)}. "
        "Your last answer is the report to whoever set the goal: what you found or did, and what is open."
    )


def report_prompt(works: Sequence[Work], lead: Member) -> str:
    """Return what the lead that made the plan is told when the others have ended."""
    return (
        f"The others have ended. Their reports:\n\n{_reports(works)}\n\n"
        f"Check what matters and do what is missing; you {_may(lead)}. Then your last answer is the team's report to "
        "whoever set the goal, who saw nothing of this: what was found or done, by whom, and what failed or is open."
    )


def again_prompt(goal: str, lead: Member, works: Sequence[Work], why: str) -> str:
    """Return what the lead is told when it starts anew, since it could not end what it began."""
    whole = f"{_start(goal, lead)}\n\n{report_prompt(works, lead)}" if works else alone_prompt(goal, lead)
    return f"{whole}\n\nAn earlier try of yours failed ({why}): look at how things stand before you change any."


def assembled(works: Sequence[Work], why: str) -> str:
    """Return the report of a team whose lead could not write one."""
    shown = [f"The lead wrote no report ({why}). What the members gave:"]
    shown += [f"## {work.member.title}\n\n{_given(work, work.child.output)}" for work in works]
    return "\n\n".join(shown)


def told(report: str, troubles: Sequence[str], team_id: str) -> str:
    """Return the result of a team's work: the report, what did not go well, and the id."""
    parts = [report]
    if troubles:
        parts.append("\n".join(("Not all went well:", *(f"- {trouble}" for trouble in troubles))))
    return "\n\n".join((*parts, f"team_id: {team_id}"))


def no_team(team_id: str) -> ToolError:
    """Return the error of an id that no team has."""
    return ToolError.execution_failed(f"Team not found: {team_id}")


def no_member(team_id: str, name: str, known: Sequence[str]) -> ToolError:
    """Return the error of a name that nobody in a team has."""
    return ToolError.execution_failed(f"Member not found: {name}; the members of {team_id} are {', '.join(known)}")


def _start(goal: str, lead: Member) -> str:
    return f"You are {lead.title}, the lead of a team. Its goal:\n\n{goal}"


def _may(member: Member) -> str:
    return "may change what the work needs" if member.mutating else "only read"


def _reports(works: Sequence[Work]) -> str:
    texts = [work.child.output for work in works]
    room = shares(texts, budget_bytes=REPORTS_MAX_BYTES)
    shown = [
        f"--- {work.member.title} ---\n{_given(work, cut(text, part))}"
        for work, text, part in zip(works, texts, room, strict=True)
    ]
    return "\n\n".join((*shown, "--- end ---"))


def _given(work: Work, text: str) -> str:
    if not work.trouble:
        return text
    return f"{work.trouble}. Its last answer:\n\n{text}" if text.strip() else f"{work.trouble}."
