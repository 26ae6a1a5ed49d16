"""A clock that stands still and makes the same ids in every run."""

from datetime import UTC, datetime, timedelta

_START = datetime(2026, 1, 1, tzinfo=UTC)
_COUNTER_BITS = 62


class FixedClock:
    """Stands at one moment; ids are UUIDv7 of that moment, numbered from 1; see `hilt.ports.clock.Clock`."""

    def __init__(self, start: datetime = _START) -> None:
        self._start = start
        self._elapsed_s = 0.0
        self._made = 0

    def now(self) -> datetime:
        """Return the moment at which the clock stands, in UTC."""
        return self._start.astimezone(UTC) + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        """Return the seconds since the clock's start: 0.0."""
        return self._elapsed_s

    def new_id(self) -> str:
        """Return the next id: the moment in milliseconds, the version, the variant, a counter."""
        self._made += 1
        milliseconds = int(self.now().timestamp() * 1000)
        value = (milliseconds << 80) | (0x7 << 76) | (0b10 << _COUNTER_BITS) | self._made
        return f"{value:032x}"
