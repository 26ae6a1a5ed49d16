"""Turns by key: those who want the same key wait for one another, those who want others do not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True)
class _Turn:
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    wanted: int = 0


class KeyedTurns:
    """Hands out turns; nothing is kept of a key that nobody wants."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}

    def taken(self, key: str) -> bool:
        """Whether somebody has the turn of a key, or waits for it."""
        return key in self._turns

    @asynccontextmanager
    async def of(self, key: str) -> AsyncIterator[None]:
        """Have the turn of a key while the block runs; it is not given twice to one who has it."""
        turn = self._turns.setdefault(key, _Turn())
        turn.wanted += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.wanted -= 1
            if not turn.wanted:
                del self._turns[key]
