"""What each search engine is asked, and where its answer holds title, address and snippet."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Final, Literal

from hilt.ports.web_search import WebHit

EXA_URL: Final = "https://api.exa.ai"
BRAVE_URL: Final = "https://api.search.brave.com"
SNIPPET_MAX_CHARS: Final = 500
_TITLE_MAX_CHARS: Final = 300
_URL_MAX_CHARS: Final = 2048
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request: `params` go into the query of the URL, `body` as JSON where it is a POST."""

    method: Literal["GET", "POST"] = "GET"
    path: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine: `url` without a slash at its end, `headers` with the key, how to ask, and how to read.

    `read` gets the decoded JSON, whatever it is, and raises nothing.
    """

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ask: Callable[[str, int], Question]
    read: Callable[[object], Sequence[WebHit]]


def exa(key: str, *, url: str = EXA_URL) -> Engine:
    """Return Exa: a POST with the query, answered with results and their text."""

    def ask(query: str, count: int) -> Question:
        wanted = {"text": {"maxCharacters": SNIPPET_MAX_CHARS}}
        return Question(method="POST", path="/search", body={"query": query, "numResults": count, "contents": wanted})

    return Engine(
        name="exa",
        url=url.rstrip("/"),
        headers={"x-api-key": key},
        ask=ask,
        read=lambda answer: _hits(_at(answer, "results"), snippet=("text", "summary")),
    )


def brave(key: str, *, url: str = BRAVE_URL) -> Engine:
    """Return Brave: a GET, answered with web results whose descriptions hold tags."""
    return Engine(
        name="brave",
        url=url.rstrip("/"),
        headers={"x-subscription-token": key},
        ask=lambda query, count: Question(
            path="/res/v1/web/search", params={"q": query, "count": str(count), "text_decorations": "false"}
        ),
        read=lambda answer: _hits(_at(_at(answer, "web"), "results"), snippet=("description",)),
    )


def searxng(url: str, *, key: str = "") -> Engine:
    """Return an instance of SearXNG whose settings allow the format json; a key goes as bearer token."""
    return Engine(
        name="searxng",
        url=url.rstrip("/"),
        headers=_bearer(key),
        ask=lambda query, count: Question(path="/search", params={"q": query, "format": "json"}),
        read=lambda answer: _hits(_at(answer, "results"), snippet=("content",)),
    )


def custom(url: str, *, key: str = "") -> Engine:
    """Return a service of the plain form; a key goes as bearer token.

    It gets `q` and `count` in the query and answers with `{"results": [{"title", "url", "snippet"}]}`.
    """
    return Engine(
        name="custom",
        url=url,
        headers=_bearer(key),
        ask=lambda query, count: Question(params={"q": query, "count": str(count)}),
        read=lambda answer: _hits(_at(answer, "results"), snippet=("snippet",)),
    )


def _bearer(key: str) -> Mapping[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def _at(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def _hits(raw: object, *, snippet: Sequence[str]) -> Sequence[WebHit]:
    """Return the hits of a list, in order; entries without an address are left out."""
    hits: list[WebHit] = []
    for entry in raw if isinstance(raw, list) else []:
        url = _text(_at(entry, "url"), _URL_MAX_CHARS)
        if url:
            said = next((text for key in snippet if (text := _text(_at(entry, key), SNIPPET_MAX_CHARS))), "")
            hits.append(WebHit(title=_text(_at(entry, "title"), _TITLE_MAX_CHARS), url=url, snippet=said))
    return hits


def _text(value: object, limit: int) -> str:
    """Return a text on one line, without tags, of at most `limit` characters; "" for what is no text."""
    if not isinstance(value, str):
        return ""
    plain = unescape(_TAG.sub("", value[: 4 * limit]))
    return " ".join(plain.split())[:limit]
