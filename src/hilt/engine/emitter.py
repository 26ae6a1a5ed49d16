"""Numbers what a run emits and hands it on: to receivers, and to the event log through a journal.

A receiver never delays or fails a call (DSP-74): each is a plain function that must only take the event away;
one that raises is dropped and told once.
"""

import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from hilt.core.event import Event, EventBody, RunResult
from hilt.ports.clock import Clock

logger = logging.getLogger(__name__)

Receiver = Callable[[Event], None]


class Emitter:
    """The event stream of one session. `seq` rises by one with every event.

    The result of a run is its last event: what follows belongs to no run until the next one begins.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        last_seq: int = 0,
        flush: Callable[[bool], Awaitable[None]] | None = None,
    ) -> None:
        self.run = ""
        self.turn = 0
        self.seq = last_seq
        self._clock = clock
        self._flush = flush
        self._receivers: list[Receiver] = []

    @property
    def listened(self) -> bool:
        """Whether anybody receives; without receivers events are only counted."""
        return bool(self._receivers)

    def subscribe(self, receiver: Receiver) -> Callable[[], None]:
        """Add a receiver and return the function that takes it away."""
        self._receivers.append(receiver)

        def leave() -> None:
            if receiver in self._receivers:
                self._receivers.remove(receiver)

        return leave

    def tell(self, make: Callable[[], EventBody]) -> None:
        """Emit what `make` returns, which is made only if somebody receives it."""
        if self._receivers:
            self.emit(make())
        else:
            self.seq += 1

    def emit(self, body: EventBody) -> None:
        """Number the event and hand it to every receiver."""
        self.seq += 1
        run = self.run
        if isinstance(body, RunResult):
            self.run = ""
        if not self._receivers:
            return
        now = self._clock.now() if self._clock is not None else datetime.now(UTC)
        event = Event(seq=self.seq, run=run, turn=self.turn, time=now.isoformat(), body=body)
        for receiver in tuple(self._receivers):
            try:
                receiver(event)
            except Exception:
                logger.exception("event_receiver_failed kind=%s", body.kind)
                if receiver in self._receivers:
                    self._receivers.remove(receiver)

    def silence(self) -> None:
        """Drop every receiver: what is emitted from now on is known to nobody."""
        self._receivers.clear()

    async def barrier(self, *, durable: bool = False) -> None:
        """Return when everything emitted so far is in the event log, on stable storage with `durable`."""
        if self._flush is not None:
            await self._flush(durable)
