"""The category web: which tools there are, over which engine, under which rules."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from hilt.app.web import search_engine
from hilt.core.errors import ConfigError, ErrorCode
from hilt.ports.fetch import Fetcher
from hilt.ports.web_search import WebHit, WebSearcher
from tests.app.house import House, house
from tests.app.places import Machine
from tests.flows.kit import allow, call, deny
from tests.web.world import answer, world

EXA = {"EXA_API_KEY": "exa-secret"}
URL = "https://docs.example.com/a"


class Prepared:
    """An engine that finds one page."""

    async def search(self, query: str, *, count: int) -> Sequence[WebHit]:
        """See `WebSearcher`."""
        return [WebHit(title=query, url="https://a.example/")]


def web_names(home: House) -> set[str]:
    """Return the tools of the category that are there."""
    return {"WebFetch", "WebSearch"} & set(home.app.catalog.names)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine.below(tmp_path)


@pytest.mark.req("BLT-02", "BLT-09", "BLT-93")
async def test_a_search_is_offered_only_where_an_engine_is_configured(machine: Machine) -> None:
    async with house(machine.root, enable={"web"}, config=machine.load()) as home:
        assert web_names(home) == {"WebFetch"}
    async with house(machine.root, enable={"web"}, config=machine.load(None, **EXA)) as home:
        assert web_names(home) == {"WebFetch", "WebSearch"}
    async with house(machine.root, enable={"web"}, services={WebSearcher: Prepared()}) as home:
        assert web_names(home) == {"WebFetch", "WebSearch"}
        session = await home.app.sessions.create(profile="no-fs")
        [found] = await home.turn(session, call("WebSearch", {"query": "news"}))
    assert "1. news" in found.content
    async with house(machine.root, enable={"files.read"}, config=machine.load(None, **EXA)) as home:
        assert web_names(home) == set()


@pytest.mark.req("BLT-93", "CLI-61")
@pytest.mark.parametrize(
    ("settings", "environment", "expected"),
    [
        ("", {}, None),
        ("", EXA, ("exa", "https://api.exa.ai")),
        ("", {"BRAVE_API_KEY": "k"}, ("brave", "https://api.search.brave.com")),
        ("", {"SEARXNG_URL": "http://localhost:8888/"}, ("searxng", "http://localhost:8888")),
        ("backend: brave", {**EXA, "BRAVE_API_KEY": "k"}, ("brave", "https://api.search.brave.com")),
        ("backend: brave, url: 'http://localhost:1/'", {"BRAVE_API_KEY": "k"}, ("brave", "http://localhost:1")),
        ("backend: exa, url: 'http://localhost:1', key_env: MINE", {"MINE": "k"}, ("exa", "http://localhost:1")),
        ("backend: searxng, url: 'https://s.example'", {}, ("searxng", "https://s.example")),
        ("backend: searxng", {"SEARXNG_URL": "https://s.example"}, ("searxng", "https://s.example")),
        ("backend: custom, url: 'https://s.example/find'", {}, ("custom", "https://s.example/find")),
    ],
)
def test_the_engine_is_that_of_the_settings_or_else_of_the_environment(
    settings: str, environment: dict[str, str], expected: tuple[str, str] | None, machine: Machine
) -> None:
    machine.user(f"web: {{search: {{{settings}}}}}\n")
    engine = search_engine(machine.load(None, **environment))
    assert (None if engine is None else (engine.name, engine.url)) == expected


@pytest.mark.req("BLT-06")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("backend: exa", "web.search.key_env: the variable EXA_API_KEY with the key of exa is not set"),
        ("backend: custom, url: 'https://x.y', key_env: MINE", "the variable MINE with the key of custom is not set"),
        ("backend: searxng", "web.search.url: the search engine searxng needs an http or https URL"),
        ("backend: custom, url: 'ftp://x'", "web.search.url: the search engine custom needs an http or https URL"),
    ],
)
async def test_an_engine_that_cannot_work_stops_the_build(settings: str, message: str, machine: Machine) -> None:
    machine.user(f"web: {{search: {{{settings}}}}}\n")
    with pytest.raises(ConfigError, match=message):
        async with house(machine.root, enable={"web"}, config=machine.load()):
            pass


async def test_the_key_of_an_engine_is_masked_whatever_its_variable_is_called(machine: Machine) -> None:
    class Telling(Prepared):
        async def search(self, query: str, *, count: int) -> Sequence[WebHit]:
            raise RuntimeError("refused: key-in-the-page")

    machine.user("web: {search: {backend: exa, key_env: MINE}}\n")
    config = machine.load(None, MINE="key-in-the-page")
    async with house(machine.root, enable={"web"}, config=config, services={WebSearcher: Telling()}) as home:
        session = await home.app.sessions.create()
        [found] = await home.turn(session, call("WebSearch", {"query": "x"}))
    assert found.is_error
    assert "refused: " in found.content
    assert "key-in-the-page" not in found.content


@pytest.mark.req("BLT-08", "PRM-10")
async def test_a_fetch_is_asked_for_unless_a_rule_covers_its_host(tmp_path: Path) -> None:
    async with world(tmp_path) as web:
        web.page(URL, answer("allowed"))
        rules = [*allow("WebFetch(host=*.example.com)"), *deny("WebFetch(https://docs.example.com/secret/*)")]
        async with house(tmp_path, enable={"web"}, services={Fetcher: web.fetcher()}, rules=rules) as home:
            session = await home.app.sessions.create()
            results = await home.turn(
                session,
                call("WebFetch", {"url": URL}),
                call("WebFetch", {"url": "https://other.example/"}),
                call("WebFetch", {"url": "https://DOCS.example.com./x/../secret/y"}),
            )
    assert "allowed" in results[0].content
    assert [result.is_error for result in results] == [False, True, True]
    assert all(str(ErrorCode.ACCESS_DENIED) in result.content for result in results[1:])
    assert [asked.target for asked in web.asked] == ["/a"]
