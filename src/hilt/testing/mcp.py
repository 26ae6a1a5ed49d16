"""MCP servers without a wire: a scripted connection, and a dialer that gives one after another."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel

from hilt.core.mcp import McpServerSpec
from hilt.ports.mcp import Asker, Fault, McpConnection, McpFault, NotificationHandler, ProgressHandler, ServerFacts

Handler = Callable[[Mapping[str, object]], Mapping[str, object] | Awaitable[Mapping[str, object]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """One request as the server got it."""

    method: str
    params: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


class FakeConnection:
    """Answers each method by its handler, which may be async and may raise `McpFault`.

    `tools` are served as one page of `tools/list`. A method without a handler is refused as unknown.
    `sent` has every request, `closed` counts the closes, `progress` and `asker` are those of the newest request.
    """

    def __init__(
        self, handlers: Mapping[str, Handler] | None = None, *, tools: Sequence[Mapping[str, object]] = ()
    ) -> None:
        listed = list(tools)
        self.facts = ServerFacts(name="fake", revision="2025-11-25", capabilities={"tools": {}})
        self.sent: list[SentRequest] = []
        self.closed = 0
        self.progress: ProgressHandler | None = None
        self.asker: Asker | None = None
        self.notify: NotificationHandler = lambda method, params: None
        self._handlers: dict[str, Handler] = {
            "tools/list": lambda params: {"tools": listed},
            **(handlers or {}),
        }

    async def request(
        self,
        method: str,
        params: Mapping[str, object],
        *,
        timeout_s: float,
        on_progress: ProgressHandler | None = None,
        headers: Mapping[str, str] | None = None,
        asker: Asker | None = None,
    ) -> Mapping[str, object]:
        """See `McpConnection.request`."""
        self.sent.append(SentRequest(method=method, params=params, headers=headers or {}))
        self.progress = on_progress
        self.asker = asker
        handler = self._handlers.get(method)
        if handler is None:
            raise McpFault(Fault.DECLARED, "Method not found", code=-32601)
        with anyio.move_on_after(timeout_s):
            answer = handler(params)
            return await answer if inspect.isawaitable(answer) else answer
        raise McpFault(Fault.TIMEOUT, f"no answer within {timeout_s:g} s")

    async def close(self) -> None:
        """See `McpConnection.close`."""
        self.closed += 1

    def calls(self) -> list[Mapping[str, object]]:
        """Return the params of each `tools/call`."""
        return [request.params for request in self.sent if request.method == "tools/call"]


Outcome = McpConnection | McpFault | Callable[[], Awaitable[McpConnection]]


class FakeDialer:
    """Gives its outcomes in order, the last one again and again; `dialled` has the entry of each dial."""

    def __init__(self, *outcomes: Outcome) -> None:
        self._outcomes = list(outcomes)
        self.dialled: list[McpServerSpec] = []

    async def dial(
        self, spec: McpServerSpec, *, on_notification: NotificationHandler, secrets: Sequence[str] = ()
    ) -> McpConnection:
        """See `McpDialer.dial`."""
        self.dialled.append(spec)
        await anyio.lowlevel.checkpoint()
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if isinstance(outcome, McpFault):
            raise McpFault(outcome.fault, outcome.text)
        connection = await outcome() if callable(outcome) else outcome
        if isinstance(connection, FakeConnection):
            connection.notify = on_notification
        return connection
