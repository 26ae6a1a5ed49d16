"""MCP as both eras put it on the wire: revisions, names of fields, and how messages are built."""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

Json = dict[str, object]

HANDSHAKE_REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_REVISION: Final = "2026-07-28"

REVISION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY: Final = "io.modelcontextprotocol/subscriptionId"

INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
HEADER_MISMATCH: Final = -32020
UNSUPPORTED_REVISION: Final = -32022

# What a stateless server says over HTTP beside an error of this code; any other goes with 200.
STATUS_OF: Final[Mapping[int, int]] = {
    -32700: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    -32021: 400,
    UNSUPPORTED_REVISION: 400,
    METHOD_NOT_FOUND: 404,
}


class Era(StrEnum):
    """One of the two ways to open a connection."""

    HANDSHAKE = "handshake"
    STATELESS = "stateless"


class Transport(StrEnum):
    """How messages travel."""

    HTTP = "http"
    SSE = "sse"
    STDIO = "stdio"


def encode(message: object) -> bytes:
    """Return a message as compact UTF-8 JSON."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def result(request_id: object, value: Mapping[str, object]) -> Json:
    """Return the answer that holds `value`."""
    return {"jsonrpc": "2.0", "id": request_id, "result": dict(value)}


def error(request_id: object, code: int, message: str, detail: object = None) -> Json:
    """Return an error answer; `detail` becomes its `data` where it is not `None`."""
    body: Json = {"code": code, "message": message}
    if detail is not None:
        body["data"] = detail
    return {"jsonrpc": "2.0", "id": request_id, "error": body}


def notification(method: str, params: Mapping[str, object] | None = None) -> Json:
    """Return a notification."""
    message: Json = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = dict(params)
    return message


def request(request_id: object, method: str, params: Mapping[str, object] | None = None) -> Json:
    """Return a request."""
    return {**notification(method, params), "id": request_id}


def mapping(value: object) -> Mapping[str, object]:
    """Return `value` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def meta(message: Mapping[str, object]) -> Mapping[str, object]:
    """Return the `_meta` of a request's parameters."""
    return mapping(mapping(message.get("params")).get("_meta"))


def era_of(message: Mapping[str, object]) -> Era:
    """Return the era that a request is written in."""
    stateless = message.get("method") == "server/discover" or REVISION_KEY in meta(message)
    return Era.STATELESS if stateless else Era.HANDSHAKE


def text_content(text: str) -> Json:
    """Return the result of a tool that says `text`."""
    return {"content": [{"type": "text", "text": text}]}
