"""Starts entries of the fault kit and talks to them through the raw clients, in either era."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hilt.faults.entry import set_up
from hilt.faults.protocol import Era, Transport
from hilt.faults.run import command, read_log
from hilt.faults.serve import serving
from hilt.faults.table import ENTRIES
from tests.faults.raw_clients import (
    REVISION,
    WAIT_S,
    Client,
    CutError,
    Message,
    RawHttp,
    RawSse,
    RawStdio,
    SilenceError,
    StatusError,
    at,
    events,
    names,
    text_of,
)

__all__ = [
    "CutError",
    "Message",
    "RawHttp",
    "RawSse",
    "RawStdio",
    "Session",
    "SilenceError",
    "StatusError",
    "at",
    "events",
    "names",
    "opened",
    "started",
    "text_of",
]


class Session:
    """A client with its era, and the log of the server that it talks to."""

    def __init__(self, client: Client, era: str, log_path: Path) -> None:
        self.client = client
        self.era = era
        self.log_path = log_path

    def open(self, *, wait_s: float = WAIT_S) -> Message:
        """Open the connection as its era does, and return the first answer."""
        if self.era == Era.STATELESS:
            return self.client.request("server/discover", self.stamped({}), wait_s=wait_s)
        hello: Message = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        }
        answer = self.client.request("initialize", hello, wait_s=wait_s)
        self.client.notify("notifications/initialized")
        return answer

    def stamped(self, params: Message) -> Message:
        """Return parameters with what the era puts into each request."""
        if self.era != Era.STATELESS:
            return params
        stamp = {
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        meta = params.get("_meta", {})
        assert isinstance(meta, dict)
        return {**params, "_meta": {**stamp, **meta}}

    def request(self, method: str, params: Message | None = None, *, wait_s: float = WAIT_S) -> Message:
        """Send a request and return its answer."""
        return self.client.request(method, self.stamped(params or {}), wait_s=wait_s)

    def call(self, tool: str = "echo", *, wait_s: float = WAIT_S, **arguments: object) -> Message:
        """Call a tool and return the answer."""
        params: Message = {"name": tool, "arguments": arguments or {"text": "hello"}}
        return self.request("tools/call", {**params, "_meta": {"progressToken": "p1"}}, wait_s=wait_s)

    def log(self, *events: str) -> list[Message]:
        """Return the server's log."""
        return read_log(self.log_path, *events)

    def wait_for(self, event: str) -> Message:
        """Wait for a record of this event."""
        for _ in range(int(WAIT_S / 0.02)):
            if found := self.log(event):
                return found[0]
            threading.Event().wait(0.02)
        raise AssertionError(f"no {event!r} in the log")


@contextmanager
def started(
    name: str, folder: Path, *, transport: str = "http", era: str = "handshake", **settings: object
) -> Iterator[Session]:
    """Start an entry, HTTP and SSE in threads of this process, and give a client that is not open yet."""
    log_path = folder / "log.jsonl"
    if transport == Transport.STDIO:
        arguments = command(name, era=era, settings=settings, log_path=log_path)
        before = len(read_log(log_path, "ready"))
        client = RawStdio(arguments)
        try:
            while len(read_log(log_path, "ready")) == before and client.process.poll() is None:
                threading.Event().wait(0.01)
            yield Session(client, era, log_path)
        finally:
            client.close()
        return
    entry = ENTRIES[name]
    setup = set_up(
        entry,
        transport=Transport(transport),
        eras=(Era(era),),
        settings={key: str(value) for key, value in settings.items()},
        log_path=log_path,
    )
    with serving(entry.server(setup)) as address:
        session = Session(RawHttp(address) if transport == Transport.HTTP else RawSse(address), era, log_path)
        try:
            yield session
        finally:
            session.client.close()


@contextmanager
def opened(
    name: str, folder: Path, *, transport: str = "http", era: str = "handshake", **settings: object
) -> Iterator[Session]:
    """Start an entry and open the connection."""
    with started(name, folder, transport=transport, era=era, **settings) as session:
        session.open()
        yield session
