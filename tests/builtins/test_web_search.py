"""WebSearch: what an engine finds, numbered and framed."""

import json
from collections.abc import Sequence

import pytest

from hilt.builtins.web.frame import WARNING
from hilt.builtins.web.web_search import WebSearch
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.permission import Subject
from hilt.core.tool import ToolCall
from hilt.ports.tool import Environment
from hilt.ports.web_search import SearchFailedError, WebHit, WebSearcher


class Prepared:
    """An engine that finds what it was given and keeps what it was asked."""

    def __init__(self, hits: Sequence[WebHit] = (), *, fails: str = "") -> None:
        self.hits = hits
        self.fails = fails
        self.asked: list[tuple[str, int]] = []

    async def search(self, query: str, *, count: int) -> Sequence[WebHit]:
        """See `WebSearcher`."""
        self.asked.append((query, count))
        if self.fails:
            raise SearchFailedError(self.fails)
        return self.hits


async def search(engine: Prepared | None, **arguments: object) -> str:
    """Return what a search gives."""
    env = Environment(services={} if engine is None else {WebSearcher: engine})
    result = await WebSearch().execute(ToolCall("c1", "WebSearch", json.dumps(arguments)), env)
    assert (result.is_error, result.parts) == (False, ())
    return result.content


@pytest.mark.req("BLT-07", "BLT-08")
def test_it_only_reads_and_takes_a_query_and_a_count() -> None:
    tool = WebSearch()
    assert tool.read_only is True
    properties = tool.spec.schema["properties"]
    assert isinstance(properties, dict)
    assert tool.spec.schema["required"] == ["query"]
    query, count = properties["query"], properties["count"]
    assert (query["type"], query["minLength"], query["maxLength"]) == ("string", 1, 400)
    assert (count["type"], count["default"], count["minimum"], count["maximum"]) == ("integer", 10, 1, 20)
    assert set(properties) == {"query", "count"}


@pytest.mark.req("BLT-93")
async def test_it_returns_title_address_and_snippet_of_each_hit() -> None:
    engine = Prepared(
        [
            WebHit(title="First\none", url="https://a.example/", snippet="About  a"),
            WebHit(title="", url="https://b.example/"),
            WebHit(title="Third", url="https://c.example/", snippet="left out"),
        ]
    )
    text = await search(engine, query="news", count=2)
    head, warning, mark, *lines, end = text.split("\n")
    assert (head, warning) == ("[2 results]", WARNING)
    assert (mark[:5], end) == ("<web ", mark.replace("<web", "</web"))
    assert lines == [
        "1. First one",
        "   https://a.example/",
        "   About a",
        "",
        "2. (no title)",
        "   https://b.example/",
    ]
    assert engine.asked == [("news", 2)]


async def test_where_nothing_is_found_it_says_so() -> None:
    engine = Prepared()
    assert await search(engine, query="x") == "(nothing was found)"
    assert engine.asked == [("x", 10)]


@pytest.mark.parametrize(
    ("engine", "code", "reason"),
    [
        (Prepared(fails="the engine is down"), ErrorCode.EXECUTION_FAILED, "the engine is down"),
        (None, ErrorCode.TOOL_UNAVAILABLE, "no search engine is configured; set web.search.backend"),
    ],
)
async def test_a_failure_is_told(engine: Prepared | None, code: ErrorCode, reason: str) -> None:
    with pytest.raises(ToolError) as caught:
        await search(engine, query="x")
    assert (caught.value.code, caught.value.reason) == (code, reason)


@pytest.mark.req("PRM-10")
def test_patterns_see_the_query() -> None:
    subjects = WebSearch().subjects(ToolCall("c1", "WebSearch", '{"query": "a b"}'))
    assert subjects.unnamed == (Subject(text="a b"),)
    assert subjects.named == {"query": (Subject(text="a b"),)}
