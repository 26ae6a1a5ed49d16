"""Entries that break the connection in the middle of a call, and those that redirect it."""

import threading

from hilt.faults.core import CallFault
from hilt.faults.entry import (
    AFTER,
    ALL,
    CALLS_ALWAYS,
    CALLS_ONCE,
    HANDSHAKE,
    HTTP,
    NETWORK,
    Entry,
    Kind,
    Setting,
)
from hilt.faults.exchange import EndedError, Exchange
from hilt.faults.http import Connection, Request
from hilt.faults.http_exchange import HttpExchange, event, over_http
from hilt.faults.protocol import encode, result


class ResetAfterDelivery(CallFault):
    """Runs the tool, then breaks the connection instead of answering."""

    def fault(self, exchange: Exchange) -> None:
        """Run and break."""
        self.execute(exchange)
        exchange.cut()


class ResetOneOfTwo(CallFault):
    """Waits until two calls are open, breaks the first and answers the second."""

    def started(self) -> None:
        """See `Server.started`."""
        self._both = threading.Event()
        self._broken = threading.Event()

    def call(self, exchange: Exchange) -> None:
        """Tell the first of the second, and answer that when the first is broken."""
        if exchange.nth == self.setup.count("after") + 2:
            self._both.set()
            while not self._broken.is_set():
                exchange.pause(0.02)
        super().call(exchange)

    def fault(self, exchange: Exchange) -> None:
        """Wait and break."""
        while not self._both.is_set():
            exchange.pause(0.02)
        self._broken.set()
        exchange.cut()


class IdleClose(CallFault):
    """Closes a kept-alive connection just as a call arrives on it; the call is lost."""

    def started(self) -> None:
        """See `Server.started`."""
        self._closed = 0

    def requested(self, connection: Connection, request: Request) -> None:
        """Close."""
        times = self.setup.count("times")
        due = times == 0 or self._closed < times
        if due and connection.requests > 1 and b'"tools/call"' in request.body:
            self._closed += 1
            self.log.write("cut")
            connection.close()
            raise EndedError

    def hits(self, exchange: Exchange) -> bool:
        """No call that got through is hit."""
        return False


class CutStream(CallFault):
    """Runs the tool, then ends the stream of the answer without it."""

    def fault(self, exchange: Exchange) -> None:
        """Run and end."""
        self.execute(exchange)
        exchange.blank()
        self.log.write("cut", id=exchange.id)
        exchange.end()


class CutStreamResumable(CallFault):
    """Ends the stream of the answer after an event id; the answer is there for who asks with that id."""

    def started(self) -> None:
        """See `Server.started`."""
        self._kept: dict[str, bytes] = {}

    def fault(self, exchange: Exchange) -> None:
        """Run the tool, keep the answer and end the stream."""
        event_id = f"answer-{exchange.nth}"
        self._kept[event_id] = encode(result(exchange.id, self.honest(exchange)))
        self._end(over_http(exchange), event_id)

    def _end(self, exchange: HttpExchange, event_id: str) -> None:
        exchange.raw(f"id: {event_id}\nretry: {self.setup.count('retry_ms')}\ndata:\n\n".encode())
        self.log.write("cut", id=exchange.id)
        exchange.end()

    def stream(self, exchange: HttpExchange) -> None:
        """Go on with an answer."""
        event_id = exchange.request.headers.get("last-event-id", "")
        if event_id not in self._kept:
            super().stream(exchange)
        elif self.setup.text("kind") == "once":
            exchange.raw(event(self._kept[event_id], f"{event_id}-whole"))
            exchange.end()
        else:
            self._end(exchange, event_id)


class ShortBody(CallFault):
    """Sends less of the answer than its length says."""

    def fault(self, exchange: Exchange) -> None:
        """Send half and close."""
        body = encode(result(exchange.id, self.completed(exchange, self.execute(exchange))))
        connection = _begun(exchange, len(body))
        connection.write(body[: len(body) // 2])
        connection.close()
        raise EndedError


class SlowBody(CallFault):
    """Sends the answer a byte at a time."""

    def fault(self, exchange: Exchange) -> None:
        """Send slowly."""
        body = encode(result(exchange.id, self.completed(exchange, self.execute(exchange))))
        connection = _begun(exchange, len(body))
        for at in range(len(body)):
            connection.write(body[at : at + 1])
            exchange.pause(self.setup.number("every"))


def _begun(exchange: Exchange, length: int) -> Connection:
    """Send the head of an answer of this length, and return the connection for its body."""
    connection = over_http(exchange).connection
    connection.head(200, [("Content-Type", "application/json"), ("Content-Length", str(length))])
    return connection


class Redirect(CallFault):
    """Sends the call elsewhere: to another origin, to itself, to a file, or to another path of its own."""

    paths = ("/mcp", "/moved")

    def started(self) -> None:
        """The other origin is a canary."""
        self._targets = {
            "redirect-away": f"{self.canary()}/mcp",
            "redirect-loop": "/mcp",
            "redirect-to-file": "file:///etc/hostname",
            "redirect-same": "/moved",
        }

    def fault(self, exchange: Exchange) -> None:
        """Redirect; what comes to the other path is answered."""
        http = over_http(exchange)
        if http.request.path == "/mcp":
            http.status(307, headers=(("Location", self._targets[self.setup.entry]),))
        else:
            self.finish(exchange)


_REDIRECTS = {
    "redirect-away": "Redirects a call to another origin.",
    "redirect-loop": "Redirects a call to where it came.",
    "redirect-to-file": "Redirects a call to a file.",
    "redirect-same": "Redirects a call to another path of the same origin, which answers.",
}

ENTRIES = (
    Entry(
        name="reset-after-delivery",
        section=3,
        ids=("FLT-40", "FLT-41"),
        summary="Runs the tool, then resets the connection.",
        server=ResetAfterDelivery,
        transports=NETWORK,
        settings=CALLS_ONCE,
    ),
    Entry(
        name="reset-one-of-two",
        section=3,
        ids=("FLT-42",),
        summary="Waits until two calls are open, resets the first and answers the second.",
        server=ResetOneOfTwo,
        transports=HTTP,
        settings=CALLS_ONCE,
    ),
    Entry(
        name="flapping",
        section=3,
        ids=("FLT-43",),
        summary="Opens well each time, and cuts each call after its tool has run.",
        server=ResetAfterDelivery,
        transports=ALL,
        settings=CALLS_ALWAYS,
    ),
    Entry(
        name="idle-close",
        section=3,
        ids=("FLT-44",),
        summary="Closes a kept-alive connection just as a call arrives on it.",
        server=IdleClose,
        transports=HTTP,
        settings=CALLS_ONCE[1:],
    ),
    Entry(
        name="cut-stream",
        section=3,
        ids=("FLT-45",),
        summary="Runs the tool, then ends the stream without the answer and without an event id.",
        server=CutStream,
        transports=NETWORK,
        settings=CALLS_ONCE,
    ),
    Entry(
        name="cut-stream-resumable",
        section=3,
        ids=("FLT-46",),
        summary="Ends the stream after an event id and a retry time; a GET with that id brings the answer, or never.",
        server=CutStreamResumable,
        eras=HANDSHAKE,
        transports=HTTP,
        kinds=(Kind(name="once"), Kind(name="forever")),
        settings=(AFTER, CALLS_ALWAYS[1], Setting(name="retry_ms", default="700", summary="the retry time")),
    ),
    Entry(
        name="short-body",
        section=3,
        ids=("FLT-47",),
        summary="Closes in the middle of an answer, of which the length was told.",
        server=ShortBody,
        transports=HTTP,
        settings=CALLS_ONCE,
    ),
    Entry(
        name="slow-body",
        section=3,
        ids=("FLT-47",),
        summary="Sends the answer a byte a second.",
        server=SlowBody,
        transports=HTTP,
        settings=(*CALLS_ONCE, Setting(name="every", default="1", summary="seconds between two bytes")),
    ),
    *(
        Entry(
            name=name,
            section=3,
            ids=("FLT-48",),
            summary=summary,
            server=Redirect,
            transports=HTTP,
            settings=CALLS_ALWAYS,
        )
        for name, summary in _REDIRECTS.items()
    ),
)
