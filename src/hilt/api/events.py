"""Event streams over HTTP (server-sent events): frames, keep-alive comments, and what ends a stream.

This response is our own: sse-starlette cuts every stream as soon as a signal comes, pings in a busy stream too, and
keeps a task that nobody owns; runs are to go on for their grace (docs/decisions/0015).
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hilt.api.errors import error_text, refusal
from hilt.api.service import Service
from hilt.api.wire import encode
from hilt.core.redaction import Redactor
from hilt.engine.follow import EventObject, Follower, Gap
from hilt.engine.run import Run

logger = logging.getLogger(__name__)

KEEP_ALIVE = b": keep-alive\n\n"
LEAVE_S = 10.0
LAST_SEND_S = 1.0


def frame(kind: str, data: object, redactor: Redactor, *, seq: int | None = None) -> bytes:
    """Return one frame; the id is left out where `seq` is None."""
    head = b"" if seq is None else b"id: %d\n" % seq
    return b"%sevent: %s\ndata: %s\n\n" % (head, kind.encode(), encode(data, redactor))


def event_frame(event: EventObject, redactor: Redactor) -> bytes:
    """Return the frame of an event."""
    return frame(str(event["type"]), event, redactor, seq=seq_of(event))


def gap_frame(gap: Gap, redactor: Redactor) -> bytes:
    """Return the frame that tells of missed events; its id is the number behind which to fetch them."""
    return frame("gap", {"type": "gap", "from": gap.first, "to": gap.last}, redactor, seq=gap.first - 1)


def seq_of(event: EventObject) -> int:
    """Return the number of an event as it is stored."""
    seq = event.get("seq")
    return seq if isinstance(seq, int) else 0


async def stored_frames(
    service: Service, events: Sequence[EventObject], follower: Follower
) -> AsyncGenerator[bytes, None]:
    """Yield stored events, and note them as given."""
    for event in events:
        if follower.is_new(seq_of(event)):
            yield event_frame(event, service.redactor)


async def live_frames(
    service: Service, follower: Follower, *, before_last: Run | None = None
) -> AsyncGenerator[bytes, None]:
    """Yield what comes until the follower ends, and comments in silence.

    With `before_last` a run's result is given when the run is stored, so that its reader may prompt again at once.
    """
    while True:
        with anyio.move_on_after(service.silence_s) as silence:
            found = await follower.next()
        if silence.cancelled_caught:
            yield KEEP_ALIVE
        elif found is None:
            return
        elif isinstance(found, Gap):
            yield gap_frame(found, service.redactor)
        else:
            if before_last is not None and found["type"] == "result":
                await before_last.finished()
            yield event_frame(found, service.redactor)


async def run_frames(service: Service, follower: Follower, run: Run) -> AsyncGenerator[bytes, None]:
    """Yield the events of a run, and an `error` frame where a fault ended it without a result."""
    async with aclosing(live_frames(service, follower, before_last=run)) as frames:
        async for one in frames:
            yield one
    if service.stopped.is_set():
        return
    await run.finished()
    if run.result is None:
        error = refusal(run.error or RuntimeError("a run ended without a result"))
        yield frame("error", error_text(error), service.redactor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Where the frames of one stream come from, and what it has to do with its reader.

    `end` lets it end after what waits, `beside` runs as long as the stream, `left` is awaited when the reader goes away
    before the end, `close` is called at every end.
    """

    frames: AsyncGenerator[bytes, None]
    close: Callable[[], None]
    end: Callable[[], None]
    beside: Callable[[], Coroutine[object, object, None]] | None = None
    left: Callable[[], Awaitable[None]] | None = None


class EventStream(Response):
    """Sends the frames of a stream until it ends, its reader goes away, or the service stops."""

    media_type = "text/event-stream"

    def __init__(self, stream: Stream, *, stopped: anyio.Event) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._stream = stream
        self._stopped = stopped
        self._gone = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        stream = self._stream
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch_reader, receive, tasks.cancel_scope)
                tasks.start_soon(self._watch_stop, tasks.cancel_scope)
                if stream.beside is not None:
                    tasks.start_soon(stream.beside)
                async with aclosing(stream.frames) as frames:
                    async for one in frames:
                        await send({"type": "http.response.body", "body": one, "more_body": True})
                tasks.cancel_scope.cancel()
        except Exception:
            logger.exception("event_stream_failed")
        finally:
            stream.close()
            if self._gone and stream.left is not None:
                with anyio.move_on_after(LEAVE_S, shield=True):
                    await stream.left()
        if not self._gone:
            with anyio.move_on_after(LAST_SEND_S):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _watch_reader(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        scope.cancel()

    async def _watch_stop(self, scope: anyio.CancelScope) -> None:
        """Let the last events go out when the service stops; a reader that does not take them is left."""
        await self._stopped.wait()
        self._stream.end()
        await anyio.sleep(LAST_SEND_S)
        scope.cancel()
