"""The honest server, in both eras; every entry is this with one thing changed.

Methods that take an exchange are the steps that entries replace. They run in the thread of their message.
"""

import contextlib
from collections import Counter

from hilt.faults.canary import Canary
from hilt.faults.exchange import EndedError, Exchange
from hilt.faults.honest import Honest, RpcError
from hilt.faults.http import Connection, Listener, Request
from hilt.faults.http_exchange import HttpExchange
from hilt.faults.pipe import Link
from hilt.faults.protocol import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REVISION_KEY,
    STATELESS_REVISION,
    SUBSCRIPTION_KEY,
    UNSUPPORTED_REVISION,
    Era,
    Json,
    Transport,
    error,
    mapping,
    meta,
    notification,
    result,
)
from hilt.faults.setup import Setup


class Server(Honest):
    """Answers every message as the protocol says."""

    silent = False
    """Whether nothing shall listen."""

    paths: tuple[str, ...] = ("/mcp",)
    """Where streamable HTTP is served."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.eras = setup.eras
        self.sessions: set[str] = set()
        self.listener: Listener | None = None
        self.link: Link | None = None
        self._opened = 0
        self._seen: Counter[str] = Counter()
        self._standing: list[Exchange] = []
        self._canaries: list[Canary] = []

    # ------------------------------------------------ what runs and transports call

    def close(self) -> None:
        """Give up every port."""
        for canary in self._canaries:
            canary.close()
        if self.listener is not None:
            self.listener.close()
        self.log.close()

    def canary(self) -> str:
        """Return an origin that nobody has a reason to ask; who does is in the log."""
        canary = Canary(self.log)
        self._canaries.append(canary)
        return canary.origin

    def started(self) -> None:
        """Begin: called once, before the first message."""

    def tally(self, method: str) -> int:
        """Count a message that has just come, and return the count of its method."""
        with self.lock:
            self._seen[method] += 1
            return self._seen[method]

    def connected(self, connection: Connection) -> None:
        """Do what is to be done before a connection's first request is read."""

    def requested(self, connection: Connection, request: Request) -> None:
        """Do what is to be done with an HTTP request before it is looked at."""

    def handle(self, exchange: Exchange) -> None:
        """Take one message that was accepted."""
        if not exchange.method:
            self.answered(exchange)
        elif "id" not in exchange.message:
            self.notified(exchange)
        elif exchange.method == "server/discover" and Era.STATELESS not in self.eras:
            self.probed(exchange)
        else:
            refusal = self.refusal(exchange)
            if refusal is None:
                self.route(exchange)
            else:
                exchange.answer(refusal)

    def endpoint(self, exchange: HttpExchange, address: str) -> None:
        """Say on an event stream of SSE where to send messages."""
        exchange.raw(f"event: endpoint\ndata: {address}\n\n".encode())

    def open_session(self) -> str:
        """Return the id of a new session."""
        with self.lock:
            self._opened += 1
            session = f"session-{self._opened}"
            self.sessions.add(session)
        return session

    def unknown_session(self, exchange: HttpExchange) -> None:
        """Answer a request of a session that is not there."""
        exchange.status(404, "Not Found\n")

    def stream(self, exchange: HttpExchange) -> None:
        """Answer a GET: a standing stream, or the rest of an answer."""
        self.stand(exchange)

    def delete(self, exchange: HttpExchange) -> None:
        """Answer a DELETE."""
        exchange.status(200)

    # ------------------------------------------------ steps

    def accept(self, exchange: Exchange) -> None:
        """Acknowledge a message whose answer, if any, takes another way."""
        exchange.accept()

    def probed(self, exchange: Exchange) -> None:
        """Answer a probe for the stateless era while that is not spoken, as servers do that know nothing of it."""
        if isinstance(exchange, HttpExchange):
            exchange.rpc(400, error(None, -32000, "Bad Request: no valid session id"))
        else:
            exchange.answer(error(exchange.id, METHOD_NOT_FOUND, f"Method not found: {exchange.method}"))

    def refusal(self, exchange: Exchange) -> Json | None:
        """Return the error for a request of an era or revision that is not spoken, else `None`."""
        if exchange.era not in self.eras:
            if exchange.era is Era.STATELESS:
                return error(exchange.id, METHOD_NOT_FOUND, f"Method not found: {exchange.method}")
            if exchange.method != "initialize":
                return error(exchange.id, INVALID_PARAMS, f"params._meta lacks {REVISION_KEY}")
            return self._unsupported(exchange, mapping(exchange.params).get("protocolVersion"))
        if exchange.era is Era.STATELESS and meta(exchange.message).get(REVISION_KEY) != STATELESS_REVISION:
            return self._unsupported(exchange, meta(exchange.message).get(REVISION_KEY))
        return None

    def _unsupported(self, exchange: Exchange, requested: object) -> Json:
        detail = {"supported": [STATELESS_REVISION], "requested": requested}
        return error(exchange.id, UNSUPPORTED_REVISION, "Unsupported protocol version", detail)

    def route(self, exchange: Exchange) -> None:
        """Hand a request to the step for its method."""
        match exchange.method:
            case "initialize" | "server/discover":
                self.opening(exchange)
            case "tools/list":
                self.list_tools(exchange)
            case "tools/call":
                self.call(exchange)
            case "subscriptions/listen":
                self.listen(exchange)
            case _:
                self.other(exchange)

    def opening(self, exchange: Exchange) -> None:
        """Answer `initialize` or `server/discover`."""
        self.finish(exchange)

    def list_tools(self, exchange: Exchange) -> None:
        """Answer `tools/list`."""
        self.finish(exchange)

    def call(self, exchange: Exchange) -> None:
        """Answer `tools/call`."""
        self.finish(exchange)

    def other(self, exchange: Exchange) -> None:
        """Answer any other request."""
        self.finish(exchange)

    def listen(self, exchange: Exchange) -> None:
        """Answer `subscriptions/listen`: say so, then keep the stream."""
        asked = exchange.params.get("notifications")
        params = {"notifications": asked, "_meta": {SUBSCRIPTION_KEY: exchange.id}}
        exchange.send(notification("notifications/subscriptions/acknowledged", params))
        self.stand(exchange)

    def notified(self, exchange: Exchange) -> None:
        """Take a notification."""
        pushed = self.setup.transport is not Transport.HTTP
        if exchange.method == "notifications/initialized" and pushed:
            self.stand(exchange)

    def answered(self, exchange: Exchange) -> None:
        """Take an answer to a request of ours."""

    def stand(self, exchange: Exchange) -> None:
        """Keep a standing channel for notices until the client leaves."""
        with self.lock:
            # A client that sees the stream open gets every notice from then on.
            if isinstance(exchange, HttpExchange):
                exchange.open()
            self._standing.append(exchange)
        try:
            self.standing(exchange)
        finally:
            with self.lock:
                self._standing.remove(exchange)

    def standing(self, exchange: Exchange) -> None:
        """Hold a standing channel that has just been opened."""
        exchange.hang()

    def end_standing(self) -> None:
        """Close every standing channel that has a connection of its own."""
        with self.lock:
            standing = [exchange for exchange in self._standing if isinstance(exchange, HttpExchange)]
        for exchange in standing:
            exchange.connection.close()

    # ------------------------------------------------ answers

    def finish(self, exchange: Exchange, value: Json | None = None) -> None:
        """Send the answer: `value` made complete for its era, or else the honest one."""
        try:
            found = self.honest(exchange) if value is None else value
        except RpcError as exc:
            exchange.answer(error(exchange.id, exc.code, exc.message, exc.detail))
        else:
            exchange.answer(result(exchange.id, self.completed(exchange, found)))

    # ------------------------------------------------ notices

    def notify(self, method: str) -> int:
        """Send a notice on every standing channel, and return how many there are."""
        with self.lock:
            standing = list(self._standing)
        for exchange in standing:
            with contextlib.suppress(EndedError):
                exchange.send(notice(exchange, method))
        return len(standing)


def notice(exchange: Exchange, method: str) -> Json:
    """Return a notice for a standing channel; one that was asked for by `subscriptions/listen` names that."""
    if exchange.id is None:
        return notification(method)
    return notification(method, {"_meta": {SUBSCRIPTION_KEY: exchange.id}})


class CallFault(Server):
    """Misbehaves in calls, as many as the settings `after` and `times` say."""

    def call(self, exchange: Exchange) -> None:
        """Answer well, or not."""
        if self.hits(exchange):
            self.fault(exchange)
        else:
            self.finish(exchange)

    def hits(self, exchange: Exchange) -> bool:
        """Say whether this call is one that is hit."""
        after, times = self.setup.count("after"), self.setup.count("times")
        return exchange.nth > after and (times == 0 or exchange.nth <= after + times)

    def fault(self, exchange: Exchange) -> None:
        """Do to the call what the entry is for."""
        raise NotImplementedError  # each entry of the kit is a subclass that says what it does
