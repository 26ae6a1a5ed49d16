"""The route table: what a route takes and gives, in one place for the service and for its OpenAPI document."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeVar
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response

from hilt.api.service import Service
from hilt.api.wire import encode
from hilt.core.errors import RequestError, SessionNotFoundError
from hilt.core.redaction import Redactor
from hilt.core.session import SessionRecord

T = TypeVar("T")

BODY_MAX_BYTES: Final = 1024 * 1024
COUNT_MAX: Final = 2**63 - 1


class Listening(Protocol):
    """What answers requests: its service, None until it is built, and its OpenAPI document."""

    @property
    def service(self) -> Service | None:
        """The service."""
        ...

    @property
    def document(self) -> Mapping[str, object]:
        """The document."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request of a principal; `raw_id` is the session that the path names, encoded, `body` what was decoded."""

    front: Listening
    request: Request
    principal: str
    raw_id: str = ""
    body: object = None

    def with_body(self, body: object) -> "Call":
        """Return the call with its body."""
        return replace(self, body=body)

    @property
    def service(self) -> Service:
        """The service.

        Raises:
            RequestError: It is not built yet (`unavailable`).
        """
        if self.front.service is None:
            raise RequestError("the service is starting", code="unavailable")
        return self.front.service

    @property
    def session_id(self) -> str:
        """The session that the path names.

        Raises:
            SessionNotFoundError: It is no text.
        """
        try:
            return unquote_to_bytes(self.raw_id).decode("utf-8")
        except UnicodeDecodeError:
            raise SessionNotFoundError("no session has this id") from None

    async def owned(self) -> SessionRecord:
        """Return the record of the session that the path names, as it stands.

        Raises:
            SessionNotFoundError: There is none, or it belongs to another principal.
        """
        id_ = self.session_id
        missing = SessionNotFoundError(f"no session {id_[:80]!r}")
        try:
            record = await self.service.sessions.look(id_)
        except SessionNotFoundError:
            raise missing from None
        if record.owner != self.principal:
            raise missing
        return record

    def taken(self, kind: type[T]) -> T:
        """Return the body, which the table says to be of this type."""
        if not isinstance(self.body, kind):
            raise TypeError(f"the route takes no {kind.__name__}")
        return self.body

    def text(self, name: str) -> str:
        """Return a parameter of the query, "" where it is absent."""
        return self.request.query_params.get(name, "")

    def number(self, name: str, default: int) -> int:
        """Return a number of the query.

        Raises:
            RequestError: It is no whole number from 0 up.
        """
        return whole_number(self.text(name), name, default)

    def answer(self, value: object, *, status: int = 200) -> Response:
        """Return an answer with a body."""
        redactor = Redactor() if self.front.service is None else self.front.service.redactor
        return Response(
            encode(value, redactor),
            status_code=status,
            headers={"Cache-Control": "no-store"},
            media_type="application/json",
        )


def whole_number(text: str, name: str, default: int) -> int:
    """Return the number that a text of the request holds, the default where it is "".

    Raises:
        RequestError: It is no whole number from 0 up.
    """
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 19) or int(text) > COUNT_MAX:
        raise RequestError(f"{name} is a whole number from 0 up, not {text[:40]!r}")
    return int(text)


Handler = Callable[[Call], Awaitable[Response]]

NOTHING: Final = "nothing"
EVENTS: Final = "events"
TEXT: Final = "text"
OBJECT: Final = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One operation. `answer` is the type of its body, or says that it is none, text, or a stream of events.

    `more` are further answers by status, `query` its parameters with what they are, `refusals` codes beyond those that
    every route has, `open_to_all` whether it needs no token.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    answer: type | str
    status: int = 200
    body: type | None = None
    more: Mapping[int, type] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    refusals: tuple[str, ...] = ()
    open_to_all: bool = False


async def read_body(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        RequestError: It is over 1 MiB (`too_large`); what is left of it is not read.
    """
    length = request.headers.get("content-length", "")
    body = bytearray()
    if length.isdigit() and int(length) > BODY_MAX_BYTES:
        raise _too_large()
    async for piece in request.stream():
        body += piece
        if len(body) > BODY_MAX_BYTES:
            raise _too_large()
    return bytes(body)


def _too_large() -> RequestError:
    return RequestError(f"a body has at most {BODY_MAX_BYTES} bytes", code="too_large")
