"""The door to the MCP SDK: one connection, owned by one task, over transports of our own.

Our requests go to the transport at once, and what a fault of the wire means for one is kept beside it; the SDK's
JSON-RPC dispatcher, which would lose that and doubles the cost of a call, serves what the server asks of a person.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import anyio
import anyio.abc
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION_META_KEY,
    JSONRPCRequest,
)

from hilt.adapters.mcp_channel import ChannelState, OpenStream, StreamEnd, StreamReport, hold_channel, promised_notices
from hilt.adapters.mcp_outbox import Outbox, as_json
from hilt.adapters.mcp_pending import OpenRequest, OpenRequests
from hilt.adapters.mcp_replies import ClientReplies
from hilt.adapters.mcp_wire import Wire, is_id
from hilt.core.redaction import Redactor
from hilt.ports.mcp import CHANNEL_GAP, Asker, Fault, McpFault, NotificationHandler, ProgressHandler, ServerFacts

logger = logging.getLogger(__name__)

CLOSE_MAX_S: Final = 10.0
INPUT_ROUNDS_MAX: Final = 10
_INBOX: Final = 64
_SERVING_MAX: Final = 64
GIVEN_UP: Final = "the caller gave up"


class SdkConnection:
    """One connection; see `McpConnection`.

    `run` is its owner task, everything else may be called from any task.
    """

    def __init__(  # noqa: PLR0913 - keyword-only parts of one connection
        self,
        wire: Wire,
        *,
        server: str,
        client: Mapping[str, object],
        replies: ClientReplies,
        redactor: Redactor,
        on_notification: NotificationHandler,
        channel: ChannelState | None = None,
    ) -> None:
        self.facts = ServerFacts()
        self._wire = wire
        self._client = dict(client)
        self._replies = replies
        self._redactor = redactor
        self._on_notification = on_notification
        self._server = server
        self._requests = OpenRequests(server)
        self._serving: dict[str | int, int | None] = {}
        self._channel = channel
        self._tasks: anyio.abc.TaskGroup | None = None
        self._acknowledged = False
        self._lost: McpFault | None = None
        self._failure: McpFault | None = None
        self._closing = anyio.Event()
        self._finished = anyio.Event()
        self._inbox, self._inbox_end = anyio.create_memory_object_stream[SessionMessage | Exception](_INBOX)
        self._dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(
            self._inbox_end, Outbox(self._hand_over)
        )

    @property
    def hello(self) -> dict[str, object]:
        """Who we are, as `initialize` says it."""
        return {"capabilities": self._replies.capabilities, "clientInfo": self._client}

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Own the connection until it is closed or lost; report started once requests can be sent.

        Raises:
            McpFault: It cannot be opened; raised before it is started only.
        """
        try:
            async with anyio.create_task_group() as tasks:
                try:
                    await tasks.start(self._guarded, self._wire.run, self)
                    await tasks.start(self._guarded, self._dispatcher.run, self._serve, _ignore)
                    self._tasks = tasks
                    task_status.started()
                    await self._closing.wait()
                    self._settle_all()
                except McpFault as fault:
                    self._failure = fault
                tasks.cancel_scope.cancel()
        finally:
            self._closing.set()
            self._settle_all()
            self._inbox.close()
            self._inbox_end.close()
            self._finished.set()
        if self._failure is not None:
            raise self._failure

    def _settle_all(self) -> None:
        """Let those that wait for an answer know that none will come."""
        for request in self._requests.all():
            request.settled.set()

    async def _guarded(
        self,
        run: Callable[..., Awaitable[None]],
        *args: object,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        try:
            await run(*args, task_status=task_status)
        except McpFault:
            raise
        except Exception:
            # What breaks below ends its own connection, never the group that it runs in.
            logger.exception("mcp_connection_failed server=%s", self._server)
            await self.lost(McpFault(Fault.CUT, "the connection broke"))

    def end(self) -> None:
        """Ask the owner task to close, without waiting."""
        self._closing.set()

    async def close(self) -> None:
        """See `McpConnection.close`."""
        self.end()
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSE_MAX_S):
            await self._finished.wait()

    # ------------------------------------------------------------ requests

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
        with anyio.move_on_after(timeout_s):
            answer = await self._exchange(method, params, on_progress, headers=headers, asker=asker)
            for _ in range(INPUT_ROUNDS_MAX):
                if answer.get("resultType") != "input_required":
                    return answer
                filled = {**params, **await self._replies.fill(answer, asker)}
                answer = await self._exchange(method, filled, on_progress, headers=headers, asker=asker)
            raise McpFault(Fault.PROTOCOL, f"the server asked for input more than {INPUT_ROUNDS_MAX} times")
        raise McpFault(Fault.TIMEOUT, f"no answer within {timeout_s:g} s")

    async def ask(self, method: str, params: Mapping[str, object], *, revision: str) -> Mapping[str, object]:
        """See `Peer.ask`."""
        return await self._exchange(method, params, None, revision=revision, cancel=False)

    async def probe(self, revision: str, *, timeout_s: float) -> Mapping[str, object]:
        """See `Peer.probe`."""
        with anyio.move_on_after(timeout_s):
            return await self.ask("server/discover", {}, revision=revision)
        raise McpFault(Fault.TIMEOUT, f"no answer within {timeout_s:g} s")

    async def opened(self, facts: ServerFacts) -> None:
        """See `Peer.opened`."""
        self.facts = facts
        stateless = facts.era == "stateless"
        self._wire.settle(revision=facts.revision, stateless=stateless)
        if not stateless:
            await self._tell("notifications/initialized", {})
        stream = self._subscription() if stateless else self._wire.standing()
        if stream is not None and self._channel is not None and self._tasks is not None:
            self._tasks.start_soon(self._guarded, self._hold, stream, self._channel)

    async def _hold(
        self,
        stream: OpenStream,
        state: ChannelState,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        await hold_channel(stream, state, lambda: self._notified(CHANNEL_GAP, {}))

    def _subscription(self) -> OpenStream | None:
        """Return what listens for the changes of lists that this stateless server promises to tell."""
        wanted = promised_notices(self.facts.capabilities)

        async def listen() -> StreamReport:
            self._acknowledged = False
            end = StreamEnd.OVER
            try:
                await self._exchange("subscriptions/listen", {"notifications": wanted}, None, cancel=False)
            except McpFault as fault:
                refused = fault.code == METHOD_NOT_FOUND or fault.status == 405
                end = StreamEnd.NOT_OFFERED if refused else StreamEnd.FAILED
            return StreamReport(end=end, heard=self._acknowledged)

        return listen if wanted else None

    async def _exchange(  # noqa: PLR0913 - what goes beside a request is keyword-only
        self,
        method: str,
        params: Mapping[str, object],
        on_progress: ProgressHandler | None,
        *,
        revision: str | None = None,
        cancel: bool = True,
        headers: Mapping[str, str] | None = None,
        asker: Asker | None = None,
    ) -> Mapping[str, object]:
        if self._closing.is_set():
            raise McpFault(Fault.NOT_SENT, "the connection is closed" if self._lost is None else self._lost.text)
        if revision is None:
            revision = self.facts.revision if self.facts.era == "stateless" else ""
        request = self._requests.begin(on_progress, asker)
        body, beside = self._stamped(method, params, request, revision)
        if revision:
            beside |= {name: encode_header_value(value) for name, value in (headers or {}).items()}
        try:
            request.handed = True
            await self._wire.send({"jsonrpc": "2.0", "id": request.id, "method": method, "params": body}, beside)
            await request.settled.wait()
        except McpFault as fault:
            request.fault = fault
        except anyio.get_cancelled_exc_class():
            self._requests.abandon(request)
            self._wire.forget(request.id)
            if cancel:
                with anyio.CancelScope(shield=True):
                    await self._tell("notifications/cancelled", {"requestId": request.id, "reason": GIVEN_UP})
            raise
        finally:
            self._requests.end(request)
        if request.result is None:
            raise self._fault_of(request)
        return request.result

    async def _tell(self, method: str, params: Mapping[str, object]) -> None:
        """Send a notification; one that cannot be sent any more is no fault."""
        try:
            await self._wire.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}, {})
        except McpFault:
            logger.debug("mcp_notification_not_sent server=%s method=%s", self._server, method)

    def _stamped(
        self, method: str, params: Mapping[str, object], request: OpenRequest, revision: str
    ) -> tuple[dict[str, object], dict[str, str]]:
        """Return params with progress token and, in the stateless era, who asks, and the headers beside them."""
        body, headers = dict(params), dict[str, str]()
        meta: dict[str, object] = {} if request.on_progress is None else {"progressToken": request.id}
        if revision:
            meta[PROTOCOL_VERSION_META_KEY] = revision
            meta[CLIENT_INFO_META_KEY] = self._client
            meta[CLIENT_CAPABILITIES_META_KEY] = self._replies.capabilities
            headers = {MCP_PROTOCOL_VERSION_HEADER: revision, MCP_METHOD_HEADER: method}
            target = params.get(NAME_BEARING_METHODS.get(method, ""))
            if isinstance(target, str):
                headers[MCP_NAME_HEADER] = encode_header_value(target)
        given = body.get("_meta")
        if meta:
            body["_meta"] = {**given, **meta} if isinstance(given, Mapping) else meta
        return body, headers

    def _fault_of(self, request: OpenRequest) -> McpFault:
        found = request.fault
        if found is None and self._lost is not None:
            found = self._lost if request.handed else McpFault(Fault.NOT_SENT, self._lost.text)
        if found is None:
            kind = Fault.CLOSED if request.handed else Fault.NOT_SENT
            return McpFault(kind, "the connection was closed")
        found.text = self._redactor.redact(found.text)
        return found

    async def _serve(
        self, context: DispatchContext[TransportContext], method: str, params: Mapping[str, object] | None
    ) -> dict[str, object]:
        key = context.request_id
        related = None if key is None else self._serving.get(key)
        try:
            given = await self._replies.reply(method, params or {}, self._requests.asker(related))
        finally:
            if key is not None:
                self._serving.pop(key, None)
        if given is None:
            raise MCPError(METHOD_NOT_FOUND, "Method not found")
        return dict(given)

    async def _hand_over(self, item: SessionMessage) -> None:
        try:
            await self._wire.send(as_json(item.message), {})
        except McpFault:
            logger.debug("mcp_answer_not_sent server=%s", self._server)

    # ------------------------------------------------------------ what the transport gives

    async def deliver(self, message: Mapping[str, object], *, related: int | None = None) -> None:
        """See `Inbox.deliver`."""
        method, params = message.get("method"), message.get("params")
        known = params if isinstance(params, dict) else {}
        if not isinstance(method, str):
            answer = self._requests.answered(message)
            if answer is None:
                return
            request, outcome = answer
            if isinstance(outcome, McpFault):
                await self.fail(request.id, outcome)
            else:
                request.result = outcome
                request.settled.set()
        elif "id" in message:
            await self._requested(method, known, message["id"], related)
        else:
            self._notified(method, known)

    def _notified(self, method: str, params: dict[str, object]) -> None:
        try:
            if method == "notifications/progress":
                self._requests.progressed(params)
            elif method == "notifications/subscriptions/acknowledged":
                self._acknowledged = True
            else:
                self._on_notification(method, params)
        except Exception:
            # A handler that fails may not stop the reader.
            logger.exception("mcp_notification_handler_failed server=%s", self._server)

    async def fail(self, request_id: int, fault: McpFault) -> None:
        """See `Inbox.fail`."""
        request = self._requests.find(request_id)
        if request is not None and not request.settled.is_set():
            request.fault = fault
            request.settled.set()

    async def fail_all(self, fault: McpFault) -> None:
        """See `Inbox.fail_all`."""
        for request in self._requests.all():
            await self.fail(request.id, fault)

    async def lost(self, fault: McpFault) -> None:
        """See `Inbox.lost`; the owner task then ends."""
        self._lost = fault
        self._closing.set()

    async def _push(self, message: JSONRPCRequest) -> None:
        try:
            await self._inbox.send(SessionMessage(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            logger.debug("mcp_message_after_close server=%s", self._server)

    async def _requested(self, method: str, params: dict[str, object], request_id: object, related: int | None) -> None:
        if not is_id(request_id) or request_id in self._serving or self._closing.is_set():
            logger.debug("mcp_server_request_ignored server=%s method=%s", self._server, repr(method[:80]))
            return
        asked = method == "elicitation/create" and self._requests.asker(related) is not None
        if not asked or len(self._serving) >= _SERVING_MAX:
            await self._reply_at_once(method, request_id)
            return
        self._serving[request_id] = related
        await self._push(JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, params=params))

    async def _reply_at_once(self, method: str, request_id: str | int) -> None:
        """Answer what needs nobody past the dispatcher, so that a flood of it holds nothing up."""
        given = self._replies.at_once(method)
        outcome: dict[str, object] = {"result": given}
        if given is None:
            outcome = {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
        try:
            await self._wire.send({"jsonrpc": "2.0", "id": request_id, **outcome}, {})
        except McpFault:
            logger.debug("mcp_answer_not_sent server=%s", self._server)


async def _ignore(context: DispatchContext[TransportContext], method: str, params: Mapping[str, object] | None) -> None:
    """Notifications are taken before they reach the dispatcher."""
