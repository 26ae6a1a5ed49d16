"""A direct model of each wire format against a provider on loopback."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from hilt.adapters.model_direct import anthropic, openai
from hilt.adapters.model_direct.stream import DirectModel
from hilt.core.session import Message, UserMessage
from hilt.core.tool import ToolCall, ToolSpec
from hilt.ports.model import CallRequested, Capabilities, Model, ModelItem, ModelRequest, TextDelta
from tests.adapters.wire_servers import ProviderServer, Reply, provider

SECRET = "sk-very-secret-123456"
SEARCH = ToolSpec(
    "mcp__books__search",
    "Find books.",
    {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}, "required": ["q"]},
)


def direct_model(wire: str, url: str, *, capabilities: Capabilities | None = None) -> DirectModel:
    """Return the model of this wire that asks the server at `url`."""
    if wire == "anthropic":
        return anthropic.load_model(
            "anthropic/claude-sonnet-5-5",
            keys={"anthropic": SECRET},
            base_urls={"anthropic": url},
            capabilities=capabilities,
        )
    return openai.load_model(
        f"{wire}/gpt-5", keys={"openai": SECRET}, base_urls={"openai": f"{url}/v1"}, capabilities=capabilities
    )


@asynccontextmanager
async def asked(
    wire: str, *replies: Reply, capabilities: Capabilities | None = None
) -> AsyncIterator[tuple[DirectModel, ProviderServer]]:
    """Serve the replies and give a model that asks for them."""
    async with provider(*replies) as server:
        model = direct_model(wire, server.url, capabilities=capabilities)
        try:
            yield model, server
        finally:
            await model.aclose()


def request(*messages: Message, tools: Sequence[ToolSpec] = (SEARCH,), system: str = "Be brief.") -> ModelRequest:
    """Return a request with these messages, or a greeting."""
    return ModelRequest(system=system, messages=messages or (UserMessage(text="Hello"),), tools=tools)


async def items(model: Model, wanted: ModelRequest) -> list[ModelItem]:
    """Return all that the model streams."""
    return [item async for item in model.stream(wanted)]


async def collect(model: Model, wanted: ModelRequest, into: list[ModelItem]) -> None:
    """Put what the model streams into the list, as far as it goes."""
    async for item in model.stream(wanted):
        into.append(item)


def text_of(streamed: Sequence[ModelItem]) -> str:
    """Return the pieces of text, joined."""
    return "".join(item.text for item in streamed if isinstance(item, TextDelta))


def calls_of(streamed: Sequence[ModelItem]) -> list[ToolCall]:
    """Return the calls, in order."""
    return [item.call for item in streamed if isinstance(item, CallRequested)]
