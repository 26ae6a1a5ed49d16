"""A run as its caller holds it: an iterator over events that ends with the result."""

from collections import deque
from types import TracebackType
from typing import Self

import anyio

from hilt.core.event import Event, RunResult


class Run:
    """The events of one run, in order, the last one its result; nothing is lost to a slow reader.

    Used as an async context manager, or closed with `aclose`, it cancels the run when it is left early. Who drives
    the run does so inside `scope`, which may be cancelled before it is entered.
    """

    def __init__(self, id: str = "") -> None:
        self.id = id
        self.scope = anyio.CancelScope()
        self.result: RunResult | None = None
        self.error: Exception | None = None
        self._kept = True
        self._events: deque[Event] = deque()
        self._news = anyio.Event()
        self._done = anyio.Event()

    def take(self, event: Event) -> None:
        """Receive one event from the emitter; what follows the result is of no run."""
        if self.result is not None:
            return
        if isinstance(event.body, RunResult):
            self.result = event.body
        if self._kept:
            self._events.append(event)
            self._news.set()

    def forget(self) -> None:
        """Drop the events that were not read and those to come: nobody will iterate. The run goes on."""
        self._kept = False
        self._events.clear()

    def failed(self, error: Exception) -> None:
        """Note the fault that ended the run; iterating raises it after the last event."""
        self.error = error

    def end(self) -> None:
        """Mark the run as ended."""
        self._done.set()
        self._news.set()

    async def finished(self) -> RunResult | None:
        """Wait for the end and return the result, None when a fault ended the run before it had one."""
        await self._done.wait()
        return self.result

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._done.is_set():
                if self.error is not None:
                    raise self.error
                raise StopAsyncIteration
            if self._news.is_set():
                self._news = anyio.Event()
            await self._news.wait()
        return self._events.popleft()

    async def aclose(self) -> None:
        """Cancel the run if it is under way, and wait for its end; events that were not read can still be."""
        self.scope.cancel()
        await self._done.wait()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self.aclose()
