"""The `WebSearcher` over HTTP: one request a search, to the engine that the operator chose."""

import json
from collections.abc import Sequence
from typing import Final

import anyio
import httpx2

from hilt.adapters._http import client
from hilt.adapters.search_web.engines import Engine, Question
from hilt.ports.web_search import SearchFailedError, WebHit

ANSWER_MAX_BYTES: Final = 2 * 1024 * 1024
TIMEOUT_S: Final = 20.0
_MARGIN_S: Final = 1.0


class HttpSearcher:
    """See `WebSearcher`. The operator chose the engine's address: it may be on this machine, and is not vetted."""

    def __init__(self, engine: Engine, *, timeout_s: float = TIMEOUT_S) -> None:
        self._engine = engine
        self._timeout_s = timeout_s

    async def search(self, query: str, *, count: int) -> Sequence[WebHit]:
        """See `WebSearcher.search`."""
        name = self._engine.name
        try:
            with anyio.fail_after(self._timeout_s):
                body = await self._answer(self._engine.ask(query, count))
        except TimeoutError:
            raise SearchFailedError(f"the search engine {name} gave no answer in {self._timeout_s:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as exc:
            raise SearchFailedError(f"the search engine {name} cannot be reached: {type(exc).__name__}") from None
        try:
            answer: object = json.loads(body)
        except (ValueError, RecursionError):
            raise SearchFailedError(f"the answer of the search engine {name} is no JSON") from None
        return self._engine.read(answer)[:count]

    async def _answer(self, question: Question) -> bytes:
        engine = self._engine
        async with (
            client(timeout_s=self._timeout_s + _MARGIN_S, headers=engine.headers) as http,
            http.stream(
                question.method,
                httpx2.URL(f"{engine.url}{question.path}").copy_merge_params(dict(question.params)),
                json=question.body,
                headers={"accept": "application/json", "accept-encoding": "identity", "user-agent": "hilt"},
            ) as response,
        ):
            if not response.is_success:
                raise SearchFailedError(_refused(engine.name, response.status_code))
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > ANSWER_MAX_BYTES:
                    raise SearchFailedError(f"the answer of the search engine {engine.name} is too large")
            return bytes(body)


def _refused(name: str, status: int) -> str:
    if status in (401, 403):
        return f"the search engine {name} refused with status {status}: its key, or the format json, is not allowed"
    if status == 429:
        return f"the search engine {name} refused with status 429: too many searches, try again later"
    return f"the search engine {name} answered with status {status}"
