"""Opens connections to MCP servers: picks the transport, settles and remembers the era."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import anyio.abc
import anyio.lowlevel
import httpcore2

from hilt.adapters._http import shared_ssl_context
from hilt.adapters.mcp_channel import ChannelState
from hilt.adapters.mcp_connection import SdkConnection
from hilt.adapters.mcp_eras import ProbeKilledError, negotiate, refuses_era
from hilt.adapters.mcp_http import HttpWire
from hilt.adapters.mcp_replies import ClientReplies
from hilt.adapters.mcp_sse import SseWire
from hilt.adapters.mcp_stdio import StdioWire
from hilt.adapters.mcp_transport import OriginTransport
from hilt.adapters.mcp_wire import Wire
from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.core.mcp import Protocol as Era
from hilt.core.redaction import Redactor
from hilt.ports.mcp import Fault, McpFault, NotificationHandler

logger = logging.getLogger(__name__)


class SdkDialer:
    """Opens connections; see `McpDialer`. Each one's owner task runs in `tasks`.

    `environment` is what processes inherit from, `root` the workspace root (None: no file system), `version`
    ours; `elicits` says that a person can be asked for what a server wants to know. `network` opens the connections of
    HTTP where it is not the system's.
    """

    def __init__(  # noqa: PLR0913 - keyword-only parts of one dialer
        self,
        tasks: anyio.abc.TaskGroup,
        *,
        root: Path | None = None,
        environment: Mapping[str, str] | None = None,
        version: str = "0",
        limits: McpLimits | None = None,
        elicits: bool = False,
        network: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        self._tasks = tasks
        self._root = root
        self._environment = environment or {}
        self._client = {"name": "hilt", "version": version}
        self._limits = limits or McpLimits()
        self._eras: dict[tuple[str, str], Era] = {}
        self._noisy: set[str] = set()
        self._elicits = elicits
        self._network = network
        self._channels: dict[tuple[str, str], ChannelState] = {}

    async def dial(
        self, spec: McpServerSpec, *, on_notification: NotificationHandler, secrets: Sequence[str] = ()
    ) -> SdkConnection:
        """See `McpDialer.dial`."""
        redactor = Redactor(secrets)
        try:
            with anyio.move_on_after(spec.connect_timeout_s):
                return await self._dial(spec, redactor, on_notification)
        except McpFault as fault:
            fault.text = redactor.redact(fault.text)
            raise
        raise McpFault(Fault.TIMEOUT, f"no connection within {spec.connect_timeout_s:g} s")

    async def _dial(
        self, spec: McpServerSpec, redactor: Redactor, on_notification: NotificationHandler
    ) -> SdkConnection:
        key = (spec.name, spec.url or spec.command)
        remembered = self._eras.pop(key, None) if spec.protocol == "auto" else None
        try:
            return await self._negotiated(spec, remembered or spec.protocol, redactor, on_notification)
        except ProbeKilledError:
            return await self._negotiated(spec, "handshake", redactor, on_notification)
        except McpFault as fault:
            if remembered is None or not refuses_era(fault):
                if remembered is not None:
                    self._eras[key] = remembered
                raise
        return await self._negotiated(spec, "auto", redactor, on_notification)

    async def _negotiated(
        self, spec: McpServerSpec, protocol: Era, redactor: Redactor, on_notification: NotificationHandler
    ) -> SdkConnection:
        stdio = spec.transport == "stdio"
        # Where no time is left nothing may be made: what is never run is never closed.
        await anyio.lowlevel.checkpoint()
        connection = SdkConnection(
            self._wire(spec),
            server=spec.name,
            client=self._client,
            replies=ClientReplies(self._root if stdio else None, elicits=self._elicits),
            redactor=redactor,
            on_notification=on_notification,
            channel=self._channels.setdefault(
                (spec.name, spec.url or spec.command),
                ChannelState(spec.name, first_pause_s=self._limits.first_pause_s),
            ),
        )
        await self._tasks.start(connection.run)
        try:
            opened = await negotiate(
                connection,
                protocol=protocol,
                probe_s=self._probe_s(spec, protocol),
                stdio=stdio,
                hello=connection.hello,
            )
        except BaseException:
            connection.end()
            raise
        if opened.sure:
            self._eras[spec.name, spec.url or spec.command] = (
                "stateless" if opened.facts.era == "stateless" else "handshake"
            )
        return connection

    def _probe_s(self, spec: McpServerSpec, protocol: Era) -> float:
        """Return how long the probe may take: all there is, where nothing else would follow it."""
        whole = spec.connect_timeout_s
        return min(self._limits.probe_s, whole / 2) if protocol == "auto" else whole

    def _wire(self, spec: McpServerSpec) -> Wire:
        match spec.transport:
            case "stdio":
                return StdioWire(
                    spec,
                    root=self._root,
                    environment=self._environment,
                    on_noise=lambda excerpt: self._noise(spec.name, excerpt),
                    limits=self._limits,
                )
            case kind:
                wire = SseWire if kind == "sse" else HttpWire
                return wire(spec, transport=self._transport(spec), limits=self._limits)

    def _transport(self, spec: McpServerSpec) -> OriginTransport:
        secure = spec.url.lower().startswith("https")
        return OriginTransport(tls=shared_ssl_context() if secure else None, network=self._network)

    def _noise(self, name: str, excerpt: str) -> None:
        if name not in self._noisy:
            self._noisy.add(name)
            logger.warning("mcp_stdio_noise server=%s excerpt=%s", name, excerpt)
