"""One call through the whole funnel, against a direct call and against the peers, in alternating rounds.

hilt runs with 20 rules, one async Python hook and the audit in a JSON-lines store; the peers have none of these. What
counts is processor time, the median over the turns of a round, of each contestant's quietest round.
"""

import sys
from pathlib import Path

from bench.contenders import CONTENDERS
from bench.figures import Figure, Options, number
from bench.timing import answer_of

REQ = ("DSP-98",)

DSP_98_US = 85.0
AIM_US = {"async": 60.0, "sync": 110.0}
BARE_AIM_US = 15.0
Answers = dict[str, list[dict[str, float]]]


def measure(options: Options) -> list[Figure]:
    """Return the cost of a call for an async and a plain function, with and without everything."""
    pythons: dict[str, Path] = {
        name: Path(sys.executable) for name in ("direct", "hilt_agent", "hilt_bare", "hilt_session")
    }
    for contender in CONTENDERS:
        python = contender.python()
        if python is not None:
            pythons[contender.module] = python
    answers: Answers = {name: [] for name in pythons}
    for round_ in range(options.times(4)):
        names = list(pythons)
        for name in names[round_:] + names[:round_]:
            print(".", end="", flush=True, file=sys.stderr)
            answers[name].append(answer_of("bench.turns", name, options.times(20, 2), python=pythons[name]))
    return [figure for kind in ("async", "sync") for figure in _figures(answers, kind)]


def _quiet(answers: Answers, name: str, kind: str, clock: str = "cpu") -> float:
    return min(answer[f"{kind}_{clock}"] for answer in answers[name])


def _figures(answers: Answers, kind: str) -> list[Figure]:
    direct = _quiet(answers, "direct", kind)
    peers = {name: _quiet(answers, name, kind) for name in answers if name in {c.module for c in CONTENDERS}}
    fastest = min(peers, key=lambda name: peers[name], default="")
    limits = [DSP_98_US] if kind == "async" else []
    limits += [peers[fastest]] if fastest else []
    full, bare = _quiet(answers, "hilt_agent", kind), _quiet(answers, "hilt_bare", kind)
    wall = _quiet(answers, "hilt_agent", kind, "wall")
    than = f"{full / peers[fastest]:.2f} x {fastest}; " if fastest else "no peer installed; "
    beside = f"{than}{number(full / direct)} x direct; {number(wall)} µs on the wall"
    return [
        Figure(
            what=f"call of {kind} tool: rules, hook, audit",
            value=full,
            unit="µs",
            limit=min(limits, default=None),
            aim=AIM_US[kind],
            beside=beside,
        ),
        Figure(
            what=f"call of {kind} tool: nothing on",
            value=bare,
            unit="µs",
            aim=BARE_AIM_US if kind == "async" else None,
            beside=f"{bare / peers[fastest]:.2f} x {fastest}" if fastest else "",
        ),
        *(
            Figure(what=f"  {kind}: {name}", value=cost, unit="µs", beside=f"hilt, all on: {full / cost:.2f} x")
            for name, cost in sorted(peers.items(), key=lambda item: item[1])
        ),
        Figure(what=f"  {kind}: hilt, in a stored session", value=_quiet(answers, "hilt_session", kind), unit="µs"),
        Figure(what=f"  {kind}: direct call", value=direct, unit="µs"),
    ]
