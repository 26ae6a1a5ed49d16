"""One tool of an MCP server as a tool of the catalog."""

from collections.abc import Callable, Mapping
from typing import Final

import anyio

from hilt.core.errors import ToolError
from hilt.core.mcp_header import header_values
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.mcp.answer import read_answer
from hilt.mcp.elicitation import asker
from hilt.mcp.failure import CallFailedError
from hilt.mcp.listing import ListedTool
from hilt.mcp.server import McpRequest, McpServer
from hilt.ports.mcp import McpFault
from hilt.ports.tool import Environment

PROGRESS_PAUSE_S: Final = 0.1
# The dispatcher's deadline, which settings may raise, comes first; this one serves who calls without it.
CALL_MAX_S: Final = 24 * 3600.0
ADVERTISED_MAX_CHARS: Final = 120
LIGHT_SCHEMA: Final[Mapping[str, object]] = {"type": "object"}


class RemoteTool:
    """Calls one tool of a server. `timeout_s` and `idle_timeout_s` are its deadlines, in seconds."""

    def __init__(self, server: McpServer, listed: ListedTool) -> None:
        self._server = server
        self._listed = listed
        self._light: ToolSpec | None = None
        self.timeout_s = server.spec.call_timeout_s
        self.idle_timeout_s = server.spec.idle_timeout_s

    @property
    def spec(self) -> ToolSpec:
        """What the model sees."""
        return self._listed.spec

    @property
    def read_only(self) -> bool:
        """Whether the server's annotation says so and may be believed."""
        return self._listed.read_only

    @property
    def idempotent(self) -> bool:
        """Whether a call may be sent twice without harm."""
        return self._listed.idempotent

    @property
    def server(self) -> str:
        """The server's name as it is configured."""
        return self._server.spec.name

    @property
    def listed(self) -> ListedTool:
        """What the server's list said of it."""
        return self._listed

    @property
    def name_on_server(self) -> str:
        """The name that the server gave, byte for byte."""
        return self._listed.name

    @property
    def output_schema(self) -> Mapping[str, object] | None:
        """The schema of its structured answer, where the server gave one."""
        return self._listed.output_schema

    def advertised(self) -> ToolSpec:
        """Return the cheap form: name, the first sentence of the description, any object."""
        if self._light is None:
            self._light = ToolSpec(self.spec.name, first_sentence(self.spec.description), LIGHT_SCHEMA)
        return self._light

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Send the call under the server's own name for the tool and return what it gave."""
        try:
            raw = await self.ask(call.arguments, env)
        except CallFailedError as exc:
            return ToolResult.error(call.id, exc.text)
        return await read_answer(
            raw, call_id=call.id, server=self.server, tool=self._listed.name, schema=self.output_schema
        )

    async def ask(self, given: Mapping[str, object], env: Environment) -> Mapping[str, object]:
        """Send a call with these arguments and return the server's answer as it came.

        Raises:
            CallFailedError: It failed; the text is for the model.
            ToolError: `timeout`.
        """
        arguments = dict(given)
        try:
            return await self._server.request(
                McpRequest(
                    method="tools/call",
                    params={"name": self._listed.name, "arguments": arguments},
                    subject=self._listed.name,
                    repeatable=self.read_only or self.idempotent,
                    headers=header_values(self._listed.header_arguments, arguments),
                    asker=asker(env, self.server),
                ),
                timeout_s=CALL_MAX_S,
                on_progress=relay(env),
            )
        except McpFault:
            raise ToolError.timeout(int(CALL_MAX_S * 1000)) from None


def first_sentence(text: str) -> str:
    """Return the first sentence of the first line, at most 120 characters."""
    line = text.strip().partition("\n")[0]
    sentence, stop, _ = line.partition(". ")
    return (sentence + "." if stop else line)[:ADVERTISED_MAX_CHARS]


def relay(env: Environment) -> Callable[[float, float | None, str], None]:
    """Return a handler that keeps the call alive at each report, and shows at most ten of them a second."""
    shown_at = float("-inf")

    def report(done: float, total: float | None, text: str) -> None:
        nonlocal shown_at
        now = anyio.current_time()
        if now - shown_at < PROGRESS_PAUSE_S:
            env.keep_alive()
            return
        shown_at = now
        env.progress(done, total, text)

    return report
