"""Prints who keeps which promise: `make promises`, or `python -m tests.promises [PREFIX] [--stale]`.

Without arguments it prints the table, prefix by prefix. With a prefix it lists that prefix's gaps with their
reasons and exits 1 if there is one. With `--stale` it lists what is wrong with the list of gaps.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.requirements import GAPS
from tests.spec import Promise, Proof, benched, marked, promises


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The promises, what proves them, and what is known to be missing; all by id."""

    promises: Mapping[str, Promise]
    tested: Mapping[str, Sequence[Proof]]
    benched: Mapping[str, Sequence[Proof]]
    gaps: Mapping[str, str]

    def is_proved(self, key: str) -> bool:
        """Whether a test or a benchmark names the promise."""
        return key in self.tested or key in self.benched

    def unproved(self) -> list[str]:
        """Return the promises with neither proof nor gap, in the order of the spec."""
        return [key for key in self.promises if not self.is_proved(key) and key not in self.gaps]

    def closed(self) -> list[str]:
        """Return the gaps that have a proof by now, in the order of the list."""
        return [key for key in self.gaps if self.is_proved(key)]

    def unknown(self) -> list[str]:
        """Return one line for each mark and gap whose id the spec does not have."""
        proofs = [proof for found in (self.tested, self.benched) for of_id in found.values() for proof in of_id]
        marks = [f"{proof.id} at {proof.where}" for proof in proofs if proof.id not in self.promises]
        return marks + [f"{key} in the list of gaps" for key in self.gaps if key not in self.promises]


def read() -> Ledger:
    """Return the ledger of this repository.

    Raises:
        SpecError: A spec file, a mark or the list of gaps is malformed.
    """
    return Ledger(promises=promises(), tested=marked(), benched=benched(), gaps=GAPS)


def table(ledger: Ledger) -> str:
    """Return the table, a row for each prefix and the sums; `bench` counts what only a benchmark proves."""
    head = f"{'prefix':8}{'promises':>10}{'tested':>10}{'bench':>10}{'gaps':>10}"
    prefixes = list(dict.fromkeys(promise.prefix for promise in ledger.promises.values()))
    counts = {prefix: _count(ledger, prefix) for prefix in prefixes}
    rows = [_row(prefix, numbers) for prefix, numbers in counts.items()]
    sums = _row("all", [sum(column) for column in zip(*counts.values(), strict=True)])
    return "\n".join([head, *rows, "-" * len(head), sums])


def _count(ledger: Ledger, prefix: str) -> list[int]:
    keys = [key for key, promise in ledger.promises.items() if promise.prefix == prefix]
    in_test = [key for key in keys if key in ledger.tested]
    in_bench = [key for key in keys if key in ledger.benched and key not in ledger.tested]
    return [len(keys), len(in_test), len(in_bench), len(keys) - len(in_test) - len(in_bench)]


def _row(name: str, numbers: Sequence[int]) -> str:
    return f"{name:8}" + "".join(f"{number:>10}" for number in numbers)


def gaps_of(ledger: Ledger, prefix: str) -> list[str]:
    """Return one line for each promise under `prefix` that nothing proves: id, reason and promise."""
    return [
        f"{key}  {ledger.gaps.get(key, 'neither a test nor an entry in tests/requirements.py')}\n        {promise.text}"
        for key, promise in ledger.promises.items()
        if promise.prefix == prefix and not ledger.is_proved(key)
    ]


def stale(ledger: Ledger) -> list[str]:
    """Return one line for each thing that is wrong between spec, proofs and gaps."""
    return [
        *(f"{key} is proved: delete its gap ({_first(ledger, key)})" for key in ledger.closed()),
        *(f"{key} has neither a test nor a gap" for key in ledger.unproved()),
        *(f"{line}: the spec has no such id" for line in ledger.unknown()),
    ]


def _first(ledger: Ledger, key: str) -> str:
    return (ledger.tested.get(key) or ledger.benched[key])[0].where


def main(arguments: Sequence[str]) -> int:
    """Print what is asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.promises", description="Who keeps which promise.")
    parser.add_argument("prefix", nargs="?", help="list the gaps of this prefix, such as DSP")
    parser.add_argument("--stale", action="store_true", help="list proved gaps, bare promises, unknown ids")
    options = parser.parse_args(arguments)
    ledger = read()
    if options.stale:
        return _listing(stale(ledger), "the list of gaps is exact")
    if not options.prefix:
        print(table(ledger))
        return 0
    prefix = options.prefix.upper()
    prefixes = sorted({promise.prefix for promise in ledger.promises.values()})
    if prefix not in prefixes:
        print(f"no promise starts with {prefix!r}; there are {', '.join(prefixes)}", file=sys.stderr)
        return 2
    return _listing(gaps_of(ledger, prefix), f"{prefix}: no gap")


def _listing(lines: Sequence[str], otherwise: str) -> int:
    print("\n".join(lines) or otherwise)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
