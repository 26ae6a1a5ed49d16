"""Runs one entry in this process until nobody needs it any more."""

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from hilt.faults.core import Server
from hilt.faults.entry import Entry
from hilt.faults.http import Listener
from hilt.faults.lifetime import end_on_signals, end_with_parent
from hilt.faults.log import read_log
from hilt.faults.pipe import Link
from hilt.faults.protocol import Transport
from hilt.faults.setup import Setup
from hilt.faults.sse import PATH as SSE_PATH
from hilt.faults.sse import SseEndpoint
from hilt.faults.stdio import serve
from hilt.faults.streamable import PATH, StreamableEndpoint


def run(entry: Entry, setup: Setup, *, port: int = 0) -> None:
    """Serve until the parent ends or, over stdio, until standard input ends.

    Over HTTP and SSE one JSON line with the address goes to standard output when the server is ready. Over stdio
    that belongs to the protocol, and the line goes to the log alone.
    """
    setup.log.write(
        "start",
        entry=setup.entry,
        pid=os.getpid(),
        transport=setup.transport,
        eras=setup.eras,
        settings=dict(setup.settings),
    )
    if setup.log_path is not None:
        setup = replace(setup, starts=len(read_log(setup.log_path, "start")))
    end_on_signals()
    end_with_parent()
    server = entry.server(setup)
    if setup.transport is Transport.STDIO:
        _stdio(server)
    else:
        _listen(server, port)


def _stdio(server: Server) -> None:
    link = Link()
    server.link = link
    server.started()
    server.log.write("ready", pid=os.getpid())
    serve(server, link)


def _listen(server: Server, port: int) -> None:
    with serving(server, port=port) as address:
        ready = {"entry": server.setup.entry, "transport": server.setup.transport, "address": address}
        sys.stdout.write(json.dumps({**ready, "eras": server.setup.eras, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()
        threading.Event().wait()


@contextmanager
def serving(server: Server, *, port: int = 0) -> Iterator[str]:
    """Serve HTTP or SSE from threads of this process while the block runs, and give the address."""
    http = server.setup.transport is Transport.HTTP
    endpoint = StreamableEndpoint(server) if http else SseEndpoint(server)
    server.started()
    server.listener = Listener(endpoint.serve, log=server.log, port=port, silent=server.silent)
    address = server.listener.origin + (PATH if http else SSE_PATH)
    server.log.write("ready", address=address, pid=os.getpid())
    try:
        yield address
    finally:
        server.close()
