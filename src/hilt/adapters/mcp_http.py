"""Streamable HTTP below the MCP SDK: one POST a message, each fault given to the request it hits.

The SDK's own transport lets one connection fault end every call, loses status and `Retry-After`, and waits
for notifications and the closing DELETE without a bound; so this one stands in its place.
"""

import logging
from collections.abc import Mapping
from contextlib import aclosing
from typing import cast

import anyio
import anyio.abc
import httpx2

from hilt.adapters.mcp_channel import RETRY_DEFAULT_S, RETRY_MAX_S, OpenStream, StreamEnd, StreamReport
from hilt.adapters.mcp_events import EventReader, EventTooLongError, StreamEvent
from hilt.adapters.mcp_requests import EVENT_STREAM, HttpRequests, media_type
from hilt.adapters.mcp_wire import Inbox, encode_message, excerpt, is_message, parse_object
from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.core.mcp_url import shown_url
from hilt.ports.mcp import Fault, McpFault

logger = logging.getLogger(__name__)

NOTIFY_S = 10.0
INITIALIZED_S = 2.0
DELETE_S = 3.0
RESUMES_MAX = 3
_SESSION = "mcp-session-id"
_SESSION_MAX = 1024


class _Cursor:
    """How far a stream was read; `heard` whether anything came of it."""

    def __init__(self) -> None:
        self.last_id = ""
        self.retry_s = RETRY_DEFAULT_S
        self.heard = False
        self.cut = False

    def note(self, event: StreamEvent) -> None:
        if event.id is not None:
            self.last_id = event.id
        if event.retry_ms is not None:
            self.retry_s = min(event.retry_ms / 1000, RETRY_MAX_S)


class HttpWire:
    """Speaks to one streamable-HTTP server; see `Wire`."""

    def __init__(
        self, spec: McpServerSpec, *, transport: httpx2.AsyncBaseTransport, limits: McpLimits | None = None
    ) -> None:
        self._http = HttpRequests(spec, transport=transport, limits=limits)
        self._session = ""
        self._revision = ""
        self._stateless = False
        self._scopes: dict[int, anyio.CancelScope] = {}
        self._inbox: Inbox | None = None
        self._tasks: anyio.abc.TaskGroup | None = None
        self._standing = _Cursor()

    def settle(self, *, revision: str, stateless: bool) -> None:
        """See `Wire.settle`."""
        self._revision = revision
        self._stateless = stateless

    def forget(self, request_id: int) -> None:
        """See `Wire.forget`; closing the stream is what tells a stateless server."""
        scope = self._scopes.get(request_id)
        if scope is not None:
            scope.cancel()

    def standing(self) -> OpenStream | None:
        """See `Wire.standing`; the GET stream of the handshake era."""
        return None if self._stateless else self._listen

    async def run(self, inbox: Inbox, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """See `Wire.run`; at the end the session is given up with one DELETE, and every socket closed."""
        self._inbox = inbox
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                task_status.started()
                try:
                    await anyio.sleep_forever()
                finally:
                    # A task that is started while the group ends would outlive it.
                    self._tasks = None
        finally:
            with anyio.CancelScope(shield=True):
                await self._delete()
                with anyio.move_on_after(DELETE_S):
                    await self._http.aclose()

    async def _delete(self) -> None:
        if not self._session or self._stateless:
            return
        with anyio.move_on_after(DELETE_S):
            try:
                async with self._http.opened("DELETE", None, self._all_headers({})):
                    pass
            except McpFault as fault:
                logger.debug("mcp_session_delete_failed cause=%s", fault.fault)
        self._session = ""

    async def send(self, message: Mapping[str, object], headers: Mapping[str, str]) -> None:
        """See `Wire.send`; only `initialized` is waited for, a while, so that it is before what follows."""
        if self._tasks is None:
            raise McpFault(Fault.NOT_SENT, "the connection is closed")
        method, request_id = message.get("method"), message.get("id")
        if method is not None and isinstance(request_id, int):
            self._tasks.start_soon(self._exchange, request_id, message, headers)
            return
        if method == "notifications/cancelled" and self._stateless:
            return
        done = anyio.Event()
        self._tasks.start_soon(self._notify, message, headers, done)
        if method == "notifications/initialized":
            with anyio.move_on_after(INITIALIZED_S):
                await done.wait()

    def _all_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        own = {}
        if self._session and not self._stateless:
            own[_SESSION] = self._session
        if self._revision:
            own["mcp-protocol-version"] = self._revision
        return self._http.headers(own, headers)

    def _stream_headers(self, cursor: _Cursor) -> dict[str, str]:
        resume = {"last-event-id": cursor.last_id} if cursor.last_id else {}
        return self._all_headers({"accept": EVENT_STREAM, **resume})

    async def _notify(self, message: Mapping[str, object], headers: Mapping[str, str], done: anyio.Event) -> None:
        with anyio.move_on_after(NOTIFY_S):
            try:
                async with self._http.opened("POST", encode_message(message), self._all_headers(headers)):
                    pass
            except McpFault as fault:
                logger.debug("mcp_notification_failed cause=%s", fault.fault)
        done.set()

    async def _exchange(self, request_id: int, message: Mapping[str, object], headers: Mapping[str, str]) -> None:
        inbox = cast(Inbox, self._inbox)
        with anyio.CancelScope() as scope:
            self._scopes[request_id] = scope
            try:
                await self._post(request_id, message, headers)
            except McpFault as fault:
                await inbox.fail(request_id, fault)
            except Exception:
                # One exchange may not end the connection that others use.
                logger.exception("mcp_http_exchange_failed url=%s", shown_url(str(self._http.url)))
                await inbox.fail(request_id, McpFault(Fault.PROTOCOL, "the answer could not be read"))
            finally:
                del self._scopes[request_id]

    async def _post(self, request_id: int, message: Mapping[str, object], headers: Mapping[str, str]) -> None:
        cursor = _Cursor()
        had_session = bool(self._session)
        initialize = message.get("method") == "initialize"
        async with self._http.opened("POST", encode_message(message), self._all_headers(headers)) as response:
            if response.status_code >= 300:
                refusal = await self._http.refusal(
                    response, request_id, had_session=had_session, settled=self._stateless
                )
                if isinstance(refusal, McpFault):
                    raise refusal
                await cast(Inbox, self._inbox).deliver(refusal)
                return
            if initialize:
                self._session = _session_of(response)
            kind = media_type(response)
            if kind == "application/json":
                await self._one_answer(request_id, await self._http.body(response))
                return
            if kind != EVENT_STREAM:
                shown = f"{kind!r}" if kind else f"no content type and status {response.status_code}"
                raise McpFault(Fault.PROTOCOL, f"the answer is no MCP message but {shown}")
            if await self._events(request_id, response, cursor):
                return
        await self._resume(request_id, cursor)

    async def _one_answer(self, request_id: int, raw: bytes) -> None:
        message = await parse_object(raw)
        if message is None or not is_message(message) or "method" in message:
            raise McpFault(Fault.PROTOCOL, f"the answer is no MCP message: {excerpt(raw) or 'it is empty'}")
        if type(message.get("id")) is not int or message["id"] != request_id:
            raise McpFault(Fault.PROTOCOL, "the answer is for another request")
        await cast(Inbox, self._inbox).deliver(message)

    async def _events(self, request_id: int | None, response: httpx2.Response, cursor: _Cursor) -> bool:
        """Deliver what the stream brings; True once the request is answered, False at a cut.

        Without a `request_id` the stream is the standing one.
        """
        reader = EventReader(self._http.max_bytes)
        try:
            async with aclosing(response.aiter_raw()) as chunks:
                async for chunk in chunks:
                    cursor.heard = True
                    for event in reader.feed(chunk):
                        cursor.note(event)
                        if await self._event(request_id, event):
                            return True
        except EventTooLongError:
            raise self._http.too_long() from None
        except httpx2.HTTPError as exc:
            cursor.cut = True
            logger.debug("mcp_stream_cut cause=%s", type(exc).__name__)
        return False

    async def _event(self, request_id: int | None, event: StreamEvent) -> bool:
        if not event.data or event.name not in ("", "message"):
            return False
        message = await parse_object(event.data)
        if message is None or not is_message(message):
            if request_id is None or event.data.lstrip()[:1] not in (b"{", b"["):
                return False
            raise McpFault(Fault.PROTOCOL, f"an event is no MCP message: {excerpt(event.data)}")
        await cast(Inbox, self._inbox).deliver(message, related=request_id)
        return "method" not in message and type(message.get("id")) is int and message["id"] == request_id

    async def _resume(self, request_id: int, cursor: _Cursor) -> None:
        if cursor.last_id and not self._stateless:
            for _ in range(RESUMES_MAX):
                await anyio.sleep(cursor.retry_s)
                try:
                    async with self._http.opened("GET", None, self._stream_headers(cursor)) as response:
                        fits = response.status_code == 200 and media_type(response) == EVENT_STREAM
                        if fits and await self._events(request_id, response, cursor):
                            return
                except McpFault as fault:
                    if fault.fault is Fault.PROTOCOL:
                        raise
        raise McpFault(Fault.CUT, "the answer stream ended without the answer")

    async def _listen(self) -> StreamReport:
        """Hold one GET stream until it ends; 405 says that there is none to be had."""
        cursor = self._standing
        cursor.heard = cursor.cut = False
        try:
            async with self._http.opened("GET", None, self._stream_headers(cursor)) as response:
                if response.status_code == 405:
                    return StreamReport(end=StreamEnd.NOT_OFFERED)
                if response.status_code != 200 or media_type(response) != EVENT_STREAM:
                    return StreamReport(end=StreamEnd.FAILED)
                await self._events(None, response, cursor)
        except McpFault as fault:
            logger.debug("mcp_standing_stream_failed cause=%s", fault.fault)
            return StreamReport(end=StreamEnd.FAILED, heard=cursor.heard, retry_s=cursor.retry_s)
        end = StreamEnd.FAILED if cursor.cut else StreamEnd.OVER
        return StreamReport(end=end, heard=cursor.heard, retry_s=cursor.retry_s)


def _session_of(response: httpx2.Response) -> str:
    found: str = response.headers.get(_SESSION, "")
    if len(found) > _SESSION_MAX or not all(0x21 <= ord(char) <= 0x7E for char in found):
        raise McpFault(Fault.PROTOCOL, "the session id holds characters that are not allowed, or is too long")
    return found
