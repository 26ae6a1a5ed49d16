"""Streamable HTTP below the MCP SDK: one POST a message, each fault given to the request it hits.

The SDK's own transport lets one connection fault end every call, loses status and `Retry-After`, and waits
for notifications and the closing DELETE without a bound; so this one stands in its place.
"""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import cast

import anyio
import anyio.abc
import httpx2

from hilt.adapters.mcp_events import EventReader, EventTooLongError, StreamEvent
from hilt.adapters.mcp_wire import Inbox, declared, encode_message, excerpt, is_message, parse_object
from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.core.mcp_url import shown_url
from hilt.ports.mcp import Fault, McpFault

logger = logging.getLogger(__name__)

NOTIFY_S = 10.0
INITIALIZED_S = 2.0
DELETE_S = 3.0
RETRY_DEFAULT_S = 1.0
RETRY_MAX_S = 10.0
RESUMES_MAX = 3
REDIRECTS_MAX = 3
_SESSION = "mcp-session-id"
_SESSION_MAX = 1024
_NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
)


class _Cursor:
    """How far an answer stream was read."""

    def __init__(self) -> None:
        self.last_id = ""
        self.retry_s = RETRY_DEFAULT_S

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
        self._url = spec.url
        self._headers = {k.strip().lower(): v for k, v in spec.headers.items()}
        self._client = httpx2.AsyncClient(
            transport=transport,
            timeout=httpx2.Timeout(None, connect=spec.connect_timeout_s),
            follow_redirects=False,
            trust_env=False,
        )
        self._max_bytes = (limits or McpLimits()).message_max_bytes
        self._session = ""
        self._revision = ""
        self._stateless = False
        self._scopes: dict[int, anyio.CancelScope] = {}
        self._inbox: Inbox | None = None
        self._tasks: anyio.abc.TaskGroup | None = None

    def settle(self, *, revision: str, stateless: bool) -> None:
        """See `Wire.settle`."""
        self._revision = revision
        self._stateless = stateless

    def forget(self, request_id: int) -> None:
        """See `Wire.forget`; closing the stream is what tells a stateless server."""
        scope = self._scopes.get(request_id)
        if scope is not None:
            scope.cancel()

    async def run(self, inbox: Inbox, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """See `Wire.run`; at the end the session is given up with one DELETE, and every socket closed."""
        self._inbox = inbox
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                task_status.started()
                await anyio.sleep_forever()
        finally:
            self._tasks = None
            with anyio.CancelScope(shield=True):
                await self._delete()
                with anyio.move_on_after(DELETE_S):
                    await self._client.aclose()

    async def _delete(self) -> None:
        if not self._session or self._stateless:
            return
        with anyio.move_on_after(DELETE_S):
            try:
                await self._client.delete(self._url, headers=self._all_headers({}))
            except httpx2.HTTPError as exc:
                logger.debug("mcp_session_delete_failed cause=%s", type(exc).__name__)
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
        own = {
            "accept": "application/json, text/event-stream",
            "accept-encoding": "identity",
            "content-type": "application/json",
        }
        if self._session and not self._stateless:
            own[_SESSION] = self._session
        if self._revision:
            own["mcp-protocol-version"] = self._revision
        return {**self._headers, **own, **headers}

    async def _notify(self, message: Mapping[str, object], headers: Mapping[str, str], done: anyio.Event) -> None:
        with anyio.move_on_after(NOTIFY_S):
            try:
                async with self._opened("POST", encode_message(message), self._all_headers(headers)):
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
                logger.exception("mcp_http_exchange_failed url=%s", shown_url(self._url))
                await inbox.fail(request_id, McpFault(Fault.PROTOCOL, "the answer could not be read"))
            finally:
                del self._scopes[request_id]

    async def _post(self, request_id: int, message: Mapping[str, object], headers: Mapping[str, str]) -> None:
        cursor = _Cursor()
        had_session = bool(self._session)
        initialize = message.get("method") == "initialize"
        async with self._opened("POST", encode_message(message), self._all_headers(headers)) as response:
            if response.status_code >= 300:
                await self._refused(request_id, response, had_session=had_session)
                return
            if initialize:
                self._session = _session_of(response)
            kind = _media_type(response)
            if kind == "application/json":
                await self._one_answer(request_id, await self._body(response))
                return
            if kind != "text/event-stream":
                shown = f"{kind!r}" if kind else f"no content type and status {response.status_code}"
                raise McpFault(Fault.PROTOCOL, f"the answer is no MCP message but {shown}")
            if await self._events(request_id, response, cursor):
                return
        await self._resume(request_id, cursor)

    @asynccontextmanager
    async def _opened(
        self, verb: str, body: bytes | None, headers: Mapping[str, str]
    ) -> AsyncIterator[httpx2.Response]:
        """Send, follow redirects within the origin, give the response; the wire fails as `McpFault`."""
        url = httpx2.URL(self._url)
        try:
            for _ in range(REDIRECTS_MAX + 1):
                async with self._client.stream(verb, url, content=body, headers=headers) as response:
                    target = _redirect(url, response)
                    if target is None:
                        if response.headers.get("content-encoding", "identity").lower() != "identity":
                            raise McpFault(Fault.PROTOCOL, "the answer is compressed, which was not asked for")
                        yield response
                        return
                url = target
            raise McpFault(Fault.PROTOCOL, f"more than {REDIRECTS_MAX} redirects")
        except _NOT_SENT as exc:
            raise McpFault(Fault.NOT_SENT, f"cannot connect to {shown_url(self._url)}: {exc}") from exc
        except (httpx2.InvalidURL, UnicodeEncodeError) as exc:
            raise McpFault(Fault.NOT_SENT, "the request cannot be written: URL or header is malformed") from exc
        except httpx2.HTTPError as exc:
            raise McpFault(Fault.CUT, f"the connection was cut ({type(exc).__name__})") from exc

    async def _body(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        async with aclosing(response.aiter_raw()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > self._max_bytes:
                    raise McpFault(Fault.PROTOCOL, f"the message is longer than {self._max_bytes} bytes")
        return bytes(body)

    async def _one_answer(self, request_id: int, raw: bytes) -> None:
        message = await parse_object(raw)
        if message is None or not is_message(message) or "method" in message:
            raise McpFault(Fault.PROTOCOL, f"the answer is no MCP message: {excerpt(raw) or 'it is empty'}")
        if type(message.get("id")) is not int or message["id"] != request_id:
            raise McpFault(Fault.PROTOCOL, "the answer is for another request")
        await cast(Inbox, self._inbox).deliver(message)

    async def _events(self, request_id: int, response: httpx2.Response, cursor: _Cursor) -> bool:
        """Deliver what the stream brings; True once the request is answered, False at a cut."""
        reader = EventReader(self._max_bytes)
        try:
            async with aclosing(response.aiter_raw()) as chunks:
                async for chunk in chunks:
                    for event in reader.feed(chunk):
                        cursor.note(event)
                        if await self._event(request_id, event):
                            return True
        except EventTooLongError:
            raise McpFault(Fault.PROTOCOL, f"the message is longer than {self._max_bytes} bytes") from None
        except httpx2.HTTPError as exc:
            logger.debug("mcp_stream_cut cause=%s", type(exc).__name__)
        return False

    async def _event(self, request_id: int, event: StreamEvent) -> bool:
        if not event.data or event.name not in ("", "message"):
            return False
        message = await parse_object(event.data)
        if message is None or not is_message(message):
            if event.data.lstrip()[:1] not in (b"{", b"["):
                return False
            raise McpFault(Fault.PROTOCOL, f"an event is no MCP message: {excerpt(event.data)}")
        await cast(Inbox, self._inbox).deliver(message)
        return "method" not in message and type(message.get("id")) is int and message["id"] == request_id

    async def _resume(self, request_id: int, cursor: _Cursor) -> None:
        if cursor.last_id and not self._stateless:
            for _ in range(RESUMES_MAX):
                await anyio.sleep(cursor.retry_s)
                headers = {
                    **self._all_headers({}),
                    "accept": "text/event-stream",
                    "last-event-id": cursor.last_id,
                }
                try:
                    async with self._opened("GET", None, headers) as response:
                        fits = response.status_code == 200 and _media_type(response) == "text/event-stream"
                        if fits and await self._events(request_id, response, cursor):
                            return
                except McpFault as fault:
                    if fault.fault is Fault.PROTOCOL:
                        raise
        raise McpFault(Fault.CUT, "the answer stream ended without the answer")

    async def _refused(self, request_id: int, response: httpx2.Response, *, had_session: bool) -> None:
        status = response.status_code
        raw = await self._body(response)
        message = await parse_object(raw)
        error = message.get("error") if message else None
        retry_after_s = _retry_after(response)
        if message is not None and isinstance(error, Mapping):
            if type(message.get("id")) is int and message["id"] == request_id:
                await cast(Inbox, self._inbox).deliver(message)
                return
            ended = had_session and status in (400, 404)
            raise declared(error, Fault.SESSION_ENDED if ended else Fault.HTTP_STATUS, status, retry_after_s)
        if status == 404 and had_session:
            raise McpFault(Fault.SESSION_LOST, "the server does not know the session", status=status)
        raise McpFault(
            Fault.HTTP_STATUS,
            f"HTTP {status} {response.reason_phrase}".strip(),
            status=status,
            retry_after_s=retry_after_s,
        )


def _media_type(response: httpx2.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _session_of(response: httpx2.Response) -> str:
    found: str = response.headers.get(_SESSION, "")
    if len(found) > _SESSION_MAX or not all(0x21 <= ord(char) <= 0x7E for char in found):
        raise McpFault(Fault.PROTOCOL, "the session id holds characters that are not allowed, or is too long")
    return found


def _redirect(url: httpx2.URL, response: httpx2.Response) -> httpx2.URL | None:
    """Return where to send the same request again, or None where the response is no redirect."""
    if not 300 <= response.status_code < 400:
        return None
    try:
        target = url.join(response.headers["location"])
    except (KeyError, httpx2.InvalidURL):
        raise McpFault(Fault.PROTOCOL, f"HTTP {response.status_code} without a usable location") from None
    if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port):
        raise McpFault(
            Fault.PROTOCOL,
            f"a redirect from {_origin(url)} to {_origin(target)} is not followed; configure that address",
        )
    if response.status_code not in (307, 308):
        raise McpFault(Fault.PROTOCOL, f"HTTP {response.status_code} redirects are not followed")
    return target


def _origin(url: httpx2.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"


def _retry_after(response: httpx2.Response) -> float | None:
    given: str = response.headers.get("retry-after", "").strip()
    if given.isdigit() and len(given) < 10:
        return float(given)
    try:
        when = parsedate_to_datetime(given)
    except ValueError:
        return None
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
