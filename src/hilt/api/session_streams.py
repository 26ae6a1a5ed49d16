"""The routes of a session that stream its events: a prompt, what is stored, what is stored and then comes."""

import base64
import binascii
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing

from starlette.responses import Response

from hilt.api.events import EventStream, Stream, live_frames, run_frames, stored_frames
from hilt.api.session_routes import ONE
from hilt.api.table import EVENTS, Call, Route, whole_number
from hilt.api.wire import ImageInput, PromptBody, Started, TextInput
from hilt.core.content import ImagePart, Part, TextPart
from hilt.core.errors import RequestError
from hilt.engine.follow import Follower
from hilt.engine.run import Run

LAST_EVENT_ID = "last-event-id"


async def prompt(call: Call) -> Response:
    """Start a run; its events come back, or its id where it is detached."""
    service, body = call.service, call.taken(PromptBody)
    service.refuse_when_stopping()
    record = await call.owned()
    content = _content(body)
    expanded = await service.slash.expand(content) if isinstance(content, str) else None
    session = await service.sessions.open(record.id)
    await session.settled()
    service.refuse_when_stopping()
    if expanded is not None and body.text is not None:
        run = session.prompt(expanded, typed=body.text)
    else:
        run = session.prompt(content)
    run.forget()
    if body.detach:
        return call.answer(Started(run_id=run.id), status=202)
    follower = Follower(run=run.id)
    stream = Stream(
        frames=run_frames(service, follower, run),
        close=service.sessions.follow(record.id, follower),
        end=follower.end,
        beside=_ending(follower, run),
        left=run.aclose,
    )
    return EventStream(stream, stopped=service.stopped)


def _ending(follower: Follower, run: Run) -> Callable[[], Coroutine[object, object, None]]:
    async def end() -> None:
        await run.finished()
        follower.end()

    return end


def _content(body: PromptBody) -> str | Sequence[Part]:
    """Return what is prompted.

    Raises:
        RequestError: There is nothing, or both a text and parts, or an image is no base64.
    """
    if (body.text is None) is (body.parts is None):
        raise RequestError("give either text or parts")
    if body.text is not None:
        if not body.text.strip():
            raise RequestError("the prompt is empty")
        return body.text
    if not body.parts:
        raise RequestError("the prompt is empty")
    return [_part(part, at) for at, part in enumerate(body.parts)]


def _part(part: TextInput | ImageInput, at: int) -> Part:
    if isinstance(part, TextInput):
        return TextPart(text=part.text)
    try:
        base64.b64decode(part.data, validate=True)
    except (binascii.Error, ValueError):
        raise RequestError(f"parts[{at}].data is no base64") from None
    return ImagePart(data=part.data, mime_type=part.mime_type)


def _after(call: Call) -> int:
    """Return the number behind which a reader starts: the higher one of `after` and Last-Event-ID.

    A browser that connects again repeats the address of the first time, and names what it had by the header.
    """
    header = call.request.headers.get(LAST_EVENT_ID, "")
    return max(call.number("after", 0), whole_number(header, "Last-Event-ID", 0))


async def stored(call: Call) -> Response:
    """Stream what is stored, then end."""
    record, after, service = await call.owned(), _after(call), call.service
    frames = stored_frames(service, await service.sessions.events(record.id, after=after), Follower(after=after))
    return EventStream(Stream(frames=frames, close=_nothing, end=_nothing), stopped=service.stopped)


def _nothing() -> None:
    """Leave nothing: what is stored is read at once."""


async def watch(call: Call) -> Response:
    """Stream what is stored, then what comes, until the session is deleted; it may be closed and opened meanwhile."""
    record, after, service = await call.owned(), _after(call), call.service
    follower = Follower(after=after)
    close = service.sessions.follow(record.id, follower)
    try:
        events = await service.sessions.events(record.id, after=after)
    except BaseException:
        close()
        raise

    async def frames() -> AsyncGenerator[bytes, None]:
        for source in (stored_frames(service, events, follower), live_frames(service, follower)):
            async with aclosing(source) as found:
                async for one in found:
                    yield one

    return EventStream(Stream(frames=frames(), close=close, end=follower.end), stopped=service.stopped)


BEHIND = {"after": "Start behind the event of this number; the header Last-Event-ID does the same."}

ROUTES = (
    Route(
        method="POST",
        path=f"{ONE}/prompt",
        handler=prompt,
        summary="Run a prompt; closing the connection cancels it unless it is detached.",
        body=PromptBody,
        answer=EVENTS,
        more={202: Started},
        refusals=("busy", "conflict", "cap_reached", "unavailable"),
    ),
    Route(
        method="GET",
        path=f"{ONE}/events",
        handler=stored,
        summary="The stored events, then the end.",
        answer=EVENTS,
        query=BEHIND,
    ),
    Route(
        method="GET",
        path=f"{ONE}/watch",
        handler=watch,
        summary="The stored events, then those that come.",
        answer=EVENTS,
        query=BEHIND,
    ),
)
