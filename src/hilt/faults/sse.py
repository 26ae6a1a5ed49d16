"""MCP over SSE, the transport of 2024-11-05: one event stream for answers, POSTs for everything else."""

import contextlib
import json
import threading
from typing import Final, NoReturn

from hilt.faults.core import Server
from hilt.faults.exchange import EndedError, Exchange
from hilt.faults.http import Connection
from hilt.faults.http_exchange import HttpExchange, event
from hilt.faults.protocol import Json, Transport

PATH: Final = "/sse"
POST_PATH: Final = "/messages"


class SseExchange(Exchange):
    """One POST; its answer goes out on the event stream of its session."""

    transport = Transport.SSE

    def __init__(self, post: HttpExchange, stream: Connection) -> None:
        super().__init__(post.message, nth=post.nth, log=post.log)
        self.post = post
        self._stream = stream

    def answer_text(self, text: bytes) -> None:
        """See `Exchange.answer_text`."""
        self.log.write("sent", id=self.id, status=200)
        self.send_text(text)

    def send_text(self, text: bytes) -> None:
        """See `Exchange.send_text`."""
        self._stream.chunk(event(text))

    def blank(self) -> None:
        """See `Exchange.blank`."""
        self._stream.chunk(b": nothing\n\n")

    def accept(self) -> None:
        """See `Exchange.accept`."""
        self.post.status(202, "Accepted")

    def pause(self, seconds: float) -> None:
        """See `Exchange.pause`."""
        self._stream.wait(seconds)

    def hang(self) -> NoReturn:
        """See `Exchange.hang`."""
        self._stream.wait(None)
        raise EndedError

    def cut(self) -> NoReturn:
        """See `Exchange.cut`; the event stream is what breaks."""
        self.log.write("cut", id=self.id)
        self._stream.reset()

    def end(self) -> None:
        """See `Exchange.end`."""
        self._stream.chunk(b"")
        self._stream.close()


class SseEndpoint:
    """Serves the two paths of an SSE server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._streams: dict[str, Connection] = {}

    def serve(self, connection: Connection) -> None:
        """Answer the requests of a connection until it is over."""
        self._server.connected(connection)
        while (request := connection.read()) is not None:
            message: Json = {}
            with contextlib.suppress(ValueError):
                message = json.loads(request.body or b"{}")
            self._server.log.write(
                "received",
                transport="sse",
                verb=request.verb,
                path=request.path,
                headers=request.headers,
                message=message or None,
            )
            self._server.requested(connection, request)
            nth = self._server.tally(str(message.get("method", request.verb)))
            exchange = HttpExchange(connection, request, message, nth=nth, log=self._server.log)
            if request.verb == "GET" and request.path == PATH:
                self._open(exchange)
            elif request.verb == "POST" and request.path == POST_PATH:
                self._post(exchange)
            else:
                exchange.status(404, "no such path\n")

    def _open(self, exchange: HttpExchange) -> None:
        session = self._server.open_session()
        self._streams[session] = exchange.connection
        exchange.open()
        try:
            self._server.endpoint(exchange, f"{POST_PATH}?session={session}")
            exchange.hang()
        finally:
            del self._streams[session]

    def _post(self, exchange: HttpExchange) -> None:
        stream = self._streams.get(exchange.request.query.removeprefix("session="))
        if stream is None or stream.closed:
            exchange.status(404, "no such session\n")
            return
        # What ends here is the work on the message, not the connection that the POST came on.
        with contextlib.suppress(EndedError):
            accepted = SseExchange(exchange, stream)
            self._server.accept(accepted)
            threading.Thread(target=self._handle, args=(accepted,), name="message", daemon=True).start()

    def _handle(self, exchange: SseExchange) -> None:
        with contextlib.suppress(EndedError):
            self._server.handle(exchange)
