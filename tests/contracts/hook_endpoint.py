"""A loopback HTTP endpoint that answers every POST the same way and keeps what it was sent."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Endpoint:
    """What it answers and what it got; `hold` keeps an answer back until it is set."""

    def __init__(self) -> None:
        self.status = 200
        self.body = b"{}"
        self.headers: dict[str, str] = {}
        self.got: list[bytes] = []
        self.got_headers: list[dict[str, str]] = []
        self.hold = threading.Event()
        self.hold.set()
        self.url = ""


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """Serve until the block ends."""
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            state.got.append(self.rfile.read(int(self.headers["content-length"])))
            state.got_headers.append({key.lower(): value for key, value in self.headers.items()})
            state.hold.wait()
            self.send_response(state.status)
            for key, value in {"content-length": str(len(state.body)), **state.headers}.items():
                self.send_header(key, value)
            self.end_headers()
            try:
                self.wfile.write(state.body)
            except OSError:
                return

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    try:
        yield state
    finally:
        state.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()
