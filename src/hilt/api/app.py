"""The ASGI application: who may call, then the route table; every refusal has one shape."""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hilt.api import inventory_routes, session_routes, session_streams
from hilt.api.access import OPERATOR, PREFLIGHT, HostRule, RateLimit, Tokens
from hilt.api.errors import error_response, refusal
from hilt.api.openapi import document
from hilt.api.service import Service
from hilt.api.table import EVENTS, Call, Route, read_body
from hilt.api.wire import decode
from hilt.core.errors import RequestError
from hilt.core.redaction import Redactor

logger = logging.getLogger(__name__)

ID_AT: Final = 3
"""Which part of `/v1/sessions/ID/…` names the session; it is still encoded there, so that it may hold a `/`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who may call this listener, and how often."""

    tokens: Tokens
    hosts: HostRule
    rate: RateLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The operations of a path by their methods, and the session that it names, encoded."""

    operations: Mapping[str, Route]
    raw_id: str = ""

    def operation(self, method: str) -> Route | None:
        """Return the operation of a method; HEAD is GET but for streams."""
        route = self.operations.get("GET" if method == "HEAD" else method)
        return None if route is not None and method == "HEAD" and route.answer == EVENTS else route


class Front:
    """Answers from the moment that the listener is up; `service` is there once it is built."""

    def __init__(self, access: Access) -> None:
        self.service: Service | None = None
        self._access = access
        self._paths: dict[str, dict[str, Route]] = {}
        table = routes()
        self.document = document(table, needs_token=access.tokens.needed)
        for route in table:
            self._paths.setdefault(route.path, {})[route.method] = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive, send)
        origin = request.headers.get("origin")
        try:
            response = await self._response(request, origin)
        except ClientDisconnect:
            return
        except Exception as exc:
            response = self._refused(refusal(exc))
        for name, value in self._access.hosts.cors(origin).items():
            response.headers[name] = value
        await response(scope, receive, send)

    def _refused(self, error: RequestError, *, headers: Mapping[str, str] | None = None, wait_s: float = 0) -> Response:
        redactor = Redactor() if self.service is None else self.service.redactor
        return error_response(error, redactor, headers=headers, retry_s=math.ceil(wait_s) or None)

    async def _response(self, request: Request, origin: str | None) -> Response:
        access = self._access
        access.hosts.check(request.headers.get("host"), origin)
        if request.method == "OPTIONS" and access.hosts.cors(origin):
            return Response(status_code=204, headers=PREFLIGHT)
        found = self._found(request)
        route = None if found is None else found.operation(request.method)
        principal = OPERATOR
        if route is None or not route.open_to_all:
            principal = access.tokens.principal(request.headers.get("authorization", ""))
            wait_s = access.rate.wait_s(principal)
            if wait_s:
                error = RequestError(f"at most {access.rate.per_second:g} requests a second", code="rate_limited")
                return self._refused(error, wait_s=wait_s)
        if found is None:
            raise RequestError("there is no such route; see /v1/openapi.json", code="not_found")
        if route is None:
            known = ", ".join(sorted(found.operations))
            error = RequestError(f"this route takes {known}", code="method_not_allowed")
            return self._refused(error, headers={"Allow": known})
        call = Call(front=self, request=request, principal=principal, raw_id=found.raw_id)
        if route.body is not None:
            call = call.with_body(decode(await read_body(request), route.body))
        return await route.handler(call)

    def _found(self, request: Request) -> Found | None:
        raw: object = request.scope.get("raw_path")
        path = raw.decode("ascii", "replace") if isinstance(raw, bytes) else request.url.path
        parts, raw_id = path.split("/"), ""
        if len(parts) > ID_AT and parts[1:ID_AT] == ["v1", "sessions"]:
            raw_id, parts[ID_AT] = parts[ID_AT], "{id}"
        operations = self._paths.get("/".join(parts))
        return None if operations is None else Found(operations=operations, raw_id=raw_id)


def routes() -> Sequence[Route]:
    """Return every route of the service."""
    return (*inventory_routes.ROUTES, *session_routes.ROUTES, *session_streams.ROUTES)
