"""Results kept for later paging: what was too long to be shown at once."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedText:
    """A kept result: its uncut text and, where the result was structured, its JSON text."""

    text: str
    structured: str | None = None


class RetainedResults(Protocol):
    """Results of one session under handles, in memory; the oldest go first when there are too many."""

    def keep(self, text: str, *, structured: str | None = None) -> str:
        """Keep a result and return its handle, "" when it is too large to be kept."""
        ...

    def get(self, handle: str) -> RetainedText:
        """Return the result of a handle of this session.

        Raises:
            LookupError: The handle is unknown, of another session, or its result is gone; it says which.
        """
        ...
