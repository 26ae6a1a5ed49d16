"""Prints the figures: `python -m bench [--short] [--peers] [NAME…]`.

Without names every figure is measured. `--peers` first makes an environment in `.venv-bench/` for each peer that is
missing. Exits 1 when a limit is missed; `--short` runs everything once and small and holds against no limit.
"""

import argparse
import sys
import time
from importlib import import_module

from bench.contenders import install
from bench.figures import Figure, Options, table

NOTE = (
    "Calls: processor time, the median of the quietest round. Start-up, overlap: the best round. Audit, lookups,\n"
    "decisions: medians. Other work on the machine moves the numbers; compare the ratios within one run."
)
SCRIPTS = (
    "call",
    "audit",
    "startup",
    "overlap",
    "lookup",
    "decide",
    "idle",
    "search",
    "results",
    "memory",
    "mcp_call",
    "mcp_mount",
    "mcp_idle",
    "mcp_rounds",
    "tasks",
    "peer",
    "children",
)


def main() -> int:
    """Measure what is asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what hilt costs.")
    parser.add_argument("--short", action="store_true", help="run everything once and small, without limits")
    parser.add_argument("--peers", action="store_true", help="install the peers that are missing into .venv-bench/")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(SCRIPTS)}; all by default")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in SCRIPTS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(SCRIPTS)}")
    if given.peers:
        for failure in install():
            print(f"not installed: {failure}", file=sys.stderr)
    figures: list[Figure] = []
    for name in given.names or SCRIPTS:
        begun = time.monotonic()
        print(f"measuring {name} …", end=" ", flush=True, file=sys.stderr)
        figures += import_module(f"bench.{name}").measure(Options(short=given.short))
        print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)
    print(table(figures))
    missed = [figure.what for figure in figures if figure.missed]
    print(NOTE)
    if missed and not given.short:
        print(f"{len(missed)} limit{'s' if len(missed) > 1 else ''} missed: {'; '.join(missed)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
