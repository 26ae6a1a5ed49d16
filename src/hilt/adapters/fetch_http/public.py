"""The network below HTTP to addresses that a caller names: vetted addresses alone."""

from collections.abc import Iterable

import httpcore2

from hilt.adapters.fetch_http.guard import GuardedBackend, Resolve, SystemResolver
from hilt.core.address import UrlRefusedError
from hilt.ports.fetch import FetchFailedError


class _PublicBackend(GuardedBackend):
    """Tells a refusal as a connection that was not made, which is what users of a client know."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # the name is httpcore2's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """See `GuardedBackend.connect_tcp`."""
        try:
            return await super().connect_tcp(host, port, timeout, local_address, socket_options)
        except (UrlRefusedError, FetchFailedError) as exc:
            raise httpcore2.ConnectError(str(exc)) from None


def public_network(*, resolve: Resolve | None = None) -> httpcore2.AsyncNetworkBackend:
    """Return what connects to public addresses alone, whatever a name resolves to."""
    return _PublicBackend(resolve=resolve or SystemResolver())
