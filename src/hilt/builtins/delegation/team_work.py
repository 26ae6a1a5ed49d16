"""How a team works: the lead plans, the others work side by side, the lead writes the report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import anyio

from hilt.builtins.delegation.attempt import attempt
from hilt.core.child import Child, ChildLimits, ChildOrder, short
from hilt.core.team import (
    UNPLANNED,
    Member,
    Work,
    again_prompt,
    alone_prompt,
    assembled,
    member_prompt,
    plan_prompt,
    plan_schema,
    read_plan,
    report_prompt,
)
from hilt.ports.child import ChildAgents

PLAN_S: Final = 900.0
WORK_S: Final = 3600.0
REPORT_S: Final = 1800.0

Progress = Callable[[float, float | None, str], None]
Noted = Callable[[Member, Child], None]


class TeamWork:
    """The work of one team, whose first member leads.

    `note` is told of each child agent as soon as it works as a member. After `report` `troubles` says what failed, and
    `achieved` whether anybody gave anything.
    """

    def __init__(
        self,
        children: ChildAgents,
        goal: str,
        members: Sequence[Member],
        *,
        call_id: str,
        note: Noted,
        progress: Progress,
    ) -> None:
        self.troubles: list[str] = []
        self.achieved = False
        self._children = children
        self._goal = goal
        self._lead, *self._others = members
        self._call_id = call_id
        self._note = note
        self._progress = progress
        self._steps = 0

    async def report(self) -> str:
        """Let the team work and return its report, which is never empty."""
        lead = ""
        works: Sequence[Work] = ()
        if self._others:
            plan = await self._plan()
            lead = plan.id
            works = await self._work(self._assignments(plan))
        self.achieved = any(work.child.output.strip() for work in works)
        return await self._written(lead, works)

    async def _plan(self) -> Child:
        order = self._order(plan_prompt(self._goal, self._lead, self._others), self._lead, "plans", seconds=PLAN_S)
        order = replace(order, read_only=True, output_schema=plan_schema(self._others))
        return await self._as(self._lead, order, PLAN_S)

    def _assignments(self, plan: Child) -> Mapping[str, str]:
        """Return what the plan assigns; without one everybody works on the goal itself."""
        if plan.state == "completed":
            return read_plan(plan.output)
        self.troubles.append(
            f"{self._lead.name} made no plan ({short(plan.error, 500)}), so each member worked on the goal itself"
        )
        return {}

    async def _work(self, assignments: Mapping[str, str]) -> Sequence[Work]:
        """Let all members but the lead work at the same time, and return what they did, in their order."""
        ended: dict[str, Work] = {}

        async def one(member: Member) -> None:
            assignment = assignments.get(member.name, UNPLANNED)
            prompt = member_prompt(self._goal, self._lead, member, assignment)
            child = await self._as(member, self._order(prompt, member, assignment, seconds=WORK_S), WORK_S)
            ended[member.name] = Work(member=member, child=child)

        async with anyio.create_task_group() as group:
            for member in self._others:
                group.start_soon(one, member)
        works = [ended[member.name] for member in self._others]
        self.troubles += [work.trouble for work in works if work.trouble]
        return works

    async def _written(self, lead: str, works: Sequence[Work]) -> str:
        """Return the lead's report: it goes on or starts, then once more anew, else it is put together here."""
        prompt = report_prompt(works, self._lead) if lead else alone_prompt(self._goal, self._lead)
        if works and not lead:
            prompt = again_prompt(self._goal, self._lead, works, "it never started")
        child = first = await self._report_by(prompt, resume=lead)
        if not _wrote(first):
            why = _why(first)
            self.troubles.append(f"{self._lead.name} did not write the report at first ({why})")
            child = await self._report_by(again_prompt(self._goal, self._lead, works, why))
        if _wrote(child):
            self.achieved = True
            return child.output
        own = child if child.output.strip() else replace(child, output=first.output)
        self.achieved = self.achieved or bool(own.output.strip())
        return assembled([*works, Work(member=self._lead, child=own)], _why(child))

    async def _report_by(self, prompt: str, *, resume: str = "") -> Child:
        order = self._order(prompt, self._lead, "writes the report", seconds=REPORT_S)
        return await self._as(self._lead, replace(order, resume=resume), REPORT_S)

    def _order(self, prompt: str, member: Member, what: str, *, seconds: float) -> ChildOrder:
        return ChildOrder(
            prompt=prompt,
            description=f"{member.name}: {short(what, 60)}",
            limits=ChildLimits(max_seconds=seconds),
            read_only=not member.mutating,
            waits=True,
            call_id=self._call_id,
        )

    async def _as(self, member: Member, order: ChildOrder, within_s: float) -> Child:
        """Let a child agent work as a member and return how it ended."""
        child = await attempt(
            self._children,
            order,
            within_s=within_s,
            progress=lambda _, text: self._tell(f"{member.name}: {text}"),
            begun=lambda child: self._note(member, child),
        )
        self._steps += 1
        self._tell(f"{member.name}: {child.state}")
        return child

    def _tell(self, text: str) -> None:
        self._progress(self._steps, len(self._others) + (2 if self._others else 1), text)


def _wrote(child: Child) -> bool:
    return child.state == "completed" and bool(child.output.strip())


def _why(child: Child) -> str:
    return short(child.error or "its answer was empty", 500)
