"""Clients of the fault kit that know no more than sockets, pipes and JSON, so that they see what is sent."""

import http.client
import json
import os
import queue
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Protocol
from urllib.parse import urlsplit

Message = dict[str, object]
REVISION = "2026-07-28"
WAIT_S = 8.0


class SilenceError(Exception):
    """Nothing came in time."""


class CutError(Exception):
    """The connection ended before the answer."""


class StatusError(Exception):
    """The answer is a status without a message."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"{status} {body[:100]!r}")
        self.status = status
        self.headers = headers
        self.body = body


def at(value: object, *path: str | int) -> object:
    """Return what stands at a path of keys and indexes."""
    for step in path:
        if isinstance(step, int):
            assert isinstance(value, list), (path, value)
            value = value[step]
        else:
            assert isinstance(value, dict), (path, value)
            value = value[step]
    return value


def text_of(answer: Message) -> object:
    """Return the text of a tool's result."""
    return at(answer, "result", "content", 0, "text")


def names(answer: Message) -> list[object]:
    """Return the names of the listed tools."""
    tools = at(answer, "result", "tools")
    assert isinstance(tools, list)
    return [tool.get("name") for tool in tools]


class Client(Protocol):
    """What the raw clients have in common; `others` are messages that came before an answer."""

    others: list[Message]

    def request(self, method: str, params: Message | None = None, *, wait_s: float = WAIT_S) -> Message: ...
    def notify(self, method: str, params: Message | None = None) -> None: ...
    def close(self) -> None: ...


class RawHttp:
    """Speaks streamable HTTP over one kept-alive connection."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.host, self.port, self.path = str(parts.hostname), int(parts.port or 0), parts.path
        self.connection = self.connect()
        self.session = ""
        self.others: list[Message] = []
        self._ids = iter(range(1, 1_000_000))

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=WAIT_S)

    def request(self, method: str, params: Message | None = None, *, wait_s: float = WAIT_S) -> Message:
        message: Message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params or {}}
        with _translated():
            try:
                return self._answer(self.send(message, wait_s=wait_s), message["id"])
            except BaseException:
                self.connection.close()
                raise

    def send(self, message: Message, *, wait_s: float = WAIT_S, path: str | None = None) -> http.client.HTTPResponse:
        """POST a message on the kept-alive connection."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        meta = at(message, "params").get("_meta", {}) if isinstance(message.get("params"), dict) else {}  # type: ignore[attr-defined]  # at() gives an object
        if "io.modelcontextprotocol/protocolVersion" in meta:
            headers |= {"Mcp-Protocol-Version": REVISION, "Mcp-Method": str(message["method"])}
        self.connection.timeout = wait_s
        if self.connection.sock is not None:
            self.connection.sock.settimeout(wait_s)
        self.connection.request("POST", path or self.path, json.dumps(message), headers)
        response = self.connection.getresponse()
        self.session = response.headers.get("Mcp-Session-Id", self.session)
        return response

    def _answer(self, response: http.client.HTTPResponse, request_id: object) -> Message:
        kind = response.headers.get("Content-Type", "")
        if kind == "text/event-stream":
            for event in events(response):
                if event.get("id") == request_id and "method" not in event:
                    response.read()
                    return event
                self.others.append(event)
            raise CutError
        body = response.read()
        if kind != "application/json" or not body:
            raise StatusError(response.status, dict(response.headers), body)
        found = json.loads(body)
        assert isinstance(found, dict)
        return {**found, "status": response.status}

    def notify(self, method: str, params: Message | None = None) -> None:
        with _translated():
            response = self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})
            assert response.status == 202
            response.read()

    @contextmanager
    def get(self, **headers: str) -> Iterator[http.client.HTTPResponse]:
        """GET on a connection of its own; `last_event_id="x"` becomes the header Last-Event-Id."""
        connection = self.connect()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with _translated():
                connection.request("GET", self.path, headers={"Mcp-Session-Id": self.session, **named})
                yield connection.getresponse()
        finally:
            connection.close()

    def delete(self, *, wait_s: float = WAIT_S) -> int:
        """DELETE the session and return the status."""
        with _translated():
            self.connection.timeout = wait_s
            if self.connection.sock is not None:
                self.connection.sock.settimeout(wait_s)
            self.connection.request("DELETE", self.path, headers={"Mcp-Session-Id": self.session})
            response = self.connection.getresponse()
            response.read()
            return response.status

    def close(self) -> None:
        self.connection.close()


def events(response: http.client.HTTPResponse) -> Iterator[Message]:
    """Yield the messages of an event stream; one without a message is a mapping of its fields."""
    fields: Message = {}
    while line := response.readline():
        name, colon, value = line.rstrip(b"\n").decode("utf-8", "replace").partition(":")
        if not colon and not name:
            content = str(fields.get("data", ""))
            if fields:
                yield json.loads(content) if content.startswith("{") else fields
            fields = {}
        elif name:
            fields[name] = value.removeprefix(" ")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise SilenceError from None
    except (ConnectionError, http.client.HTTPException) as exc:
        raise CutError(type(exc).__name__) from None


class _Queued:
    """Takes answers from a thread that reads."""

    def __init__(self) -> None:
        self.others: list[Message] = []
        self.incoming: queue.Queue[Message | None] = queue.Queue()
        self._ids = iter(range(1, 1_000_000))

    def send(self, message: Message) -> None:
        raise NotImplementedError  # each transport sends in its own way

    def request(self, method: str, params: Message | None = None, *, wait_s: float = WAIT_S) -> Message:
        message: Message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params or {}}
        self.send(message)
        return self.answer(message["id"], wait_s=wait_s)

    def answer(self, request_id: object, *, wait_s: float = WAIT_S) -> Message:
        while True:
            try:
                found = self.incoming.get(timeout=wait_s)
            except queue.Empty:
                raise SilenceError from None
            if found is None:
                raise CutError
            if found.get("id") == request_id and "method" not in found:
                return found
            self.others.append(found)

    def notify(self, method: str, params: Message | None = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})


class RawSse(_Queued):
    """Speaks SSE: a thread reads the stream, each POST has a connection of its own."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.http = RawHttp(address)
        self.endpoint = ""
        self._stream = self.http.connect()
        self._stream.request("GET", self.http.path)
        self._response = self._stream.getresponse()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            for event in events(self._response):
                self.incoming.put(event)
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        self.incoming.put(None)

    def wait_for_endpoint(self, *, wait_s: float = WAIT_S) -> str:
        try:
            found = self.incoming.get(timeout=wait_s)
        except queue.Empty:
            raise SilenceError from None
        assert found is not None
        assert found["event"] == "endpoint"
        return str(found["data"])

    def send(self, message: Message) -> None:
        self.endpoint = self.endpoint or self.wait_for_endpoint()
        with _translated():
            try:
                response = self.http.send(message, path=self.endpoint)
                body = response.read()
            except BaseException:
                self.http.close()
                raise
        if response.status != 202:
            raise StatusError(response.status, dict(response.headers), body)

    def close(self) -> None:
        self.http.close()
        if self._stream.sock is not None:
            with suppress(OSError):
                self._stream.sock.shutdown(2)
        self._reader.join(WAIT_S)
        self._response.close()
        self._stream.close()


class RawStdio(_Queued):
    """Speaks with a child process; `noise` are the lines that were no object."""

    def __init__(self, arguments: list[str]) -> None:
        super().__init__()
        pipe = subprocess.PIPE
        self.noise: list[bytes] = []
        self.process = subprocess.Popen(arguments, stdin=pipe, stdout=pipe, stderr=pipe)
        self.stderr = b""
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                found = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
                assert isinstance(found, dict)
                self.incoming.put(found)
            except (ValueError, AssertionError, RecursionError):
                self.noise.append(line)
        self.incoming.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while piece := os.read(self.process.stderr.fileno(), 1 << 16):
            self.stderr += piece

    def send(self, message: Message) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise CutError from None

    def ended(self) -> int:
        """Wait for the process to end and return its exit code."""
        code = self.process.wait(WAIT_S)
        for thread in self._threads:
            thread.join(WAIT_S)
        return code

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.ended()
        self.process.stdout.close()
        self.process.stderr.close()
