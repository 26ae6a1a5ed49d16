"""Five hundred rounds of connect, call, fault and close: what is left behind, by the fault kit's own count."""

import time

from bench.figures import Figure, Options
from tests.faults.matrix.order import Order, carry_out

REQ = ("FLT-76",)

ROUNDS = 500
ROUND_MAX_S = 4.0


def measure(options: Options) -> list[Figure]:
    """Return how many things did not hold after the rounds, none of which is allowed, and the time of a round."""
    rounds = options.times(ROUNDS, 15)
    begun = time.monotonic()
    wrong = carry_out(Order(expects="rounds", rounds=rounds, at_once=1), within_s=rounds * ROUND_MAX_S + 60)
    took = time.monotonic() - begun
    return [
        Figure(
            what=f"things left by {rounds} rounds of faults",
            value=len(wrong),
            unit="",
            limit=1,
            beside="; ".join(wrong)[:200] or "tasks, threads, processes, descriptors, memory as after round 10",
        ),
        Figure(what="a round of connect, call, fault and close", value=took / rounds * 1000, unit="ms"),
    ]
