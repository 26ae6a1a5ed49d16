"""What the MCP transports share: their interface, and reading one JSON-RPC message from bytes."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Protocol, TypeGuard

import anyio
import anyio.abc
import anyio.to_thread

from hilt.adapters.mcp_channel import OpenStream
from hilt.core.json_value import parse_json
from hilt.core.mcp_text import TOO_DEEP
from hilt.ports.mcp import Fault, McpFault

EXCERPT_BYTES = 200
DEPTH_MAX = 100
_IN_THREAD_BYTES = 1024 * 1024
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


class Inbox(Protocol):
    """Takes what a transport received or found out."""

    async def deliver(self, message: Mapping[str, object], *, related: int | None = None) -> None:
        """Take one JSON-RPC message of the peer; `related` is the open request on whose stream it came."""
        ...

    async def fail(self, request_id: int, fault: McpFault) -> None:
        """End one open request."""
        ...

    async def fail_all(self, fault: McpFault) -> None:
        """End all open requests; others may follow."""
        ...

    async def lost(self, fault: McpFault) -> None:
        """End all open requests; nothing more will come."""
        ...


class Wire(Protocol):
    """Carries JSON-RPC messages to one peer and back."""

    async def run(self, inbox: Inbox, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Own the transport until cancelled; report started once messages can be sent.

        Raises:
            McpFault: It cannot be opened; raised before it is started only.
        """
        ...

    async def send(self, message: Mapping[str, object], headers: Mapping[str, str]) -> None:
        """Hand over one message without waiting for the peer.

        Raises:
            McpFault: Nothing can be sent any more, nothing was.
        """
        ...

    def forget(self, request_id: int) -> None:
        """Stop waiting for an answer that nobody wants any more."""
        ...

    def settle(self, *, revision: str, stateless: bool) -> None:
        """Take the outcome of the negotiation."""
        ...

    def standing(self) -> OpenStream | None:
        """Return what opens a stream for the server's own messages, None where the transport needs none."""
        ...


def encode_message(message: Mapping[str, object]) -> bytes:
    """Return the message as JSON on one line."""
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode()


def _parse(raw: bytes, read: Callable[[str], object] = json.loads) -> dict[str, object] | None:
    text = raw.decode("utf-8-sig", "replace")
    try:
        value = read(text)
    except RecursionError:
        value = _parse_deep(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _parse_deep(text: str) -> object:
    """Return the value with a mark for each that is nested too deeply to be read; None where it is no JSON."""
    kept: list[str] = []
    depth = begin = 0
    for found in _NESTING.finditer(text):
        mark = found.group()
        if mark in "[{":
            depth += 1
            if depth == DEPTH_MAX + 1:
                kept += [text[begin : found.start()], json.dumps(TOO_DEEP)]
        elif mark in "]}":
            depth -= 1
            if depth == DEPTH_MAX:
                begin = found.end()
    kept.append(text[begin:] if depth <= DEPTH_MAX else "")
    try:
        value: object = json.loads("".join(kept))
    except (ValueError, RecursionError):
        return None
    return value


async def parse_object(raw: bytes) -> dict[str, object] | None:
    """Return the JSON object of the bytes, or None; large ones are read beside the event loop."""
    if len(raw) < _IN_THREAD_BYTES:
        return _parse(raw)
    return await anyio.to_thread.run_sync(_parse, raw, parse_json)


def is_message(value: Mapping[str, object]) -> bool:
    """Whether the object is a JSON-RPC request, notification or answer."""
    if value.get("jsonrpc") != "2.0":
        return False
    return isinstance(value.get("method"), str) or "result" in value or "error" in value


def is_id(value: object) -> TypeGuard[str | int]:
    """Whether the value can be the id of a JSON-RPC request."""
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def excerpt(raw: bytes) -> str:
    """Return at most 200 bytes of the start, printable, on one line."""
    return raw[:EXCERPT_BYTES].decode("utf-8", "replace").encode("unicode_escape").decode("ascii")[:EXCERPT_BYTES]


def declared(
    error: Mapping[str, object],
    fault: Fault = Fault.DECLARED,
    status: int | None = None,
    retry_after_s: float | None = None,
) -> McpFault:
    """Return the fault of a JSON-RPC error object, whatever shape it has."""
    code, text = error.get("code"), error.get("message")
    return McpFault(
        fault,
        text if isinstance(text, str) else "",
        code=code if isinstance(code, int) and not isinstance(code, bool) else None,
        status=status,
        retry_after_s=retry_after_s,
        details=error.get("data"),
    )
