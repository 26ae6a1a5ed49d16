"""Every entry of the kit against hilt's own client, in every era and over every transport that it fits.

What each entry asks of a client is in `matrix/`; what holds after each of them (clean, usable, once, quiet, told) is in
`matrix/trial.py` and `matrix/watch.py`. A failure names entry, kind, transport, era and what did not hold.
"""

import sys
from collections.abc import Iterator
from typing import Final

import pytest

from hilt.faults.entry import Case
from hilt.faults.table import ENTRIES, cases
from tests.faults.matrix.expectations import ALL
from tests.faults.matrix.order import Order, carry_out, ids, table

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(sys.platform != "linux", reason="what is left behind is looked up in /proc"),
]

KNOWN: Final[dict[str, str]] = {}
"""Patterns of cases that hilt's client does not stand yet, with the reason; one that passes has to go."""

GREAT: Final = ("big-list", "huge-text", "huge-json", "huge-base64", "over-limit", "gzip-bomb", "stderr-flood")
"""They run one after another, because memory is measured."""

PRECISE: Final = ("slow-start", "schema-bomb", "dead-for-good", "bad-pattern")
"""They run one after another, because a few milliseconds count."""

APART: Final = ("random-messages",)
"""Of section 8, in a module of its own."""


def picked(*sections: int) -> Iterator[Case]:
    """Yield the cases of some sections that run side by side."""
    alone = {*GREAT, *PRECISE, *APART}
    return (case for case in cases() if ENTRIES[case.entry].section in sections and case.entry not in alone)


def named(*entries: str) -> Iterator[Case]:
    """Yield the cases of some entries."""
    return (case for case in cases() if case.entry in entries)


def holds(chosen: Iterator[Case], *, at_once: int = 16) -> None:
    """Run the cases; fail with a table of what did not hold."""
    lines = carry_out(Order(ids=ids(chosen), at_once=at_once, known=list(KNOWN)))
    assert lines == [], table(lines)


@pytest.mark.req("FLT-04")
def test_every_entry_has_an_expectation_and_is_run() -> None:
    assert list(ENTRIES) == [name for name in ENTRIES if name in ALL]
    assert set(ALL) == set(ENTRIES)
    run_here = [*picked(*range(10)), *named(*GREAT, *PRECISE, *APART)]
    assert sorted(case.id for case in run_here) == sorted(case.id for case in cases())


@pytest.mark.req("FLT-04", "FLT-05", "FLT-06", "FLT-07", "FLT-08", "FLT-09")
@pytest.mark.req("FLT-10", "FLT-11", "FLT-12", "FLT-14", "FLT-15", "FLT-16", "FLT-17", "FLT-18", "FLT-19")
@pytest.mark.req("FLT-20", "FLT-21", "FLT-22", "FLT-23", "FLT-24")
def test_what_goes_wrong_at_start_costs_that_server_alone() -> None:
    holds(picked(1, 2))


@pytest.mark.req("FLT-05", "FLT-06", "FLT-07", "FLT-08", "FLT-09")
@pytest.mark.req("FLT-27", "FLT-28", "FLT-29", "FLT-30", "FLT-31", "FLT-32", "FLT-33", "FLT-34", "FLT-35", "FLT-36")
@pytest.mark.req("FLT-38", "FLT-39", "FLT-40", "FLT-41", "FLT-42", "FLT-43", "FLT-44", "FLT-45", "FLT-46", "FLT-47")
@pytest.mark.req("FLT-48", "FLT-51", "FLT-52", "FLT-53", "FLT-54", "FLT-55")
def test_what_goes_wrong_in_a_call_ends_as_it_should() -> None:
    holds(picked(3))


@pytest.mark.req("FLT-05", "FLT-06", "FLT-07", "FLT-08", "FLT-09")
@pytest.mark.req("FLT-58", "FLT-59", "FLT-60", "FLT-61", "FLT-63", "FLT-64", "FLT-66", "FLT-67")
def test_notices_questions_pipes_and_late_ends_are_borne() -> None:
    holds(picked(4, 5, 6))


@pytest.mark.req("FLT-13", "FLT-26", "FLT-37", "FLT-57")
def test_nobody_waits_where_nobody_need_wait() -> None:
    holds(named(*PRECISE), at_once=1)


@pytest.mark.req("FLT-25", "FLT-49", "FLT-50", "FLT-62")
def test_what_is_great_costs_bounded_time_and_memory() -> None:
    holds(named(*GREAT), at_once=1)
