"""The way out of the MCP SDK's dispatcher: its messages as JSON objects, handed to a transport of our own."""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse


class Outbox:
    """The dispatcher's write stream: hands each message to the transport."""

    def __init__(self, hand_over: Callable[[SessionMessage], Awaitable[None]]) -> None:
        self._hand_over = hand_over

    async def send(self, item: SessionMessage, /) -> None:
        """Hand one message over."""
        await self._hand_over(item)

    async def aclose(self) -> None:
        """Nothing of its own to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


def as_json(
    message: JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError,
) -> dict[str, object]:
    """Return the message as the object that goes over the wire."""
    if isinstance(message, JSONRPCResponse):
        return {"jsonrpc": "2.0", "id": message.id, "result": message.result}
    return message.model_dump(mode="json", by_alias=True, exclude_none=True)
