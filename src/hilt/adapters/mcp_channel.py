"""The standing channel of one MCP connection: kept open while it works, given up when it never does.

What carries it is the transport's: a GET stream in the handshake era, `subscriptions/listen` in the stateless one.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import anyio

from hilt.core.replay import pause_s

logger = logging.getLogger(__name__)

FAILURES_MAX: Final = 3
SHORT_S: Final = 5.0
RETRY_DEFAULT_S: Final = 1.0
RETRY_MAX_S: Final = 10.0


class StreamEnd(Enum):
    """How one standing stream ended: not offered at all, failed, or over after it was open."""

    NOT_OFFERED = auto()
    FAILED = auto()
    OVER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReport:
    """One standing stream; `heard` whether a byte of it came, `retry_s` the server's own pause in seconds."""

    end: StreamEnd
    heard: bool = False
    retry_s: float = 0.0


OpenStream = Callable[[], Awaitable[StreamReport]]
"""Opens one standing stream and returns when it has ended; raises nothing."""


def promised_notices(capabilities: Mapping[str, object]) -> dict[str, bool]:
    """Return the filter of a subscription: the lists whose changes a server says that it tells of."""
    return {
        f"{kind}ListChanged": True
        for kind in ("tools", "prompts", "resources")
        if isinstance(about := capabilities.get(kind), Mapping) and about.get("listChanged") is True
    }


class ChannelState:
    """What is known of a server's channel in this process, beyond its connections.

    `first_pause_s` is the least pause between two streams, in seconds.
    """

    def __init__(self, server: str, *, first_pause_s: float = RETRY_DEFAULT_S) -> None:
        self.server = server
        self.first_pause_s = first_pause_s
        self._over = False
        self._failures = 0

    @property
    def is_over(self) -> bool:
        """Whether no further stream is opened in this process."""
        return self._over

    def note(self, report: StreamReport, seconds: float) -> bool:
        """Count a stream that ended and return whether to open another.

        The third failure in a row ends the channel with one WARN; a stream that the server does not offer ends it
        at once and silently.
        """
        if report.end is StreamEnd.NOT_OFFERED:
            self._over = True
            return False
        lasted = seconds >= SHORT_S
        if (report.heard or lasted) if report.end is StreamEnd.OVER else (report.heard and lasted):
            self._failures = 0
            return True
        self._failures += 1
        if self._failures >= FAILURES_MAX and not self._over:
            self._over = True
            logger.warning("mcp_standing_channel_given_up server=%s failures=%d", self.server, self._failures)
        return not self._over


async def hold_channel(open_stream: OpenStream, state: ChannelState, on_gap: Callable[[], None]) -> None:
    """Keep a stream open, until cancelled or until the channel is over; `on_gap` is told of each one that ends."""
    short = 0
    again = not state.is_over
    while again:
        began = anyio.current_time()
        report = await open_stream()
        seconds = anyio.current_time() - began
        again = state.note(report, seconds)
        if report.end is not StreamEnd.NOT_OFFERED:
            on_gap()
        if again:
            # A stream that ends at once again and again is opened less and less often.
            short = short + 1 if seconds < SHORT_S else 0
            first_s = max(min(report.retry_s, RETRY_MAX_S) if report.heard else 0.0, state.first_pause_s)
            await anyio.sleep(pause_s(max(short - 1, 1), chance=0.5, first_s=first_s))
