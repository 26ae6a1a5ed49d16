"""Single HTTP exchanges of an MCP server's transports: redirects, bounded bodies, and what a refusal means."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import httpx2

from hilt.adapters.mcp_wire import declared, parse_object
from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.core.mcp_url import shown_url
from hilt.ports.mcp import Fault, McpFault

EVENT_STREAM: Final = "text/event-stream"
REDIRECTS_MAX: Final = 3
USER_AGENT: Final = f"python-httpx2/{httpx2.__version__}"
_NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
)


class HttpRequests:
    """Sends requests to one server's origin, with the headers of its entry and the cookies that it has set.

    They go to the transport at once: of what `httpx2.AsyncClient` does in between, only the cookies are wanted here.
    """

    def __init__(
        self, spec: McpServerSpec, *, transport: httpx2.AsyncBaseTransport, limits: McpLimits | None = None
    ) -> None:
        self.url = httpx2.URL(spec.url)
        self._fixed = {
            "connection": "keep-alive",
            "user-agent": USER_AGENT,
            **{k.strip().lower(): v for k, v in spec.headers.items()},
            "accept": f"application/json, {EVENT_STREAM}",
            "accept-encoding": "identity",
            "content-type": "application/json",
        }
        self._transport = transport
        self._cookies = httpx2.Cookies()
        self._bounds = {"timeout": httpx2.Timeout(None, connect=spec.connect_timeout_s).as_dict()}
        # A server that a session's creator brought may not point anywhere else, not even within its origin.
        self._redirects = 0 if spec.origin == "client" else REDIRECTS_MAX
        self.max_bytes = (limits or McpLimits()).message_max_bytes

    def headers(self, *layers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of a request: the entry's own, ours, then each layer; later ones win."""
        merged = dict(self._fixed)
        for layer in layers:
            merged.update(layer)
        return merged

    async def aclose(self) -> None:
        """Close every socket."""
        await self._transport.aclose()

    @asynccontextmanager
    async def opened(
        self, verb: str, body: bytes | None, headers: Mapping[str, str], *, url: httpx2.URL | None = None
    ) -> AsyncIterator[httpx2.Response]:
        """Send, follow redirects within the origin, give the response, unread.

        Raises:
            McpFault: The wire failed.
        """
        url = url or self.url
        try:
            for _ in range(self._redirects + 1):
                response = await self._sent(verb, url, body, headers)
                try:
                    self._cookies.extract_cookies(response)
                    target = _redirect(url, response)
                    if target is None:
                        if response.headers.get("content-encoding", "identity").lower() != "identity":
                            raise McpFault(Fault.PROTOCOL, "the answer is compressed, which was not asked for")
                        yield response
                        return
                finally:
                    await response.aclose()
                url = target
            most = f"more than {self._redirects} redirects" if self._redirects else "a redirect is not followed here"
            raise McpFault(Fault.PROTOCOL, most)
        except _NOT_SENT as exc:
            raise McpFault(Fault.NOT_SENT, f"cannot connect to {shown_url(str(self.url))}: {exc}") from exc
        except (httpx2.InvalidURL, UnicodeEncodeError) as exc:
            raise McpFault(Fault.NOT_SENT, "the request cannot be written: URL or header is malformed") from exc
        except httpx2.HTTPError as exc:
            raise McpFault(Fault.CUT, f"the connection was cut ({type(exc).__name__})") from exc

    async def _sent(
        self, verb: str, url: httpx2.URL, body: bytes | None, headers: Mapping[str, str]
    ) -> httpx2.Response:
        request = httpx2.Request(
            verb, url, headers=headers, cookies=self._cookies, content=body, extensions=self._bounds
        )
        response = await self._transport.handle_async_request(request)
        response.request = request
        return response

    async def body(self, response: httpx2.Response) -> bytes:
        """Return the body.

        Raises:
            McpFault: It is longer than a message may be.
        """
        body = bytearray()
        async with aclosing(response.aiter_raw()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > self.max_bytes:
                    raise self.too_long()
        return bytes(body)

    def too_long(self) -> McpFault:
        """Return the fault of a message over the limit."""
        return McpFault(Fault.PROTOCOL, f"the message is longer than {self.max_bytes} bytes")

    async def refusal(
        self, response: httpx2.Response, request_id: int, *, had_session: bool, settled: bool = False
    ) -> McpFault | dict[str, object]:
        """Return what a status that is no success means: a fault, or the JSON-RPC error that answers the request.

        `settled`: the stateless era was agreed on, so that an error that answers no request refuses the era.
        """
        status = response.status_code
        message = await parse_object(await self.body(response))
        error = message.get("error") if message else None
        retry_after_s = _retry_after(response)
        if message is not None and isinstance(error, Mapping):
            if type(message.get("id")) is int and message["id"] == request_id:
                return message
            ended = (had_session or settled) and status in (400, 404)
            return declared(error, Fault.SESSION_ENDED if ended else Fault.HTTP_STATUS, status, retry_after_s)
        if status == 404 and had_session:
            return McpFault(Fault.SESSION_LOST, "the server does not know the session", status=status)
        return McpFault(
            Fault.HTTP_STATUS,
            f"HTTP {status} {response.reason_phrase}".strip(),
            status=status,
            retry_after_s=retry_after_s,
        )


def media_type(response: httpx2.Response) -> str:
    """Return the content type without its parameters, "" where there is none."""
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def is_same_origin(one: httpx2.URL, other: httpx2.URL) -> bool:
    """Whether both have one scheme, host and port."""
    return (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port)


def origin(url: httpx2.URL) -> str:
    """Return scheme, host and port, without user info."""
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"


def _redirect(url: httpx2.URL, response: httpx2.Response) -> httpx2.URL | None:
    """Return where to send the same request again, or None where the response is no redirect."""
    if not 300 <= response.status_code < 400:
        return None
    try:
        target = url.join(response.headers["location"])
    except (KeyError, httpx2.InvalidURL):
        raise McpFault(Fault.PROTOCOL, f"HTTP {response.status_code} without a usable location") from None
    if not is_same_origin(target, url):
        raise McpFault(
            Fault.PROTOCOL,
            f"a redirect from {origin(url)} to {origin(target)} is not followed; configure that address",
        )
    if response.status_code not in (307, 308):
        raise McpFault(Fault.PROTOCOL, f"HTTP {response.status_code} redirects are not followed")
    return target


def _retry_after(response: httpx2.Response) -> float | None:
    given: str = response.headers.get("retry-after", "").strip()
    if given.isdigit() and len(given) < 10:
        return float(given)
    try:
        when = parsedate_to_datetime(given)
    except ValueError:
        return None
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
