"""Refusals of the service: the one table from codes to statuses, and the one shape that every error has."""

import logging
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from hilt.api.wire import ErrorAnswer, ErrorText, encode
from hilt.core.errors import ConfigError, RequestError
from hilt.core.redaction import Redactor

logger = logging.getLogger(__name__)

STATUS: Final[Mapping[str, int]] = {
    "bad_request": 400,
    "unauthenticated": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "busy": 409,
    "conflict": 409,
    "lease_held": 409,
    "too_large": 413,
    "cap_reached": 429,
    "rate_limited": 429,
    "internal": 500,
    "unsupported": 501,
    "unavailable": 503,
    "client_mcp_unreachable": 503,
}
"""Every code of an error with its status (sessions.md section 5)."""

RETRY_S: Final[Mapping[str, int]] = {"cap_reached": 1, "rate_limited": 1, "unavailable": 1}
"""Codes that another try may help, and after how many seconds it should come at the soonest."""

INTERNAL: Final = "something in hilt itself failed; the log has the details"
MODEL_KEY: Final = "model"


def refusal(exc: Exception) -> RequestError:
    """Return what a caller is told of an exception; what is no refusal is logged and told in one plain sentence."""
    if isinstance(exc, RequestError):
        return exc
    if isinstance(exc, ConfigError) and exc.key == MODEL_KEY:
        return RequestError(str(exc))
    logger.error("request_failed", exc_info=exc)
    return RequestError(INTERNAL, code="internal")


def error_text(exc: RequestError) -> ErrorAnswer:
    """Return the body of a refusal."""
    return ErrorAnswer(error=ErrorText(code=exc.code, message=str(exc)))


def error_response(
    exc: RequestError, redactor: Redactor, *, headers: Mapping[str, str] | None = None, retry_s: int | None = None
) -> Response:
    """Return the answer of a refusal, with the status of its code."""
    wait = RETRY_S.get(exc.code) if retry_s is None else retry_s
    more = {} if wait is None else {"Retry-After": str(wait)}
    if exc.code == "unauthenticated":
        more["WWW-Authenticate"] = "Bearer"
    return Response(
        encode(error_text(exc), redactor),
        status_code=STATUS.get(exc.code, 500),
        headers={"Cache-Control": "no-store", **more, **(headers or {})},
        media_type="application/json",
    )
