"""Runs cases in a process of its own, which nothing measures: `python -m tests.faults.matrix`.

It takes one JSON object from standard input, an `Order`, and prints what did not hold as a JSON list. What it writes
to standard error is what a user would see, and so a failure too.
"""

import json
import sys
import tempfile
from pathlib import Path

import anyio

from hilt.faults.table import cases
from tests.faults.matrix.leaving import closing
from tests.faults.matrix.order import Order
from tests.faults.matrix.rounds import Rounds, mix
from tests.faults.matrix.run import run
from tests.faults.matrix.table import Expectation


def expectation_of(order: Order) -> Expectation | None:
    """Return what is expected instead of what the table says."""
    match order.expects:
        case "closing":
            return closing
        case "rounds":
            return Rounds(total=order.rounds)
        case _:
            return None


def main() -> None:
    """Run what the order says."""
    order = Order(**json.load(sys.stdin))
    wanted = set(order.ids)
    chosen = list(mix(order.rounds)) if order.rounds else [case for case in cases() if case.id in wanted]

    async def all_of_them(folder: Path) -> list[str]:
        return await run(chosen, folder, known=order.known, at_once=order.at_once, expectation=expectation_of(order))

    with tempfile.TemporaryDirectory() as folder:
        found = anyio.run(all_of_them, Path(folder))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
