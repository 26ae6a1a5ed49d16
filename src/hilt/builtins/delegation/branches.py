"""Runs the branches of one Parallel call, and those who compare what they gave."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import anyio

from hilt.builtins.delegation.attempt import attempt, unstarted
from hilt.core.branch import (
    COMPARER,
    Branch,
    Choice,
    Rating,
    best_rated,
    branch_prompt,
    choice_schema,
    judge_prompt,
    rating_prompt,
    rating_schema,
    read_choice,
    read_rating,
)
from hilt.core.child import Child, ChildLimits, ChildOrder, ToolAccess, short
from hilt.ports.child import ChildAgents

BRANCHES_S: Final = 3600.0
COMPARING_S: Final = 600.0
OVERTAKEN: Final = "another branch succeeded first"

Progress = Callable[[float, float | None, str], None]


class Branches:
    """The branches of one call; `first` is the number of the one that succeeded first, 0 while none has."""

    def __init__(
        self,
        children: ChildAgents,
        tasks: Sequence[str],
        *,
        shared: str,
        read_only: bool,
        call_id: str,
        progress: Progress,
    ) -> None:
        self.first = 0
        self._children = children
        self._tasks = tasks
        self._shared = shared
        self._read_only = read_only
        self._call_id = call_id
        self._progress = progress
        self._begun: dict[int, Child] = {}
        self._ended: dict[int, Branch] = {}

    async def run(self, *, until_first: bool) -> Sequence[Branch]:
        """Return every branch in the order of the tasks; with `until_first` the first success cancels the rest."""
        async with anyio.create_task_group() as group:
            for number, task in enumerate(self._tasks, start=1):
                group.start_soon(self._run, number, task, group.cancel_scope if until_first else None)
        for number, task in enumerate(self._tasks, start=1):
            if number not in self._ended:
                self._ended[number] = Branch(number=number, task=task, child=await self._overtaken(number))
        return [self._ended[number] for number in sorted(self._ended)]

    async def _run(self, number: int, task: str, rest: anyio.CancelScope | None) -> None:
        order = ChildOrder(
            prompt=branch_prompt(task, self._shared),
            description=f"branch {number} of {len(self._tasks)}: {short(task, 60)}",
            limits=ChildLimits(max_seconds=BRANCHES_S),
            read_only=self._read_only,
            waits=True,
            call_id=self._call_id,
        )
        child = await attempt(
            self._children,
            order,
            within_s=BRANCHES_S,
            progress=lambda _, text: self._tell(text),
            begun=partial(self._begun.__setitem__, number),
        )
        branch = self._ended[number] = Branch(number=number, task=task, child=child)
        self._tell(f"branch {number} {'succeeded' if branch.succeeded else 'failed'}")
        if branch.succeeded and not self.first:
            self.first = number
            if rest is not None:
                rest.cancel()

    async def _overtaken(self, number: int) -> Child:
        begun = self._begun.get(number)
        child = unstarted(OVERTAKEN) if begun is None else await self._children.report(begun.id)
        return child if child.state == "completed" else replace(child, state="cancelled", error=OVERTAKEN)

    def _tell(self, text: str) -> None:
        self._progress(len(self._ended), len(self._tasks), text)


class Comparison:
    """Compares branches. `choice` is None where it failed; `trouble` says what did not work, "" if all did."""

    def __init__(self, children: ChildAgents, *, shared: str, criteria: str, call_id: str) -> None:
        self.choice: Choice | None = None
        self.ratings: list[Rating] = []
        self.trouble = ""
        self._children = children
        self._shared = shared
        self._criteria = criteria
        self._call_id = call_id

    async def judge(self, branches: Sequence[Branch]) -> None:
        """Let one child see all results and name one."""
        prompt = judge_prompt(branches, shared=self._shared, criteria=self._criteria)
        schema = choice_schema([branch.number for branch in branches])
        child = await self._ask(prompt, schema, "judge of all branches")
        if child.state == "completed":
            self.choice = read_choice(child.output)
        else:
            self.trouble = f"the judge failed: {short(child.error, 500)}"

    async def rate(self, branches: Sequence[Branch]) -> None:
        """Let a child for each result rate it by itself, at the same time, and choose the best rated."""
        failed: dict[int, str] = {}

        async def one(branch: Branch) -> None:
            prompt = rating_prompt(branch, shared=self._shared, criteria=self._criteria)
            child = await self._ask(prompt, rating_schema(), f"rating of branch {branch.number}")
            if child.state == "completed":
                self.ratings.append(read_rating(branch.number, child.output))
            else:
                failed[branch.number] = short(child.error, 200)

        async with anyio.create_task_group() as group:
            for branch in branches:
                group.start_soon(one, branch)
        told = [f"task {number}: {failed[number]}" for number in sorted(failed)]
        self.trouble = f"not rated: {'; '.join(told)}" if told else ""
        self.choice = best_rated(self.ratings) if self.ratings else None

    async def _ask(self, prompt: str, schema: dict[str, object], description: str) -> Child:
        order = ChildOrder(
            prompt=prompt,
            description=description,
            system_prompt=COMPARER,
            access=ToolAccess(policy="allow_list"),
            limits=ChildLimits(max_seconds=COMPARING_S),
            read_only=True,
            output_schema=schema,
            waits=True,
            call_id=self._call_id,
        )
        return await attempt(self._children, order, within_s=COMPARING_S)
