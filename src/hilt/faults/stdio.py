"""MCP over standard input and output: one message a line, each handled in its own thread."""

import contextlib
import json
import threading

from hilt.faults.core import Server
from hilt.faults.exchange import EndedError
from hilt.faults.pipe import Link, StdioExchange
from hilt.faults.protocol import Json


def serve(server: Server, link: Link) -> None:
    """Answer the lines of standard input until it ends."""
    for line in link.lines():
        if link.leaving.is_set():
            break
        message = _parsed(line)
        server.log.write("received", transport="stdio", headers={}, message=message or line[:1000].decode("latin-1"))
        if message is None:
            continue
        nth = server.tally(str(message.get("method", "")))
        exchange = StdioExchange(link, message, nth=nth, log=server.log)
        threading.Thread(target=_handle, args=(server, exchange), name="message", daemon=True).start()
    if link.leaving.is_set():
        # The exit code is set by who leaves; this thread waits to be told.
        threading.Event().wait()
    link.wait_for_end()
    server.log.write("gone")


def _parsed(line: bytes) -> Json | None:
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(line)
        if isinstance(found, dict):
            return found
    return None


def _handle(server: Server, exchange: StdioExchange) -> None:
    with contextlib.suppress(EndedError):
        server.accept(exchange)
        server.handle(exchange)
