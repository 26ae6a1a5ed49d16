"""Section 8: many rounds of connect, call, fault and close."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle, islice

from hilt.faults.entry import Case
from hilt.faults.table import ENTRIES, LONG_RUN
from tests.faults.matrix.trial import Trial
from tests.faults.matrix.watch import Footprint, grown
from tests.faults.matrix.weight import MIB, resident

SETTLED_AFTER = 10
GROWTH_MAX_MIB = 20


def mix(count: int) -> Iterator[Case]:
    """Yield a case for each round: the mix again and again, each time the next way to run each entry."""
    ways = {name: cycle(list(ENTRIES[name].cases())) for name in LONG_RUN}
    return islice((next(ways[name]) for name in cycle(LONG_RUN)), count)


async def one_round(trial: Trial) -> None:
    """Connect, call, meet the fault, close."""
    async with trial.mounted(connect_timeout_s=6.0) as far:
        await far.call("add_note")
        await far.call("look")


@dataclass(slots=True)
class Rounds:
    """An expectation that also compares what the process holds with what it held after round 10."""

    total: int
    done: int = 0
    before: Footprint = field(default_factory=Footprint)
    memory: int = 0

    async def __call__(self, trial: Trial) -> None:
        """Run a round."""
        await one_round(trial)
        self.done += 1
        if self.done == SETTLED_AFTER:
            self.before, self.memory = Footprint.now(), resident()
        elif self.done == self.total:
            trial.problems += [f"more than after round {SETTLED_AFTER}: {line}" for line in await grown(self.before)]
            more = (resident() - self.memory) / MIB
            if more > GROWTH_MAX_MIB:
                trial.problems.append(f"memory grew by {more:.0f} MiB after round {SETTLED_AFTER}")
