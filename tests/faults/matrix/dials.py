"""Counts how often each server is dialled."""

from collections.abc import Sequence

from hilt.adapters.mcp_connection import SdkConnection
from hilt.adapters.mcp_dialer import SdkDialer
from hilt.core.mcp import McpServerSpec
from hilt.ports.mcp import NotificationHandler


class CountingDialer:
    """Dials, and counts the dials of each server."""

    def __init__(self, dialer: SdkDialer) -> None:
        self._dialer = dialer
        self.dials: dict[str, int] = {}

    async def dial(
        self, spec: McpServerSpec, *, on_notification: NotificationHandler, secrets: Sequence[str] = ()
    ) -> SdkConnection:
        """See `McpDialer.dial`."""
        self.dials[spec.name] = self.dials.get(spec.name, 0) + 1
        return await self._dialer.dial(spec, on_notification=on_notification, secrets=secrets)
