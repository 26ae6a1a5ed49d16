"""The `Fetcher` over HTTP/1.1: one request a hop, redirects by hand, a bound on everything that comes."""

import ssl
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

import anyio
import httpcore2

from hilt.adapters._http import shared_ssl_context
from hilt.adapters.fetch_http.body import BoundedBody
from hilt.adapters.fetch_http.guard import DIAL_S, GuardedBackend, Resolve, SystemResolver, tls_reason
from hilt.core.address import DEFAULT_PORTS, MediaUrl, UrlRefusedError, check_characters, validate_media_url
from hilt.core.fetched import Fetched
from hilt.ports.fetch import FetchFailedError, FetchRequest

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
USER_AGENT: Final = "hilt"
CLOSE_S: Final = 1.0

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """Bounds of one fetch, all its redirects together: seconds, bytes of headers a hop, bytes of body."""

    total_s: float = 30.0
    headers_max_bytes: int = 64 * 1024
    body_max_bytes: int = 5 * 1024 * 1024


class HttpFetcher:
    """See `Fetcher`. Each hop has a connection of its own, so that nothing is carried from one host to another.

    `resolve`, `network` (given vetted addresses) and `tls` stand in for the system's.
    """

    def __init__(
        self,
        *,
        limits: FetchLimits | None = None,
        resolve: Resolve | None = None,
        network: httpcore2.AsyncNetworkBackend | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._limits = limits or FetchLimits()
        self._backend = GuardedBackend(resolve=resolve or SystemResolver(), network=network)
        self._tls = tls

    async def fetch(self, request: FetchRequest) -> Fetched:
        """See `Fetcher.fetch`."""
        hop = "the URL"
        try:
            with anyio.fail_after(self._limits.total_s):
                url = request.url
                for _ in range(request.redirects_max + 1):
                    checked = validate_media_url(url, schemes=request.schemes)
                    found = await self._hop(checked, request.accept)
                    if isinstance(found, Fetched):
                        return found
                    hop = "a redirect"
                    url = _joined(checked, found)
        except TimeoutError:
            raise FetchFailedError(f"it took longer than {self._limits.total_s:g} s") from None
        except UrlRefusedError as exc:
            raise FetchFailedError(f"{hop} is refused: {exc}") from None
        raise FetchFailedError(f"there are more than {request.redirects_max} redirects")

    async def _hop(self, url: MediaUrl, accept: str) -> Fetched | str:
        """Send one request; return the document, or the address that it redirects to as it stands in the header."""
        pool = httpcore2.AsyncConnectionPool(
            ssl_context=self._tls or shared_ssl_context(), network_backend=self._backend, max_keepalive_connections=0
        )
        try:
            return await self._exchange(pool, url, accept)
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as exc:
            reason = tls_reason(exc)
            if reason is not None:
                raise FetchFailedError(f"the TLS connection to {url.host!r} failed: {reason}") from None
            raise FetchFailedError(f"the exchange with {url.host!r} failed: {_plain(exc)}") from None
        finally:
            with anyio.move_on_after(CLOSE_S, shield=True):
                await pool.aclose()

    async def _exchange(self, pool: httpcore2.AsyncConnectionPool, url: MediaUrl, accept: str) -> Fetched | str:
        target = httpcore2.URL(
            scheme=url.scheme.encode("ascii"),
            host=url.host.encode("ascii"),
            port=url.port,
            target=url.target.encode("ascii"),
        )
        timeouts = {"connect": DIAL_S, "read": self._limits.total_s, "write": self._limits.total_s}
        async with pool.stream(
            "GET", target, headers=_request_headers(url, accept), extensions={"timeout": timeouts}
        ) as answer:
            if sum(len(name) + len(value) + 4 for name, value in answer.headers) > self._limits.headers_max_bytes:
                raise FetchFailedError(f"the headers are over {self._limits.headers_max_bytes} bytes")
            location = _header(answer.headers, b"location")
            if answer.status in REDIRECTS and location:
                return location
            if 300 <= answer.status < 400:
                raise FetchFailedError(f"the server answered with status {answer.status} and no address to go to")
            body = BoundedBody(self._limits.body_max_bytes, _header(answer.headers, b"content-encoding"))
            return Fetched(
                url=str(url),
                status=answer.status,
                content_type=_header(answer.headers, b"content-type"),
                body=await body.read(answer.aiter_stream()),
            )


def _request_headers(url: MediaUrl, accept: str) -> Headers:
    host = f"[{url.host}]" if ":" in url.host else url.host
    port = "" if url.port == DEFAULT_PORTS[url.scheme] else f":{url.port}"
    return [
        (b"Host", f"{host}{port}".encode("ascii")),
        (b"User-Agent", USER_AGENT.encode("ascii")),
        (b"Accept", accept.encode("ascii")),
        (b"Accept-Encoding", b"identity"),
        (b"Connection", b"close"),
    ]


def _header(headers: Headers, wanted: bytes) -> str:
    """Return a header's text, "" where it is absent or stands there more than once with different values."""
    values = {value for name, value in headers if name.lower() == wanted}
    return values.pop().decode("utf-8", "replace") if len(values) == 1 else ""


def _joined(base: MediaUrl, location: str) -> str:
    """Return the absolute form of a Location header; its characters are checked before it is taken apart."""
    check_characters(location)
    try:
        return urljoin(str(base), location)
    except ValueError:
        raise FetchFailedError("a redirect has an address that cannot be read") from None


def _plain(error: Exception) -> str:
    """Return what failed in words: the library's own hold addresses."""
    match error:
        case httpcore2.ConnectError() | httpcore2.ConnectTimeout():
            return "no connection"
        case httpcore2.ProtocolError():
            return "the answer is no HTTP"
        case _:
            return "the connection was lost"
