"""The machine's clock, and UUIDv7 ids."""

import time
from datetime import UTC, datetime

import uuid_utils


class SystemClock:
    """Tells the machine's time; see `hilt.ports.clock.Clock`."""

    def now(self) -> datetime:
        """Return the wall-clock time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the seconds of the monotonic clock."""
        return time.monotonic()

    def new_id(self) -> str:
        """Return a new UUIDv7 as 32 hex digits, later than every one this process made before."""
        return uuid_utils.uuid7().hex
