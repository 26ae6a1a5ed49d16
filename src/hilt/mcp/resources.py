"""ListMcpResources and ReadMcpResource: what the servers of a session offer to be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import anyio
from pydantic import Field

from hilt.core.args import Args
from hilt.core.content import EmbeddedResourcePart, Part
from hilt.core.errors import ToolError
from hilt.core.permission import Subject, Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.mcp.content import read_block
from hilt.mcp.failure import CallFailedError
from hilt.mcp.server import McpRequest, McpServer
from hilt.mcp.server_lists import ListedResource
from hilt.mcp.tools import CALL_MAX_S, relay
from hilt.ports.mcp import McpFault
from hilt.ports.tool import Environment, Tool

NO_RESOURCES: Final = "No connected MCP server offers a resource."
EMPTY_DOCUMENT: Final = "[an empty document]"
NO_CONTENTS: Final = "[the server has nothing under this URI]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListMcpResourcesArgs:
    """Arguments of `ListMcpResources`."""

    server: Annotated[str | None, Field(description="Only this MCP server's; all servers by default.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMcpResourceArgs:
    """Arguments of `ReadMcpResource`."""

    server: Annotated[str, Field(description="Name of the MCP server, as ListMcpResources shows it.")]
    uri: Annotated[str, Field(min_length=1, description="URI of the resource, exactly as listed.")]


class _Servers:
    """The servers of one catalog; which of them are connected is seen anew at each call."""

    def __init__(self, servers: Sequence[McpServer]) -> None:
        self._servers = servers

    def ready(self) -> list[McpServer]:
        return [server for server in self._servers if server.state == "ready"]

    def connecting(self) -> list[str]:
        return [server.spec.name for server in self._servers if server.state == "connecting"]

    def find(self, name: str) -> McpServer | None:
        return next((server for server in self.ready() if server.spec.name == name), None)

    def named(self, name: str) -> McpServer:
        """Return a connected server.

        Raises:
            ToolError: None has this name; lists those that there are.
        """
        found = self.find(name)
        if found is not None:
            return found
        known = ", ".join(sorted(server.spec.name for server in self.ready())) or "none"
        raise ToolError.invalid_arguments(f"no connected MCP server is named {name!r}; there are: {known}")


class ListMcpResources:
    """Lists the resources of connected servers."""

    _args = Args(ListMcpResourcesArgs)
    read_only = True
    spec = ToolSpec(
        name="ListMcpResources",
        description=(
            "List the resources of the connected MCP servers, one a line: server, URI, name, type, description. "
            "Use it before ReadMcpResource. Do not use it for files of the workspace or for tools."
        ),
        schema=_args.schema,
    )

    def __init__(self, servers: Sequence[McpServer]) -> None:
        self._servers = _Servers(servers)

    def subjects(self, call: ToolCall) -> Subjects:
        """Return the server, where the call names one."""
        server = self._args.decode(call).server
        shown = () if server is None else (Subject(text=server),)
        return Subjects(unnamed=shown or None, named={"server": shown, "uri": ()})

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return the list; one that a server declared changed is read anew."""
        args = self._args.decode(call)
        asked = self._servers.ready() if args.server is None else [self._servers.named(args.server)]
        found: dict[str, Sequence[ListedResource]] = {}

        async def read(server: McpServer) -> None:
            found[server.spec.name] = await server.lists.resources.value()

        async with anyio.create_task_group() as group:
            for server in asked:
                group.start_soon(read, server)
        lines = [
            _line(name, resource)
            for name in sorted(found)
            for resource in sorted(found[name], key=lambda resource: resource.uri)
        ]
        if args.server is None:
            lines += [f"- [{name}] is still connecting" for name in self._servers.connecting()]
        if not lines:
            nothing = NO_RESOURCES if args.server is None else f"MCP server {args.server!r} offers no resource."
            return ToolResult.text(call.id, nothing)
        return ToolResult.text(call.id, "\n".join(lines))


class ReadMcpResource:
    """Reads one resource of a connected server."""

    _args = Args(ReadMcpResourceArgs)
    read_only = True
    spec = ToolSpec(
        name="ReadMcpResource",
        description=(
            "Read one resource of an MCP server by its URI. Use it with a URI of ListMcpResources, or with one that a "
            "tool of that server gave. Do not use it for files of the workspace or for https links. Texts come whole, "
            "anything else as type and size."
        ),
        schema=_args.schema,
    )

    def __init__(self, servers: Sequence[McpServer]) -> None:
        self._servers = _Servers(servers)

    def subjects(self, call: ToolCall) -> Subjects:
        """Return the URI, and the server by name."""
        args = self._args.decode(call)
        uri = (Subject(text=args.uri),)
        return Subjects(unnamed=uri, named={"uri": uri, "server": (Subject(text=args.server),)})

    def deadline_s(self, call: ToolCall) -> float:
        """Return the deadline that the server's entry gives to calls."""
        server = self._servers.find(self._args.decode(call).server)
        return CALL_MAX_S if server is None else server.spec.call_timeout_s

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Send the URI as it is and return what the server gave."""
        args = self._args.decode(call)
        server = self._servers.named(args.server)
        request = McpRequest(method="resources/read", params={"uri": args.uri}, subject=args.uri, repeatable=True)
        try:
            raw = await server.request(request, timeout_s=CALL_MAX_S, on_progress=relay(env))
        except CallFailedError as exc:
            return ToolResult.error(call.id, exc.text)
        except McpFault:
            raise ToolError.timeout(int(CALL_MAX_S * 1000)) from None
        return _document(raw, call_id=call.id, server=server.spec.name, uri=args.uri)


def offers_resources(servers: Sequence[McpServer]) -> bool:
    """Whether a connected server is known to have a resource."""
    return any(server.state == "ready" and server.lists.resources.known for server in servers)


def resource_tools(servers: Sequence[McpServer]) -> list[Tool]:
    """Return both tools over these servers."""
    return [ListMcpResources(servers), ReadMcpResource(servers)]


def _line(server: str, resource: ListedResource) -> str:
    line = f"- [{server}] {resource.uri}"
    if resource.name:
        line = f"{line} ({resource.name})"
    if resource.mime_type:
        line = f"{line} [{resource.mime_type}]"
    return f"{line}: {resource.description}" if resource.description else line


def _document(raw: Mapping[str, object], *, call_id: str, server: str, uri: str) -> ToolResult:
    """Return the contents of an answer: one text as it is, several each under its URI."""
    contents = raw.get("contents")
    if not isinstance(contents, list):
        return ToolResult.error(call_id, f"MCP server {server!r} answered with no MCP result: contents is no list")
    texts: list[str] = []
    parts: list[Part] = []
    for content in contents:
        named = {"uri": uri, **content} if isinstance(content, Mapping) else content
        text, part = _content(named, server=server, alone=len(contents) == 1)
        texts.append(text)
        parts += [part] if part is not None else []
    return ToolResult.with_parts(call_id, "\n".join(texts) or NO_CONTENTS, parts)


def _content(content: object, *, server: str, alone: bool) -> tuple[str, Part | None]:
    shown, part = read_block({"type": "resource", "resource": content}, server=server)
    if not isinstance(part, EmbeddedResourcePart) or part.text is None:
        return shown, part
    text = part.text or EMPTY_DOCUMENT
    return (text if alone else f"[resource {part.uri}]\n{text}"), part
