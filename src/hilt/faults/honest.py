"""What an honest server answers: the results of its requests, and its tools."""

import threading
from collections.abc import Mapping

from hilt.faults import offer
from hilt.faults.exchange import Exchange
from hilt.faults.protocol import (
    HANDSHAKE_REVISIONS,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    SERVER_KEY,
    STATELESS_REVISION,
    Era,
    Json,
    encode,
    mapping,
    text_content,
)
from hilt.faults.setup import Setup


class RpcError(Exception):
    """The request is answered with an error."""

    def __init__(self, code: int, message: str, detail: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail


class Honest:
    """Knows the honest result of each request; entries change what they lie about."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.log = setup.log
        self.lock = threading.Lock()
        self.notes: list[str] = []

    def completed(self, exchange: Exchange, value: Json) -> Json:
        """Return a result with what its era asks for."""
        if exchange.era is Era.HANDSHAKE:
            return value
        named: Json = {"name": offer.NAME, "version": offer.VERSION}
        extra: Json = {"resultType": "complete", "_meta": {SERVER_KEY: named}}
        if exchange.method.endswith(("/list", "/read", "/discover")):
            extra |= {"ttlMs": 0, "cacheScope": "private"}
        return {**extra, **value}

    def honest(self, exchange: Exchange) -> Json:
        """Return the honest result of a request.

        Raises:
            RpcError: An error is the honest answer.
        """
        match exchange.method:
            case "initialize":
                return self.hello(exchange)
            case "server/discover":
                return {"supportedVersions": [STATELESS_REVISION], "capabilities": self.capabilities()}
            case "tools/call":
                return self.execute(exchange)
            case "tools/list":
                return {"tools": self.tools(exchange)}
            case "ping" | "logging/setLevel":
                return {}
            case _:
                return self.documents(exchange)

    def hello(self, exchange: Exchange) -> Json:
        """Return the result of `initialize`."""
        asked, newest = str(exchange.params.get("protocolVersion")), self.setup.text("revision")
        agreed = asked if asked in HANDSHAKE_REVISIONS and asked <= newest else newest
        named = {"name": offer.NAME, "version": offer.VERSION}
        return {"protocolVersion": agreed, "capabilities": self.capabilities(), "serverInfo": named}

    def capabilities(self) -> Json:
        """Return what the server says that it can do."""
        return offer.capabilities()

    def tools(self, exchange: Exchange) -> list[object]:
        """Return the definitions of the tools."""
        return list(offer.TOOLS)

    def documents(self, exchange: Exchange) -> Json:
        """Return the honest result of a request about resources or prompts.

        Raises:
            RpcError: There is no such method, resource or prompt.
        """
        match exchange.method:
            case "resources/list":
                return {"resources": list(offer.RESOURCES)}
            case "resources/templates/list":
                return {"resourceTemplates": []}
            case "prompts/list":
                return {"prompts": list(offer.PROMPTS)}
            case "resources/read":
                uri = str(exchange.params.get("uri"))
                if uri not in offer.TEXTS:
                    raise RpcError(INVALID_PARAMS, f"unknown resource {uri!r}")
                return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": offer.TEXTS[uri]}]}
            case "prompts/get":
                who = mapping(exchange.params.get("arguments")).get("who", "you")
                content = {"type": "text", "text": f"Greet {who}."}
                return {"messages": [{"role": "user", "content": content}]}
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"Method not found: {exchange.method}")

    def execute(self, exchange: Exchange) -> Json:
        """Run the tool that a call names, log that, and return its result.

        Raises:
            RpcError: There is no such tool.
        """
        name = str(exchange.params.get("name"))
        arguments = mapping(exchange.params.get("arguments"))
        self.log.write("executed", tool=name, arguments=_shortened(arguments), id=exchange.id)
        text = str(arguments.get("text", ""))
        match name:
            case "echo":
                return text_content(text)
            case "add_note":
                with self.lock:
                    self.notes.append(text)
                return text_content(f"note {len(self.notes)} added")
            case "look":
                return text_content(f"{len(self.notes)} notes")
            case "idem":
                return text_content(f"the title is {text!r}")
            case "slow":
                seconds = arguments.get("seconds", 1)
                exchange.pause(float(seconds) if isinstance(seconds, int | float) else 1.0)
                return text_content("done")
            case _:
                raise RpcError(INVALID_PARAMS, f"unknown tool {name!r}")


def raw_result(exchange: Exchange, members: bytes) -> bytes:
    """Return an answer whose result has these members, written by hand, and what its era asks for."""
    extra = b""
    if exchange.era is Era.STATELESS:
        extra = b'"resultType":"complete","ttlMs":0,"cacheScope":"private",'
    return b'{"jsonrpc":"2.0","id":' + encode(exchange.id) + b',"result":{' + extra + members + b"}}"


def _shortened(arguments: Mapping[str, object]) -> Json:
    return {
        key: value if not isinstance(value, str) or len(value) <= 200 else f"{value[:200]}… ({len(value)})"
        for key, value in arguments.items()
    }
