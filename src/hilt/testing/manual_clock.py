"""A clock that moves only when a test moves it."""

from datetime import UTC, datetime

import anyio

from hilt.adapters.inmemory.clock import FixedClock

_START = datetime(2026, 1, 1, tzinfo=UTC)


class ManualClock(FixedClock):
    """Stands still until `advance`; tasks can wait for a moment without any time passing in the test."""

    def __init__(self, start: datetime = _START) -> None:
        super().__init__(start)
        self._waiting: list[tuple[float, anyio.Event]] = []

    def advance(self, seconds: float) -> None:
        """Move both clocks forward and wake those whose moment has come.

        Raises:
            ValueError: `seconds` is negative; a clock never goes back.
        """
        if seconds < 0:
            raise ValueError(f"a clock cannot go back by {-seconds} s")
        self._elapsed_s += seconds
        due = [event for moment, event in self._waiting if moment <= self._elapsed_s]
        self._waiting = [entry for entry in self._waiting if entry[0] > self._elapsed_s]
        for event in due:
            event.set()

    async def reached(self, moment_s: float) -> None:
        """Return when `monotonic` is at `moment_s` or later."""
        if self._elapsed_s < moment_s:
            event = anyio.Event()
            self._waiting.append((moment_s, event))
            await event.wait()

    async def sleep(self, seconds: float) -> None:
        """Return when the clock was moved on by `seconds`."""
        await self.reached(self._elapsed_s + seconds)

    @property
    def waiting(self) -> int:
        """How many tasks wait for a later moment."""
        return len(self._waiting)
