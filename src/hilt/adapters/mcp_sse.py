"""The old SSE transport below the MCP SDK: answers come on one event stream, messages go out as POSTs beside it.

The SDK's own transport waits for ever for an endpoint that does not come, and swallows a POST that fails.
"""

import logging
from collections.abc import Mapping
from contextlib import aclosing
from typing import Final, cast

import anyio
import anyio.abc
import httpx2

from hilt.adapters.mcp_channel import OpenStream
from hilt.adapters.mcp_events import EventReader, EventTooLongError, StreamEvent
from hilt.adapters.mcp_requests import EVENT_STREAM, HttpRequests, is_same_origin, media_type, origin
from hilt.adapters.mcp_wire import Inbox, encode_message, excerpt, is_message, parse_object
from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.core.mcp_url import shown_url
from hilt.ports.mcp import Fault, McpFault

logger = logging.getLogger(__name__)

POST_S: Final = 30.0
CLOSE_S: Final = 3.0


class SseWire:
    """Speaks to one SSE server; see `Wire`."""

    def __init__(
        self, spec: McpServerSpec, *, transport: httpx2.AsyncBaseTransport, limits: McpLimits | None = None
    ) -> None:
        self._http = HttpRequests(spec, transport=transport, limits=limits)
        self._endpoint: httpx2.URL | None = None
        self._revision = ""
        self._scopes: dict[int, anyio.CancelScope] = {}
        self._inbox: Inbox | None = None
        self._tasks: anyio.abc.TaskGroup | None = None

    def settle(self, *, revision: str, stateless: bool) -> None:
        """See `Wire.settle`."""
        self._revision = revision

    def forget(self, request_id: int) -> None:
        """See `Wire.forget`; a late answer is dropped by its id."""
        scope = self._scopes.get(request_id)
        if scope is not None:
            scope.cancel()

    def standing(self) -> OpenStream | None:
        """See `Wire.standing`; the one stream carries everything."""
        return None

    async def run(self, inbox: Inbox, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """See `Wire.run`; it is started once the server has named its endpoint, and ends with the stream."""
        try:
            headers = self._http.headers({"accept": EVENT_STREAM})
            async with self._http.opened("GET", None, headers) as response:
                _check_stream(response)
                async with anyio.create_task_group() as tasks:
                    try:
                        fault = await self._read(response, inbox, tasks, task_status)
                    finally:
                        # A task that is started while the group ends would outlive it.
                        self._tasks = None
                    tasks.cancel_scope.cancel()
            if self._endpoint is None:
                raise fault
            await inbox.lost(fault)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSE_S):
                await self._http.aclose()

    async def _read(
        self,
        response: httpx2.Response,
        inbox: Inbox,
        tasks: anyio.abc.TaskGroup,
        task_status: anyio.abc.TaskStatus[None],
    ) -> McpFault:
        """Deliver what the stream brings; return why it ended."""
        reader = EventReader(self._http.max_bytes)
        ended = "the event stream ended"
        try:
            async with aclosing(response.aiter_raw()) as chunks:
                async for chunk in chunks:
                    for event in reader.feed(chunk):
                        if self._endpoint is None:
                            self._endpoint = self._named_endpoint(event)
                            if self._endpoint is not None:
                                self._inbox, self._tasks = inbox, tasks
                                task_status.started()
                        else:
                            await self._event(event, inbox)
        except McpFault as fault:
            return fault
        except EventTooLongError:
            overlong = self._http.too_long()
            await inbox.fail_all(overlong)
            ended = overlong.text
        except httpx2.HTTPError as exc:
            ended = f"the event stream was cut ({type(exc).__name__})"
        if self._endpoint is None:
            return McpFault(Fault.PROTOCOL, f"{ended} before the server named its endpoint")
        return McpFault(Fault.CUT, ended)

    def _named_endpoint(self, event: StreamEvent) -> httpx2.URL | None:
        """Return the address of an `endpoint` event, None for another event.

        Raises:
            McpFault: It is no address, or one of another origin.
        """
        if event.name != "endpoint":
            return None
        try:
            target = self._http.url.join(event.data.decode("utf-8"))
        except (httpx2.InvalidURL, UnicodeDecodeError):
            raise McpFault(Fault.PROTOCOL, f"the endpoint is no address: {excerpt(event.data)}") from None
        if not is_same_origin(target, self._http.url):
            raise McpFault(
                Fault.PROTOCOL,
                f"the server at {origin(self._http.url)} named an endpoint at {origin(target)}, which is not used",
            )
        return target

    async def _event(self, event: StreamEvent, inbox: Inbox) -> None:
        if not event.data or event.name not in ("", "message"):
            return
        message = await parse_object(event.data)
        if message is not None and is_message(message):
            await inbox.deliver(message)
        elif event.data.lstrip()[:1] in (b"{", b"["):
            await inbox.fail_all(McpFault(Fault.PROTOCOL, f"an event is no MCP message: {excerpt(event.data)}"))

    async def send(self, message: Mapping[str, object], headers: Mapping[str, str]) -> None:
        """See `Wire.send`."""
        if self._tasks is None:
            raise McpFault(Fault.NOT_SENT, "the event stream has ended")
        self._tasks.start_soon(self._exchange, message, headers)

    async def _exchange(self, message: Mapping[str, object], headers: Mapping[str, str]) -> None:
        given = message.get("id") if "method" in message else None
        request_id = given if isinstance(given, int) else None
        with anyio.move_on_after(POST_S) as scope:
            if request_id is not None:
                self._scopes[request_id] = scope
            try:
                await self._post(message, headers, request_id)
            except McpFault as fault:
                if request_id is None:
                    logger.debug("mcp_notification_failed cause=%s", fault.fault)
                else:
                    await cast(Inbox, self._inbox).fail(request_id, fault)
            except Exception:
                # One exchange may not end the connection that others use.
                logger.exception("mcp_sse_exchange_failed url=%s", shown_url(str(self._http.url)))
                if request_id is not None:
                    unsent = McpFault(Fault.PROTOCOL, "the request could not be sent")
                    await cast(Inbox, self._inbox).fail(request_id, unsent)
        if request_id is not None:
            self._scopes.pop(request_id, None)

    async def _post(self, message: Mapping[str, object], headers: Mapping[str, str], request_id: int | None) -> None:
        revision = {"mcp-protocol-version": self._revision} if self._revision else {}
        merged = self._http.headers(revision, headers)
        async with self._http.opened("POST", encode_message(message), merged, url=self._endpoint) as response:
            if response.status_code < 300 or request_id is None:
                return
            refusal = await self._http.refusal(response, request_id, had_session=False)
            if isinstance(refusal, McpFault):
                raise refusal
            await cast(Inbox, self._inbox).deliver(refusal)


def _check_stream(response: httpx2.Response) -> None:
    """Check that what opened is an event stream.

    Raises:
        McpFault: It is none.
    """
    if response.status_code != 200:
        status = f"HTTP {response.status_code} {response.reason_phrase}".strip()
        raise McpFault(Fault.HTTP_STATUS, status, status=response.status_code)
    kind = media_type(response)
    if kind != EVENT_STREAM:
        shown = f"{kind!r}" if kind else "no content type"
        raise McpFault(Fault.PROTOCOL, f"the server gave no event stream but {shown}")
