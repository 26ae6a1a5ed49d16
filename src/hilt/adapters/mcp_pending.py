"""The requests of one MCP connection that have no answer yet, and what the wire said of each."""

import itertools
import logging
import math
from collections.abc import Mapping
from typing import Final, TypeGuard

import anyio

from hilt.adapters.mcp_wire import declared
from hilt.ports.mcp import Asker, Fault, McpFault, ProgressHandler

logger = logging.getLogger(__name__)

_ABANDONED_MAX: Final = 1000


class OpenRequest:
    """One request; `handed` once it was given to the transport, `settled` once it has its `result` or `fault`."""

    __slots__ = ("asker", "done", "fault", "handed", "id", "on_progress", "result", "settled")

    def __init__(self, request_id: int, on_progress: ProgressHandler | None, asker: Asker | None = None) -> None:
        self.id = request_id
        self.asker = asker
        self.on_progress = on_progress
        self.done = -math.inf
        self.fault: McpFault | None = None
        self.result: dict[str, object] | None = None
        self.settled = anyio.Event()
        self.handed = False


class OpenRequests:
    """Mints ids, none of them twice, and finds the request that an answer or a progress report is for."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._ids = itertools.count(1)
        self._open: dict[int, OpenRequest] = {}
        self._abandoned: dict[int, None] = {}
        self._told = False

    def begin(self, on_progress: ProgressHandler | None, asker: Asker | None = None) -> OpenRequest:
        """Return a new request."""
        request = OpenRequest(next(self._ids), on_progress, asker)
        self._open[request.id] = request
        return request

    def end(self, request: OpenRequest) -> None:
        """Forget a request that was answered or failed."""
        self._open.pop(request.id, None)

    def abandon(self, request: OpenRequest) -> None:
        """Remember that a late answer to this request is no surprise."""
        self._abandoned[request.id] = None
        if len(self._abandoned) > _ABANDONED_MAX:
            del self._abandoned[next(iter(self._abandoned))]

    def find(self, request_id: object) -> OpenRequest | None:
        """Return the open request of exactly this id: an int, not a text or a bool that looks like it."""
        return self._open.get(request_id) if _is_int(request_id) else None

    def all(self) -> list[OpenRequest]:
        """Return every open request, oldest first."""
        return list(self._open.values())

    def asker(self, related: int | None) -> Asker | None:
        """Return who answers the server's question: of the request it came with, else of the only session there is."""
        if related is not None:
            request = self.find(related)
            return None if request is None else request.asker
        askers = {r.asker.session_id: r.asker for r in self._open.values() if r.asker is not None}
        return next(iter(askers.values())) if len(askers) == 1 else None

    def answered(self, message: Mapping[str, object]) -> tuple[OpenRequest, dict[str, object] | McpFault] | None:
        """Return the request that an answer is for and its result or fault; None for one to be dropped."""
        request = self.find(message.get("id"))
        if request is None or request.settled.is_set():
            self._drop(message.get("id"))
            return None
        result, error = message.get("result"), message.get("error")
        if "error" in message:
            return request, declared(error if isinstance(error, Mapping) else {})
        if isinstance(result, dict):
            return request, result
        return request, McpFault(Fault.PROTOCOL, "the result is no JSON object")

    def progressed(self, params: Mapping[str, object]) -> None:
        """Relay a progress report, if it is for an open request and its value has risen."""
        request = self.find(params.get("progressToken"))
        done, total, text = params.get("progress"), params.get("total"), params.get("message")
        if request is None or request.on_progress is None or not _is_number(done) or not done > request.done:
            return
        request.done = done
        request.on_progress(done, total if _is_number(total) else None, text if isinstance(text, str) else "")

    def _drop(self, request_id: object) -> None:
        if (_is_int(request_id) and request_id in self._abandoned) or self._told:
            return
        self._told = True
        logger.warning("mcp_answer_with_unknown_id server=%s id=%s", self._server, repr(request_id)[:80])


def _is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
