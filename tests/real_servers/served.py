"""Real servers over HTTP, which can be killed and started again at the same address, and a page to be fetched."""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio

from tests.real_servers.install import npm_server


class Everything:
    """server-everything over `sse` or `streamableHttp`, at one port of its own."""

    def __init__(self, transport: str) -> None:
        self.transport = transport
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{'sse' if self.transport == 'sse' else 'mcp'}"

    async def start(self) -> None:
        """Start it and wait until it accepts connections."""
        self._process = subprocess.Popen(
            ["node", str(npm_server("everything")), self.transport],
            env={**os.environ, "PORT": str(self.port)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with anyio.fail_after(20):
            while True:
                try:
                    stream = await anyio.connect_tcp("127.0.0.1", self.port)
                except OSError:
                    await anyio.sleep(0.02)
                    continue
                await stream.aclose()
                return

    def kill(self) -> None:
        """End it as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def page(text: str) -> Iterator[str]:
    """Serve one page and give its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"<html><body><p>{text}</p></body></html>".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
