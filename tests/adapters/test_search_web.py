"""Each search engine against a server on loopback that has the shape of its wire."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from hilt.adapters.search_web import BRAVE_URL, EXA_URL, Engine, HttpSearcher, brave, custom, exa, searxng
from hilt.ports.web_search import SearchFailedError, WebHit


@dataclass(kw_only=True)
class Wire:
    """What the server answers, and what it was asked."""

    url: str = ""
    status: int = 200
    answer: bytes = b"{}"
    hold: threading.Event = field(default_factory=threading.Event)
    method: str = ""
    path: str = ""
    query: dict[str, list[str]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: object = None


@contextmanager
def wire(answer: object = None, *, status: int = 200) -> Iterator[Wire]:
    """Serve one answer to every request until the block ends."""
    state = Wire(status=status, answer=answer if isinstance(answer, bytes) else json.dumps(answer).encode())
    state.hold.set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            state.method, state.path, state.query = self.command, parts.path, parse_qs(parts.query)
            state.headers = {key.lower(): value for key, value in self.headers.items()}
            sent = self.rfile.read(int(self.headers.get("content-length", 0)))
            state.body = json.loads(sent) if sent else None
            state.hold.wait()
            try:
                self.send_response(state.status)
                self.send_header("content-length", str(len(state.answer)))
                self.end_headers()
                self.wfile.write(state.answer)
            except OSError:
                return

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield state
    finally:
        state.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()


FOUND = [
    WebHit(title="A & B", url="https://a.example/", snippet="What a is"),
    WebHit(title="", url="https://b.example/"),
]


@pytest.mark.req("BLT-93")
async def test_exa_is_asked_with_a_post_and_its_texts_are_the_snippets() -> None:
    results = [
        {"title": "A & B", "url": "https://a.example/", "text": "What\na is", "score": 0.3, "id": "x"},
        {"title": None, "url": "https://b.example/", "publishedDate": "2026-01-01"},
    ]
    with wire({"requestId": "r", "resolvedSearchType": "neural", "results": results}) as served:
        assert await HttpSearcher(exa("secret", url=served.url)).search("a b", count=5) == FOUND
    assert (served.method, served.path) == ("POST", "/search")
    assert served.headers["x-api-key"] == "secret"
    assert served.body == {"query": "a b", "numResults": 5, "contents": {"text": {"maxCharacters": 500}}}


@pytest.mark.req("BLT-93")
async def test_brave_is_asked_with_a_get_and_tags_are_taken_out() -> None:
    results = [
        {"title": "A &amp; <b>B</b>", "url": "https://a.example/", "description": "What <strong>a</strong> is"},
        {"url": "https://b.example/", "description": ""},
    ]
    with wire({"type": "search", "web": {"type": "search", "results": results}}) as served:
        assert await HttpSearcher(brave("secret", url=served.url)).search("a b", count=5) == FOUND
    assert (served.method, served.path) == ("GET", "/res/v1/web/search")
    assert served.query == {"q": ["a b"], "count": ["5"], "text_decorations": ["false"]}
    assert served.headers["x-subscription-token"] == "secret"
    assert served.headers["accept"] == "application/json"


@pytest.mark.req("BLT-93")
async def test_searxng_is_asked_for_json_and_cut_to_the_count() -> None:
    results = [
        {"title": "A & B", "url": "https://a.example/", "content": "What a is", "engine": "x"},
        {"title": "", "url": "https://b.example/", "content": None},
        {"title": "C", "url": "https://c.example/"},
    ]
    with wire({"query": "a b", "results": results, "answers": []}) as served:
        assert await HttpSearcher(searxng(f"{served.url}/")).search("a b", count=2) == FOUND
        assert (served.method, served.path) == ("GET", "/search")
        assert served.query == {"q": ["a b"], "format": ["json"]}
        assert "authorization" not in served.headers
        await HttpSearcher(searxng(served.url, key="k")).search("a b", count=2)
        assert served.headers["authorization"] == "Bearer k"


@pytest.mark.req("BLT-93")
async def test_a_custom_service_keeps_its_own_query() -> None:
    results = [
        {"title": "A & B", "url": "https://a.example/", "snippet": "What a is"},
        {"title": 7, "url": "https://b.example/"},
        {"title": "no address"},
        "nonsense",
    ]
    with wire({"results": results}) as served:
        assert await HttpSearcher(custom(f"{served.url}/find?lang=en", key="k")).search("a b", count=5) == FOUND
    assert (served.method, served.path) == ("GET", "/find")
    assert served.query == {"lang": ["en"], "q": ["a b"], "count": ["5"]}
    assert served.headers["authorization"] == "Bearer k"


ENGINES: list[Callable[[str], Engine]] = [
    lambda url: exa("k", url=url),
    lambda url: brave("k", url=url),
    searxng,
    custom,
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("answer", [None, 7, [], {}, {"results": None}, {"results": {"a": 1}}, {"web": []}])
async def test_an_answer_of_another_shape_finds_nothing(engine: Callable[[str], Engine], answer: object) -> None:
    with wire(answer) as served:
        assert list(await HttpSearcher(engine(served.url)).search("x", count=3)) == []


@pytest.mark.parametrize(
    ("status", "answer", "text"),
    [
        (401, b"", "the search engine custom refused with status 401: its key, or the format json, is not allowed"),
        (429, b"", "the search engine custom refused with status 429: too many searches, try again later"),
        (500, b"", "the search engine custom answered with status 500"),
        (302, b"", "the search engine custom answered with status 302"),
        (200, b"<html>", "the answer of the search engine custom is no JSON"),
        (200, b"[" * 200_000, "the answer of the search engine custom is no JSON"),
        (200, b" " * (2 * 1024 * 1024 + 1), "the answer of the search engine custom is too large"),
    ],
)
async def test_a_useless_answer_is_one_plain_sentence(status: int, answer: bytes, text: str) -> None:
    with wire(answer, status=status) as served, pytest.raises(SearchFailedError) as caught:
        await HttpSearcher(custom(served.url, key="secret")).search("x", count=3)
    assert caught.value.text == text


async def test_an_engine_that_is_not_there_or_says_nothing_is_told() -> None:
    with wire({}) as served:
        served.hold.clear()
        with pytest.raises(SearchFailedError, match=r"gave no answer in 0\.2 s"):
            await HttpSearcher(custom(served.url), timeout_s=0.2).search("x", count=3)
        served.hold.set()
    for url in (served.url, "http://[", "nonsense"):
        with pytest.raises(SearchFailedError, match="the search engine custom cannot be reached"):
            await HttpSearcher(custom(url)).search("x", count=3)


def test_a_key_is_not_shown_and_the_public_addresses_are_the_engines_own() -> None:
    assert "secret" not in repr(exa("secret"))
    assert (exa("k").url, brave("k").url) == (EXA_URL, BRAVE_URL)
