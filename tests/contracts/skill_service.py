"""A service of skills on loopback that speaks the protocol of docs/skills.md over skills held in memory."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


@dataclass(kw_only=True)
class Service:
    """What is served and what was asked; `fixed` answers a path with a status and bytes, whatever is served."""

    skills: Mapping[str, tuple[str, str, Mapping[str, bytes]]] = field(default_factory=dict)
    fixed: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    got_headers: list[dict[str, str]] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def answer(self, path: str) -> tuple[int, bytes]:
        """Return status and body of a path."""
        if path in self.fixed:
            return self.fixed[path]
        match [unquote(part) for part in path.strip("/").split("/")]:
            case ["skills"]:
                listed = [{"name": name, "description": about} for name, (about, _, _) in self.skills.items()]
                return 200, json.dumps({"skills": listed}).encode()
            case ["skills", name] if name in self.skills:
                _, body, assets = self.skills[name]
                sizes = [{"name": asset, "size_bytes": len(content)} for asset, content in assets.items()]
                return 200, json.dumps({"body": body, "assets": sizes}).encode()
            case ["skills", name, "assets", *parts] if "/".join(parts) in self.skills.get(name, ("", "", {}))[2]:
                return 200, self.skills[name][2]["/".join(parts)]
            case _:
                return 404, b"{}"


@contextmanager
def skill_service() -> Iterator[Service]:
    """Serve until the block ends."""
    service = Service()
    service.hold.set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            service.asked.append(self.path)
            service.got_headers.append({key.lower(): value for key, value in self.headers.items()})
            service.hold.wait()
            status, body = service.answer(self.path)
            self.send_response(status)
            for key, value in {"content-length": str(len(body)), **service.headers}.items():
                self.send_header(key, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                return

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield service
    finally:
        service.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()
