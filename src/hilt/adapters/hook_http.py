"""Hooks that are HTTP endpoints: the event goes by POST, the answer is the JSON body of a 2xx response."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import anyio
import httpx2

from hilt.adapters._http import client
from hilt.core.errors import HookFailedError
from hilt.core.hook import (
    TIMEOUT_DEFAULT_S,
    HookAnswer,
    HookEvent,
    HookInput,
    OnFailure,
    event_json,
    parse_answer,
)

logger = logging.getLogger(__name__)

BODY_MAX_BYTES: Final = 1024 * 1024

# The client's own limits come after the deadline, so that a late answer is told as one.
_MARGIN_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpHook:
    """A hook behind a URL; see `HookRunner`. `headers` are sent as they are."""

    name: str
    event: HookEvent
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    match: tuple[str, ...] = ()
    timeout_s: float = TIMEOUT_DEFAULT_S
    on_failure: OnFailure | None = None

    async def run(self, hook_input: HookInput) -> HookAnswer:
        """See `HookRunner.run`; `timeout_s` bounds the whole exchange."""
        try:
            with anyio.fail_after(self.timeout_s):
                body = await self._post(json.dumps(event_json(hook_input)).encode())
        except TimeoutError as exc:
            raise HookFailedError(f"it passed its deadline of {self.timeout_s:g} s") from exc
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as exc:
            raise HookFailedError(f"the request failed: {type(exc).__name__}") from exc
        return self._answer(body)

    async def _post(self, event: bytes) -> bytes:
        # An answer that is not compressed cannot unfold beyond the limit.
        headers = {**self.headers, "content-type": "application/json", "accept-encoding": "identity"}
        async with (
            client(timeout_s=self.timeout_s + _MARGIN_S) as http,
            http.stream("POST", self.url, content=event, headers=headers) as response,
        ):
            if not response.is_success:
                raise HookFailedError(f"it answered with status {response.status_code}")
            if response.headers.get("content-encoding", "identity") != "identity":
                raise HookFailedError("its answer is compressed though that was not accepted")
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > BODY_MAX_BYTES:
                    raise HookFailedError(f"its answer is over {BODY_MAX_BYTES} bytes")
            return bytes(body)

    def _answer(self, body: bytes) -> HookAnswer:
        try:
            raw: object = json.loads(body)
        except (ValueError, RecursionError) as exc:
            raise HookFailedError("its answer is not valid JSON") from exc
        answer, unknown = parse_answer(raw, self.event)
        if unknown:
            logger.warning("hook_answer_has_unknown_keys hook=%s keys=%s", self.name, ", ".join(unknown))
        return answer
