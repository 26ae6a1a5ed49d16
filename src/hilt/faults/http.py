"""HTTP/1.1 on raw sockets, so that a server can reset, cut and drip; listens on loopback only."""

import contextlib
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, NoReturn

from hilt.faults.exchange import EndedError
from hilt.faults.log import Log

LOOPBACK: Final = "127.0.0.1"
_BACKLOG: Final = 256
_RECEIVE_BYTES: Final = 1 << 16
_POLL_S: Final = 0.1
_ABORT: Final = struct.pack("ii", 1, 0)

Header = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request; header names are in lower case, `query` is what follows the question mark."""

    verb: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


class Connection:
    """One accepted connection; it belongs to one thread, but any thread may `close` it."""

    def __init__(self, sock: socket.socket, log: Log) -> None:
        self.requests = 0
        self.closed = False
        self._sock = sock
        self._log = log
        self._rest = b""
        self._lock = threading.Lock()

    def read(self) -> Request | None:
        """Return the next request; `None` once the client has closed."""
        while b"\r\n\r\n" not in self._rest:
            if not self._more():
                return None
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        verb, target, _ = f"{first}  ".split(" ", 2)
        fields = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in fields}
        if headers.get("expect", "").lower() == "100-continue":
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = self._chunks() if "chunked" in headers.get("transfer-encoding", "") else self._exactly(_length(headers))
        if body is None:
            return None
        self.requests += 1
        path, _, query = target.partition("?")
        return Request(verb=verb, path=path, query=query, headers=headers, body=body)

    def _more(self) -> bool:
        try:
            received = self._sock.recv(_RECEIVE_BYTES)
        except OSError:
            return False
        self._rest += received
        return bool(received)

    def _exactly(self, length: int) -> bytes | None:
        pieces, missing = [self._rest[:length]], length - len(self._rest)
        self._rest = self._rest[length:]
        while missing > 0:
            if not self._more():
                return None
            pieces.append(self._rest[:missing])
            self._rest, missing = self._rest[missing:], missing - len(self._rest)
        return b"".join(pieces)

    def _chunks(self) -> bytes | None:
        body = b""
        while True:
            while b"\r\n" not in self._rest:
                if not self._more():
                    return None
            size, _, self._rest = self._rest.partition(b"\r\n")
            piece = self._exactly(_size(size) + 2)
            if piece is None:
                return None
            if piece == b"\r\n":
                return body
            body += piece[:-2]

    def write(self, piece: bytes) -> None:
        """Send bytes as they are.

        Raises:
            EndedError: The client has left.
        """
        try:
            with self._lock:
                self._sock.sendall(piece)
        except OSError:
            self._left()

    def _left(self) -> NoReturn:
        if not self.closed:
            self._log.write("gone")
        self.close()
        raise EndedError

    def head(self, status: int, headers: Iterable[Header]) -> None:
        """Send the status line and the headers."""
        phrase = HTTPStatus(status).phrase
        lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers), "", ""]
        self.write("\r\n".join(lines).encode("latin-1"))

    def reply(self, status: int, headers: Iterable[Header] = (), body: bytes = b"") -> None:
        """Send a whole response; the connection stays open."""
        self.head(status, [*headers, ("Content-Length", str(len(body)))])
        if body:
            self.write(body)

    def open_stream(self, headers: Iterable[Header] = ()) -> None:
        """Begin an event stream."""
        self.head(200, [*headers, ("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])

    def chunk(self, piece: bytes) -> None:
        """Send a piece of the stream; an empty one ends it."""
        self.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")

    def wait(self, seconds: float | None) -> None:
        """Wait these seconds, or for ever.

        Raises:
            EndedError: The client closed meanwhile.
        """
        while seconds is None or seconds > 0:
            step = _POLL_S if seconds is None else min(_POLL_S, seconds)
            try:
                readable = select.select([self._sock], [], [], step)[0]
                if readable and not self._sock.recv(1, socket.MSG_PEEK):
                    self._left()
            except (OSError, ValueError):
                self._left()
            if readable:
                # The client sends on, which means that it is there; its bytes wait for `read`.
                threading.Event().wait(step)
            seconds = None if seconds is None else seconds - step

    def reset(self) -> NoReturn:
        """Break the connection so that the client sees a reset.

        Raises:
            EndedError: Always.
        """
        self.abort()
        raise EndedError

    def abort(self) -> None:
        """Break the connection, from any thread, so that the client sees a reset."""
        with contextlib.suppress(OSError):
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
            # The file description is shared with nobody, so that closing it sends the reset at once.
            self.closed = True
            self._sock.close()

    def close(self) -> None:
        """Close the connection; may be repeated."""
        self.closed = True
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()


def _size(line: bytes) -> int:
    """Return the size that the first line of a chunk tells; 0, which ends the body, where it tells none."""
    try:
        return max(0, int(line.partition(b";")[0], 16))
    except ValueError:
        return 0


def _length(headers: dict[str, str]) -> int:
    given = headers.get("content-length", "0")
    return int(given) if given.isdigit() else 0


class Listener:
    """Accepts connections, one thread each; can leave the port and come back to it.

    With `silent` the port is held but nothing listens, so that a client is refused.
    """

    def __init__(self, serve: Callable[[Connection], None], *, log: Log, port: int = 0, silent: bool = False) -> None:
        self._serve = serve
        self._log = log
        self._connections: set[Connection] = set()
        self._lock = threading.Lock()
        self._state = threading.Lock()
        self._closed = False
        self._wake, self._woken = socket.socketpair()
        self._socket = _bound(port, shared=not silent)
        self.port: int = self._socket.getsockname()[1]
        self._accepting: threading.Thread | None = None
        if not silent:
            self.listen()

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://{LOOPBACK}:{self.port}"

    def listen(self) -> None:
        """Begin to accept connections; does nothing once it is closed."""
        with self._state:
            if not self._closed:
                self._socket.listen(_BACKLOG)
                thread = threading.Thread(target=self._accept, args=(self._socket,), name="accept", daemon=True)
                thread.start()
                self._accepting = thread

    def leave(self) -> None:
        """Close the listening socket and every connection; the port stays ours, and refuses."""
        with self._state:
            if not self._closed:
                self._stop_accepting()
                self._socket = _bound(self.port, shared=True)
        self.drop()

    def close(self) -> None:
        """Give up the port and every connection."""
        with self._state:
            self._closed = True
            self._stop_accepting()
            self._wake.close()
            self._woken.close()
        self.drop()

    def _stop_accepting(self) -> None:
        if self._accepting is not None:
            self._wake.send(b"x")
            self._accepting.join()
            self._accepting = None
        self._socket.close()

    def drop(self) -> None:
        """Close every connection."""
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            connection.close()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            readable = select.select([listening, self._woken], [], [])[0]
            if self._woken in readable:
                self._woken.recv(1)
                return
            accepted, peer = listening.accept()
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._log.write("connected", peer=peer[1])
            connection = Connection(accepted, self._log)
            with self._lock:
                self._connections.add(connection)
            threading.Thread(target=self._run, args=(connection,), name="connection", daemon=True).start()

    def _run(self, connection: Connection) -> None:
        try:
            with contextlib.suppress(EndedError):
                self._serve(connection)
        finally:
            connection.close()
            with self._lock:
                self._connections.discard(connection)


def _bound(port: int, *, shared: bool) -> socket.socket:
    """Return a socket that holds the port; `shared` with its own connections that are not quite gone."""
    sock = socket.socket()
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(shared))
        sock.bind((LOOPBACK, port))
    except OSError:
        sock.close()
        raise
    return sock
