"""MCP over streamable HTTP: sessions, headers, answers as JSON and as event stream."""

import contextlib
import json
from typing import Final

from hilt.faults.core import Server
from hilt.faults.http import Connection, Request
from hilt.faults.http_exchange import HttpExchange
from hilt.faults.protocol import HEADER_MISMATCH, REVISION_KEY, Era, Json, error, meta

PATH: Final = "/mcp"


class StreamableEndpoint:
    """Serves the one path of a streamable-HTTP server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def serve(self, connection: Connection) -> None:
        """Answer the requests of a connection until it is over."""
        self._server.connected(connection)
        while (request := connection.read()) is not None:
            message = _parsed(request)
            self._server.log.write(
                "received",
                transport="http",
                verb=request.verb,
                path=request.path,
                headers=request.headers,
                message=message or request.body[:1000].decode("latin-1") or None,
            )
            self._server.requested(connection, request)
            self._serve_one(connection, request, message)

    def _serve_one(self, connection: Connection, request: Request, message: Json | None) -> None:
        server = self._server
        given = message or {}
        method = str(given.get("method", "")) if request.verb == "POST" else request.verb
        exchange = HttpExchange(connection, request, given, nth=server.tally(method), log=server.log)
        exchange.as_events = server.setup.text("answers") == "sse"
        if request.path not in server.paths:
            exchange.status(404, "no such path\n")
        elif request.verb == "POST" and message is None:
            exchange.rpc(400, error(None, -32700, "Parse error"))
        elif request.verb == "POST":
            self._post(exchange)
        elif request.verb not in ("GET", "DELETE") or Era.HANDSHAKE not in server.eras:
            exchange.status(405, headers=(("Allow", "POST"),))
        elif self._in_session(exchange):
            self._session_verb(exchange)

    def _session_verb(self, exchange: HttpExchange) -> None:
        if exchange.request.verb == "GET":
            self._server.stream(exchange)
            return
        self._server.delete(exchange)
        with self._server.lock:
            self._server.sessions.discard(exchange.session)

    def _post(self, exchange: HttpExchange) -> None:
        server = self._server
        stateless = exchange.era is Era.STATELESS and Era.STATELESS in server.eras
        if stateless:
            refusal = _header_refusal(exchange)
            if refusal is not None:
                exchange.rpc(400, refusal)
                return
        elif exchange.method == "server/discover":
            pass
        elif exchange.method == "initialize":
            if Era.HANDSHAKE in server.eras:
                exchange.headers_out.append(("Mcp-Session-Id", server.open_session()))
        elif not self._in_session(exchange):
            return
        server.accept(exchange)
        server.handle(exchange)

    def _in_session(self, exchange: HttpExchange) -> bool:
        server, session = self._server, exchange.session
        with server.lock:
            known = session in server.sessions
        if known:
            return True
        if session:
            server.unknown_session(exchange)
        else:
            exchange.rpc(400, error(None, -32000, "Bad Request: no valid session id"))
        return False


def _parsed(request: Request) -> Json | None:
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(request.body)
        if isinstance(found, dict):
            return found
    return None


def _header_refusal(exchange: HttpExchange) -> Json | None:
    """Return the error for a header that says something else than the body, else `None`."""
    headers = exchange.request.headers
    expected = {"mcp-method": exchange.method, "mcp-protocol-version": meta(exchange.message).get(REVISION_KEY)}
    for name, value in expected.items():
        if headers.get(name) != value:
            return error(exchange.id, HEADER_MISMATCH, f"the header {name} differs from the body")
    return None
