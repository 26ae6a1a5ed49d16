"""Entries that go wrong before the first list has been read."""

import threading
import time

from hilt.faults.core import Server, notice
from hilt.faults.entry import HANDSHAKE, HTTP, NETWORK, SSE, STDIO, Entry, Kind, Setting
from hilt.faults.exchange import EndedError, Exchange
from hilt.faults.http_exchange import HttpExchange, over_http
from hilt.faults.pipe import leave
from hilt.faults.protocol import Json, encode, result
from hilt.faults.sse import SseExchange

FUTURE = "2099-01-01"


class HangInitialize(Server):
    """Never answers the first request."""

    def opening(self, exchange: Exchange) -> None:
        """Say nothing."""
        exchange.hang()


class DripInitialize(Server):
    """Sends nothings instead of the first answer."""

    def opening(self, exchange: Exchange) -> None:
        """Say nothing, often."""
        while True:
            exchange.blank()
            exchange.pause(self.setup.number("every"))


class HangList(Server):
    """Never answers `tools/list`, from some list on; tells of a change before that."""

    def started(self) -> None:
        """See `Server.started`."""
        self._listed = threading.Event()

    def list_tools(self, exchange: Exchange) -> None:
        """Answer the first lists."""
        if exchange.nth > self.setup.count("after"):
            exchange.hang()
        self.finish(exchange)
        if exchange.nth == self.setup.count("after"):
            self._listed.set()

    def standing(self, exchange: Exchange) -> None:
        """Tell of a change as soon as the next list would hang."""
        while not self._listed.is_set():
            exchange.pause(0.05)
        exchange.send(notice(exchange, "notifications/tools/list_changed"))
        exchange.hang()


class SlowStart(Server):
    """Answers nothing until some time after the first message."""

    def started(self) -> None:
        """See `Server.started`."""
        self._ready_at = 0.0

    def handle(self, exchange: Exchange) -> None:
        """Wait first."""
        now = time.monotonic()
        with self.lock:
            self._ready_at = self._ready_at or now + self.setup.number("delay")
        if self._ready_at > now:
            exchange.pause(self._ready_at - now)
        super().handle(exchange)


class Refuse(Server):
    """Is not there."""

    silent = True


class ExitAtStart(Server):
    """Exits before it reads anything."""

    def started(self) -> None:
        """Leave with words."""
        leave(self.log, 3, "no licence file\n")


class ExitAfterInitialize(Server):
    """Exits as soon as it has introduced itself."""

    def opening(self, exchange: Exchange) -> None:
        """Answer and leave."""
        self.finish(exchange)
        exchange.cut()


class OddAnswer(Server):
    """Answers the first request with what is no proper answer."""

    def opening(self, exchange: Exchange) -> None:
        """Answer oddly."""
        kind = self.setup.text("kind")
        value = self.completed(exchange, self.honest(exchange))
        if kind == "future":
            self.finish(exchange, {**value, **_future(exchange)})
        else:
            self._answer(over_http(exchange), kind, value)

    def _answer(self, exchange: HttpExchange, kind: str, value: Json) -> None:
        whole = encode(result(exchange.id, value))
        match kind:
            case "html":
                exchange.status(200, "<html><body>Welcome</body></html>", (("Content-Type", "text/html"),))
            case "empty":
                exchange.status(200)
            case "half":
                exchange.answer_text(whole[: len(whole) // 2])
            case "no-message":
                exchange.answer_text(b'{"hello":"world"}')
            case "session-control":
                exchange.headers_out = [("Mcp-Session-Id", "bad\x01\x7fid")]
                exchange.answer_text(whole)
            case _:
                exchange.headers_out = [("Mcp-Session-Id", "s" * 4096)]
                exchange.answer_text(whole)


def _future(exchange: Exchange) -> Json:
    return {"protocolVersion": FUTURE} if exchange.method == "initialize" else {"supportedVersions": [FUTURE]}


class SseNoEndpoint(Server):
    """Never says where to send messages."""

    def endpoint(self, exchange: HttpExchange, address: str) -> None:
        """Say nothing."""


class SseFarEndpoint(Server):
    """Says to send messages to another origin."""

    def started(self) -> None:
        """See `Server.started`."""
        self._origin = self.canary()

    def endpoint(self, exchange: HttpExchange, address: str) -> None:
        """Name the other origin."""
        super().endpoint(exchange, self._origin + address)


class SsePostFails(Server):
    """Refuses the POST of every call."""

    def accept(self, exchange: Exchange) -> None:
        """Refuse a call."""
        if exchange.method != "tools/call" or not isinstance(exchange, SseExchange):
            super().accept(exchange)
            return
        kind = self.setup.text("kind")
        if kind == "reset":
            exchange.post.cut()
        exchange.post.status(int(kind), "no\n")
        raise EndedError


ENTRIES = (
    Entry(
        name="hang-initialize",
        section=2,
        ids=("FLT-10", "FLT-68"),
        summary="Accepts and never answers the first request.",
        server=HangInitialize,
    ),
    Entry(
        name="drip-initialize",
        section=2,
        ids=("FLT-11",),
        summary="Sends a comment or blank line again and again, never an answer.",
        server=DripInitialize,
        settings=(Setting(name="every", default="0.1", summary="seconds between two"),),
    ),
    Entry(
        name="hang-list",
        section=2,
        ids=("FLT-12", "FLT-68"),
        summary="Opens well, then never answers tools/list.",
        server=HangList,
        settings=(
            Setting(name="after", default="0", summary="lists that are answered, with a notice of a change after them"),
        ),
    ),
    Entry(
        name="slow-start",
        section=2,
        ids=("FLT-13",),
        summary="Answers nothing for a while after the first message, then all.",
        server=SlowStart,
        settings=(Setting(name="delay", default="1.5", summary="seconds until then"),),
    ),
    Entry(
        name="refuse",
        section=2,
        ids=("FLT-14",),
        summary="Nothing listens at the address.",
        server=Refuse,
        transports=NETWORK,
    ),
    Entry(
        name="exit-at-start",
        section=2,
        ids=("FLT-15",),
        summary="Writes `no licence file` to standard error and exits with 3.",
        server=ExitAtStart,
        transports=STDIO,
    ),
    Entry(
        name="exit-after-initialize",
        section=2,
        ids=("FLT-16",),
        summary="Answers the first request and exits with 1.",
        server=ExitAfterInitialize,
        transports=STDIO,
    ),
    Entry(
        name="odd-answer",
        section=2,
        ids=("FLT-17",),
        summary="Answers the first request with what is no proper answer.",
        server=OddAnswer,
        kinds=(
            Kind(name="html", transports=HTTP),
            Kind(name="empty", transports=HTTP),
            Kind(name="half", transports=HTTP),
            Kind(name="no-message", transports=HTTP),
            Kind(name="future"),
            Kind(name="session-control", transports=HTTP, eras=HANDSHAKE),
            Kind(name="session-long", transports=HTTP, eras=HANDSHAKE),
        ),
    ),
    Entry(
        name="sse-no-endpoint",
        section=2,
        ids=("FLT-18",),
        summary="Opens the event stream and never says where to send messages.",
        server=SseNoEndpoint,
        eras=HANDSHAKE,
        transports=SSE,
    ),
    Entry(
        name="sse-far-endpoint",
        section=2,
        ids=("FLT-18",),
        summary="Says to send messages to another origin.",
        server=SseFarEndpoint,
        eras=HANDSHAKE,
        transports=SSE,
    ),
    Entry(
        name="sse-post-fails",
        section=2,
        ids=("FLT-18",),
        summary="Refuses the POST of every call.",
        server=SsePostFails,
        eras=HANDSHAKE,
        transports=SSE,
        kinds=(Kind(name="401"), Kind(name="500"), Kind(name="reset")),
    ),
)
