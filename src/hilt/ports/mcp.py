"""The wire of one MCP server: dial, list, call, close. Policy (retry, replay, names) is not here."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hilt.core.mcp import McpServerSpec
from hilt.core.replay import Fault

__all__ = [
    "CHANNEL_GAP",
    "Asker",
    "Fault",
    "McpConnection",
    "McpDialer",
    "McpFault",
    "NotificationHandler",
    "ProgressHandler",
    "ServerFacts",
]


class McpFault(Exception):
    """One exchange failed.

    `code`, `text` and `details` are the server's declared error; `status` the HTTP status; `retry_after_s`
    its own word on when to try again.
    """

    def __init__(
        self,
        fault: Fault,
        text: str,
        *,
        code: int | None = None,
        status: int | None = None,
        retry_after_s: float | None = None,
        details: object = None,
    ) -> None:
        super().__init__(text)
        self.fault = fault
        self.text = text
        self.code = code
        self.status = status
        self.retry_after_s = retry_after_s
        self.details = details

    def __str__(self) -> str:
        """Return the text as it is now: secrets may have been masked in it since."""
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What a server said of itself when it was dialled."""

    name: str = ""
    version: str = ""
    revision: str = ""
    era: str = "handshake"
    instructions: str = ""
    capabilities: Mapping[str, object] = field(default_factory=dict)


ProgressHandler = Callable[[float, float | None, str], None]
NotificationHandler = Callable[[str, Mapping[str, object]], None]

CHANNEL_GAP = "hilt/channel_gap"
"""Told to a `NotificationHandler` when a standing channel ended: notices may have been missed since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who answers a server's question to a person: the session whose call is open.

    `elicit` takes the params of `elicitation/create` and returns its result; it raises nothing.
    """

    session_id: str
    elicit: Callable[[Mapping[str, object]], Awaitable[Mapping[str, object]]]


class McpConnection(Protocol):
    """One live connection.

    Calls may come from any task at the same time; `close` from any task, any number of times.
    """

    @property
    def facts(self) -> ServerFacts:
        """What the server said when it was dialled."""
        ...

    async def request(
        self,
        method: str,
        params: Mapping[str, object],
        *,
        timeout_s: float,
        on_progress: ProgressHandler | None = None,
        headers: Mapping[str, str] | None = None,
        asker: Asker | None = None,
    ) -> Mapping[str, object]:
        """Send one request and return its raw result object.

        When the caller is cancelled or `timeout_s` (of the whole exchange) passes, the server is told and a
        late answer is dropped. `on_progress` is called with done, total and text, for rising values of `done`
        only, from another task and never after this has returned; it must not wait. `headers` are sent beside it
        in the stateless era over HTTP, and nowhere else. `asker` is put what the server wants to know meanwhile.

        Raises:
            McpFault: The exchange failed; says how.
        """
        ...

    async def close(self) -> None:
        """End the connection within bounded time; never raises."""
        ...


class McpDialer(Protocol):
    """Opens connections."""

    async def dial(
        self, spec: McpServerSpec, *, on_notification: NotificationHandler, secrets: Sequence[str] = ()
    ) -> McpConnection:
        """Connect and negotiate within `spec.connect_timeout_s`.

        `on_notification` gets method and params of each notification but progress, in order; it must not
        wait. `secrets` are values that no text of a fault shows.

        Raises:
            McpFault: It failed; nothing is left open.
        """
        ...
