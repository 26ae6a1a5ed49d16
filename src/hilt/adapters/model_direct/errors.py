"""Failures of providers and their libraries, as `ModelError`."""

import httpx2
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
    UserError,
)

from hilt.core.errors import ModelError

MESSAGE_MAX_CHARACTERS = 500
_WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429})


def to_model_error(exc: Exception, *, model: str, secret: str) -> ModelError:
    """Return the error that crosses the port; its text holds no API key and no whole body."""
    status = exc.status_code if isinstance(exc, ModelHTTPError) else None
    retry_after_s = exc.retry_after if isinstance(exc, ModelAPIError) else None
    told = " ".join(_told(exc).split())
    if secret:
        told = told.replace(secret, "[secret]")
    text = f"{model}: {f'status {status}: ' if status else ''}{told[:MESSAGE_MAX_CHARACTERS]}"
    return ModelError(text, transient=_is_transient(exc), status=status, retry_after_s=retry_after_s)


def _is_transient(exc: Exception) -> bool:
    match exc:
        case ModelRequestRejectedError() | ModelQuotaExceededError() | UserError():
            return False
        case ModelHTTPError():
            return exc.status_code >= 500 or exc.status_code in _WORTH_ANOTHER_TRY
        case ModelAPIError() | UnexpectedModelBehavior() | httpx2.TransportError() | httpx2.StreamError():
            return True
        case _:
            return False


def _told(exc: Exception) -> str:
    """Return the provider's own message where its body has one."""
    body = exc.body if isinstance(exc, ModelAPIError) else None
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict) and isinstance(inner.get("message"), str):
            message: str = inner["message"]
            return message
    if isinstance(exc, ModelHTTPError):
        return exc.provider_error_type or exc.provider_error_code or "the provider gave no reason"
    return str(exc) or type(exc).__name__
