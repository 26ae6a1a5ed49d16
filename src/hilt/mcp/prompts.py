"""`/mcp__server__prompt key=value`: prompts of MCP servers as commands of the person at the keyboard."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from hilt.core.command import CommandEntry
from hilt.core.content import AudioPart, ImagePart, Part, base64_size
from hilt.core.errors import RequestError
from hilt.core.mcp import catalog_name, folded
from hilt.core.words import split_words
from hilt.mcp.content import read_block
from hilt.mcp.failure import CallFailedError
from hilt.mcp.server import McpRequest, McpServer
from hilt.mcp.server_lists import ListedPrompt
from hilt.ports.mcp import McpFault

PREFIX: Final = "mcp__"


class PromptCommands:
    """The prompts of connected servers, as each server listed them when it was connected. See `Expander`."""

    def __init__(self, servers: Callable[[], Sequence[McpServer]]) -> None:
        """Take a function that returns the servers as they are now."""
        self._servers = servers

    def names(self) -> list[str]:
        """See `Expander.names`."""
        return [
            catalog_name(server.spec.name, prompt.name)
            for server in self._servers()
            if server.state == "ready"
            for prompt in server.lists.prompts.known
        ]

    def entries(self) -> Sequence[CommandEntry]:
        """See `Listing.entries`."""
        return [
            CommandEntry(
                name=catalog_name(server.spec.name, prompt.name),
                kind="prompt",
                description=prompt.description,
                argument_hint=" ".join(_hints(prompt)),
                place=f"MCP server {server.spec.name}",
            )
            for server in self._servers()
            if server.state == "ready"
            for prompt in server.lists.prompts.known
        ]

    async def expand(self, line: str) -> str | None:
        """See `Expander.expand`; nothing is asked of the server before the arguments are right."""
        words = line.removeprefix("/").split(maxsplit=1)
        command = words[0] if words else ""
        server = self._named(command)
        if server is None:
            return None
        name = command.removeprefix(PREFIX).partition("__")[2]
        listed = await server.lists.prompts.value()
        prompt = next((prompt for prompt in listed if prompt.name == name), None)
        if prompt is None:
            return None
        arguments = read_arguments(words[1] if len(words) == 2 else "", prompt, command=command)
        return await _rendered(server, prompt, arguments)

    def _named(self, command: str) -> McpServer | None:
        if not command.startswith(PREFIX):
            return None
        name = command.removeprefix(PREFIX).partition("__")[0]
        return next((one for one in self._servers() if folded(one.spec.name) == name and one.state == "ready"), None)


def read_arguments(text: str, prompt: ListedPrompt, *, command: str) -> dict[str, str]:
    """Return the arguments that follow a command: `key=value` with quotes as in a shell, cut at the first `=`.

    Raises:
        RequestError: A quote is open, a word has no `=`, or the prompt's arguments are others.
    """
    known = [argument.name for argument in prompt.arguments]
    out: dict[str, str] = {}
    for word in split_words(text):
        key, separator, value = word.partition("=")
        if not separator or not key:
            raise RequestError(f"/{command}: {word!r} is no key=value{_usage(prompt, command)}")
        if key in out:
            raise RequestError(f"/{command}: {key} is given twice")
        if known and key not in known:
            raise RequestError(f"/{command}: there is no argument {key!r}{_usage(prompt, command)}")
        out[key] = value
    missing = [argument.name for argument in prompt.arguments if argument.required and argument.name not in out]
    if missing:
        raise RequestError(f"/{command}: {', '.join(missing)} is missing{_usage(prompt, command)}")
    return out


def _hints(prompt: ListedPrompt) -> list[str]:
    return [f"{a.name}=…" if a.required else f"[{a.name}=…]" for a in prompt.arguments]


def _usage(prompt: ListedPrompt, command: str) -> str:
    shown = _hints(prompt)
    return f"; write /{' '.join([command, *shown])}" if shown else f"; write /{command} alone"


async def _rendered(server: McpServer, prompt: ListedPrompt, arguments: Mapping[str, str]) -> str:
    """Return what the server makes of the prompt.

    Raises:
        RequestError: It cannot be reached, refuses, or gives nothing.
    """
    request = McpRequest(
        method="prompts/get",
        params={"name": prompt.name, "arguments": dict(arguments)},
        subject=prompt.name,
        repeatable=True,
    )
    try:
        raw = await server.request(request, timeout_s=server.spec.call_timeout_s)
    except CallFailedError as exc:
        raise RequestError(exc.text, code="unavailable") from None
    except McpFault:
        text = f'MCP server "{server.spec.name}" gave {prompt.name!r} no answer in {server.spec.call_timeout_s:g} s'
        raise RequestError(text, code="unavailable") from None
    messages = raw.get("messages")
    texts = [_message(message, server.spec.name) for message in messages] if isinstance(messages, list) else []
    text = "\n\n".join(one for one in texts if one)
    if not text.strip():
        raise RequestError(f'MCP server "{server.spec.name}" gave nothing for {prompt.name!r}', code="unavailable")
    return text


def _message(message: object, server: str) -> str:
    """Return the text of one message; what is no text is named with its type and size."""
    if not isinstance(message, Mapping):
        return ""
    text, part = read_block(message.get("content"), server=server)
    text = text or _unshown(part)
    return f"[assistant]\n{text}" if message.get("role") == "assistant" else text


def _unshown(part: Part | None) -> str:
    if not isinstance(part, ImagePart | AudioPart):
        return ""
    return f"[{part.kind} {part.mime_type}, {base64_size(part.data)} bytes: not shown]"
