"""The network below an HTTP client, for hosts that others name: it opens connections to vetted addresses alone.

It stands under the connection pool, so that URL, Host header and TLS name stay what they were: the name is checked
by TLS, the address by this.
"""

import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

import anyio
import anyio.to_thread
import httpcore2

from hilt.core.address import check_address, is_address
from hilt.ports.fetch import FetchFailedError

DIALS_MAX: Final = 4
DIAL_S: Final = 8.0
LOOKUPS_AT_ONCE: Final = 8

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host name, in the order to try them; an OSError where there are none."""


class SystemResolver:
    """Resolves by the operating system, in threads of its own: a name that hangs delays no file."""

    def __init__(self) -> None:
        self._places = anyio.CapacityLimiter(LOOKUPS_AT_ONCE)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Return the distinct addresses of `host`, in the system's order of preference.

        Raises:
            OSError: There are none.
        """

        def look_up() -> list[str]:
            found = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
            return list(dict.fromkeys(str(entry[4][0]) for entry in found))

        return await anyio.to_thread.run_sync(look_up, abandon_on_cancel=True, limiter=self._places)


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Resolves a host once, refuses it if one of its addresses may not be fetched, and dials only these addresses.

    `network` opens the connections; it is given addresses, never names.
    """

    def __init__(self, *, resolve: Resolve, network: httpcore2.AsyncNetworkBackend | None = None) -> None:
        self._resolve = resolve
        self._network = network or httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # the name is httpcore2's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first of the host's addresses that answers, within `timeout` seconds for each.

        Raises:
            UrlRefusedError: An address is refused; nothing was dialled.
            FetchFailedError: The name does not resolve.
            httpcore2.ConnectError: No address answers.
        """
        addresses = await self._vetted(host, port)
        last: Exception = httpcore2.ConnectError("no address")
        for address in addresses[:DIALS_MAX]:
            try:
                return await self._network.connect_tcp(address, port, timeout=timeout)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as exc:
                last = exc
        raise last

    async def _vetted(self, host: str, port: int) -> Sequence[str]:
        addresses = [host] if is_address(host) else await self._resolved(host, port)
        for address in addresses:
            check_address(address)
        return addresses

    async def _resolved(self, host: str, port: int) -> Sequence[str]:
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError):
            addresses = ()
        if not addresses:
            raise FetchFailedError(f"the host {host!r} is not known")
        return addresses


def tls_reason(error: BaseException) -> str | None:
    """Return why TLS refused the server, None where the error is not about TLS."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message or "the certificate is not valid"
        if isinstance(cause, ssl.SSLError):
            return cause.reason or "the handshake failed"
        cause = cause.__cause__ or cause.__context__
    return None
