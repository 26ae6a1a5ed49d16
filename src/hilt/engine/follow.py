"""The events of a session as its readers get them: what is stored, then what comes, each once and in order.

A reader never delays a run: one that falls too far behind loses what waits for it, and is told which numbers.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import anyio

from hilt.core.event import Event, event_to_json

BEHIND_MAX: Final = 1024

EventObject = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Events that a reader missed, from the first number to the last; the log has them."""

    first: int
    last: int


class Follower:
    """One reader of one session, behind the event of number `after`; with `run` of that run alone.

    `end` ends it after what waits; a run's own follower ends with the run's result.
    """

    def __init__(self, *, after: int = 0, run: str = "", behind_max: int = BEHIND_MAX) -> None:
        self._last = after
        self._run = run
        self._behind_max = behind_max
        self._waiting: deque[Event] = deque()
        self._missed: Gap | None = None
        self._ended = False
        self._news = anyio.Event()

    def take(self, event: Event) -> None:
        """Receive one event; with too many waiting, all of them and this one are given up."""
        if self._ended or (self._run and event.run != self._run):
            return
        if len(self._waiting) >= self._behind_max or self._missed is not None:
            self._miss(event)
        else:
            self._waiting.append(event)
        if self._run and event.body.kind == "result":
            self._ended = True
        self._news.set()

    def _miss(self, event: Event) -> None:
        """Give up what waits; what a reader is told of once more is what comes after it has read of the gap."""
        first = self._missed.first if self._missed is not None else self._waiting[0].seq
        self._waiting.clear()
        self._missed = Gap(first=first, last=event.seq)

    def end(self) -> None:
        """Let the reader end when it has read what waits."""
        self._ended = True
        self._news.set()

    def is_new(self, seq: int) -> bool:
        """Note that an event is given to the reader; False where it has had it."""
        if seq <= self._last:
            return False
        self._last = seq
        return True

    async def next(self) -> EventObject | Gap | None:
        """Return the next live event that the reader has not had, or the gap before it; None at the end."""
        while True:
            found = self._pop()
            if found is not None or self._ended:
                return found
            self._news = anyio.Event()
            await self._news.wait()

    def _pop(self) -> EventObject | Gap | None:
        missed, self._missed = self._missed, None
        if missed is not None and missed.last > self._last:
            gap = Gap(first=max(missed.first, self._last + 1), last=missed.last)
            self._last = missed.last
            return gap
        while self._waiting:
            event = self._waiting.popleft()
            if self.is_new(event.seq):
                return event_to_json(event)
        return None


class Followers:
    """The readers of all sessions, by session; they stay while it is closed and opened again."""

    def __init__(self) -> None:
        self._of: dict[str, list[Follower]] = {}

    def add(self, session_id: str, follower: Follower) -> Callable[[], None]:
        """Add a reader and return the function that takes it away."""
        self._of.setdefault(session_id, []).append(follower)

        def leave() -> None:
            followers = self._of.get(session_id, [])
            if follower in followers:
                followers.remove(follower)
            if not followers:
                self._of.pop(session_id, None)

        return leave

    def tell(self, session_id: str, event: Event) -> None:
        """Hand an event to the readers of its session."""
        for follower in tuple(self._of.get(session_id, ())):
            follower.take(event)

    def end(self, session_id: str) -> None:
        """End the readers of a session that is gone."""
        for follower in self._of.pop(session_id, []):
            follower.end()
