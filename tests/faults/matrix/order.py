"""What is to be run, and how a test has it run in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from hilt.faults.entry import Case

ROOT: Final = Path(__file__).parents[3]
RUN_MAX_S: Final = 220.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The cases with these ids, or so many rounds of the mix; `expects` is `table`, `closing` or `rounds`."""

    ids: Sequence[str] = ()
    at_once: int = 16
    known: Sequence[str] = ()
    expects: str = "table"
    rounds: int = 0


def carry_out(order: Order, *, within_s: float = RUN_MAX_S) -> list[str]:
    """Run it in another process, which is neither measured nor slowed by what measures this one.

    Returns one line for each thing that did not hold, what was written to standard error among them.
    """
    variables = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    ran = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-m", "tests.faults.matrix"],
        cwd=ROOT,
        env=variables,
        input=json.dumps(asdict(order)),
        capture_output=True,
        text=True,
        check=False,
        timeout=within_s,
    )
    said = [f"standard error: {ran.stderr[-3000:]}"] if ran.stderr else []
    return [*json.loads(ran.stdout or '["the run broke"]'), *said]


def ids(cases: Iterable[Case]) -> list[str]:
    """Return the ids of cases."""
    return [case.id for case in cases]


def table(lines: Sequence[str]) -> str:
    """Return the lines as one table, by entry."""
    return "\n" + "\n".join(sorted(lines))
