"""Time and ids."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time and makes ids; a test's clock stands still until it is moved."""

    def now(self) -> datetime:
        """Return the wall-clock time, in UTC with its zone."""
        ...

    def monotonic(self) -> float:
        """Return seconds from a fixed point that never goes back."""
        ...

    def new_id(self) -> str:
        """Return a new UUIDv7 as 32 hex digits; later ids sort after earlier ones."""
        ...
