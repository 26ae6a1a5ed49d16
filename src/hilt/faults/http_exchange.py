"""One HTTP request and its response, as an exchange: JSON, an event stream, or anything at all."""

from collections.abc import Mapping
from typing import Final, NoReturn

from hilt.faults.exchange import EndedError, Exchange
from hilt.faults.http import Connection, Header, Request
from hilt.faults.log import Log
from hilt.faults.protocol import STATUS_OF, Era, Json, Transport, encode, mapping

SESSION: Final = "mcp-session-id"
_JSON: Final = ("Content-Type", "application/json")


def event(text: bytes, event_id: str = "", name: str = "message") -> bytes:
    """Return one event of a stream; `text` holds no line end."""
    first = f"id: {event_id}\n" if event_id else ""
    return f"{first}event: {name}\ndata: ".encode() + text + b"\n\n"


class HttpExchange(Exchange):
    """One HTTP request; its response is the way back. `headers_out` go with the response."""

    transport = Transport.HTTP

    def __init__(
        self, connection: Connection, request: Request, message: Mapping[str, object], *, nth: int, log: Log
    ) -> None:
        super().__init__(message, nth=nth, log=log)
        self.connection = connection
        self.request = request
        self.headers_out: list[Header] = []
        self.as_events = False
        self.streaming = False

    @property
    def session(self) -> str:
        """The session id that came with the request; empty without one."""
        return self.request.headers.get(SESSION, "")

    def status(self, status: int, body: str = "", headers: tuple[Header, ...] = ()) -> None:
        """Send a whole response that is no message."""
        kind = [] if any(name.lower() == "content-type" for name, _ in headers) else [("Content-Type", "text/plain")]
        self.log.write("sent", id=self.id, status=status)
        self.connection.reply(status, [*self.headers_out, *kind, *headers], body.encode())

    def rpc(self, status: int, message: Json) -> None:
        """Send a message under any status."""
        self.log.write("sent", id=message.get("id"), status=status)
        self.connection.reply(status, [*self.headers_out, _JSON], encode(message))

    def open(self) -> None:
        """Begin the event stream; may be repeated."""
        if not self.streaming:
            self.streaming = True
            self.connection.open_stream(self.headers_out)

    def raw(self, piece: bytes) -> None:
        """Send bytes on the event stream."""
        self.open()
        self.connection.chunk(piece)

    def answer(self, message: Json) -> None:
        """See `Exchange.answer`; a stateless server tells errors by the status too."""
        code = mapping(message.get("error")).get("code")
        status = STATUS_OF.get(code, 200) if isinstance(code, int) and self.era is Era.STATELESS else 200
        if status == 200 or self.streaming:
            super().answer(message)
        else:
            self.rpc(status, message)

    def answer_text(self, text: bytes) -> None:
        """See `Exchange.answer_text`."""
        self.log.write("sent", id=self.id, status=200)
        if self.streaming or self.as_events:
            self.raw(event(text))
            self.end()
        else:
            self.connection.reply(200, [*self.headers_out, _JSON], text)

    def send_text(self, text: bytes) -> None:
        """See `Exchange.send_text`."""
        self.raw(event(text))

    def blank(self) -> None:
        """See `Exchange.blank`."""
        self.raw(b": nothing\n\n")

    def accept(self) -> None:
        """See `Exchange.accept`; a request is answered instead."""
        if not self.method or "id" not in self.message:
            self.status(202)

    def pause(self, seconds: float) -> None:
        """See `Exchange.pause`."""
        self.connection.wait(seconds)

    def hang(self) -> NoReturn:
        """See `Exchange.hang`."""
        self.connection.wait(None)
        raise EndedError

    def cut(self) -> NoReturn:
        """See `Exchange.cut`."""
        self.log.write("cut", id=self.id)
        self.connection.reset()

    def end(self) -> None:
        """See `Exchange.end`."""
        self.open()
        self.connection.chunk(b"")
        self.streaming = False


def over_http(exchange: Exchange) -> HttpExchange:
    """Return the exchange as what it is in an entry that runs over streamable HTTP alone."""
    if not isinstance(exchange, HttpExchange):
        raise TypeError(f"not over HTTP: {type(exchange).__name__}")
    return exchange
