"""The table of entries, by name, in the order of the sections."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from hilt.faults import (
    entries_answers,
    entries_calls,
    entries_close,
    entries_cut,
    entries_eras,
    entries_honest,
    entries_lists,
    entries_notices,
    entries_random,
    entries_restart,
    entries_size,
    entries_start,
    entries_stdio,
)
from hilt.faults.entry import Case, Entry

__all__ = ["ENTRIES", "LONG_RUN", "cases"]

_MODULES: Final = (
    entries_honest,
    entries_start,
    entries_eras,
    entries_lists,
    entries_calls,
    entries_restart,
    entries_cut,
    entries_size,
    entries_answers,
    entries_notices,
    entries_stdio,
    entries_close,
    entries_random,
)

ENTRIES: Final[Mapping[str, Entry]] = MappingProxyType(
    {entry.name: entry for module in _MODULES for entry in module.ENTRIES}
)


def cases() -> Iterator[Case]:
    """Yield every way to run every entry."""
    for entry in ENTRIES.values():
        yield from entry.cases()


LONG_RUN: Final = (
    "honest",
    "restart-404",
    "reset-after-delivery",
    "cut-stream",
    "idle-close",
    "declared",
    "asking",
    "exit-mid-call",
    "noise",
    "delete-500",
)
"""A mix of entries for runs of many rounds (FLT-76): each connects well, and each leaves something behind to clear."""
