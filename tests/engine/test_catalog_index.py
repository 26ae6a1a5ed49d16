"""One index for each catalog, brought up to date as it grows, made off the event loop."""

import gc
import logging
import time
import weakref
from collections.abc import Sequence

import anyio
import pytest

from hilt.core.search import SearchDocument
from hilt.core.search_query import SearchQuery
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.catalog import Catalog
from hilt.engine.catalog_index import CatalogIndex, CatalogIndexes
from hilt.engine.origin import own_name, server_of
from hilt.ports.tool import Environment


class Named:
    """A tool with a name and what an MCP tool tells of itself."""

    read_only = True

    def __init__(self, name: str, text: str, *, server: object = None, given: object = None) -> None:
        self.spec = ToolSpec(name, text, {"type": "object", "properties": {"path": {"type": "string"}}})
        self.server = server
        self.name_on_server = given

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        return ToolResult.text(call.id, "ok")


def catalog_of(count: int) -> Catalog:
    catalog = Catalog()
    for number in range(count):
        catalog.register(Named(f"tool_{number}", f"Sends mail number {number} to somebody who waits for it."))
    return catalog


async def find(index: CatalogIndex, text: str) -> list[str]:
    return await index.find(SearchQuery(text=text), limit=3, admits=lambda key: True)


@pytest.mark.req("SRC-32")
async def test_a_tool_added_to_the_catalog_is_found_by_the_next_search() -> None:
    catalog = catalog_of(50)
    index = CatalogIndex(catalog)
    assert await find(index, "zebra") == []
    catalog.register(Named("count", "Counts zebras."))
    assert await find(index, "zebra") == ["count"]
    assert await find(index, "zebra") == ["count"]


@pytest.mark.req("SRC-32")
async def test_adding_one_tool_to_five_thousand_takes_a_small_part_of_building() -> None:
    catalog = catalog_of(5_000)
    index = CatalogIndex(catalog)
    begun = time.process_time()
    await find(index, "zebra")
    built = time.process_time() - begun
    catalog.register(Named("count", "Counts zebras."))
    begun = time.process_time()
    assert await find(index, "zebra") == ["count"]
    assert time.process_time() - begun < max(0.02, built / 20)


@pytest.mark.req("SRC-42")
async def test_other_tasks_go_on_while_an_index_is_built() -> None:
    catalog = catalog_of(3_000)
    index = CatalogIndex(catalog)
    ticks = 0
    done = anyio.Event()

    async def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            await anyio.sleep(0.001)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        await find(index, "mail")
        done.set()
    assert ticks >= 5


async def test_searches_that_meet_while_it_is_built_find_the_same() -> None:
    catalog = catalog_of(500)
    index = CatalogIndex(catalog)
    found: list[list[str]] = []

    async def search() -> None:
        found.append(await find(index, "mail number 7"))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(search)
    assert found == [found[0]] * 5
    assert found[0][0] == "tool_7"


async def test_each_catalog_has_one_index_that_goes_with_it() -> None:
    indexes = CatalogIndexes()
    catalog = catalog_of(20)
    index = indexes.of(catalog)
    assert indexes.of(catalog) is index
    await find(index, "mail")
    gone = weakref.ref(catalog)
    del catalog
    gc.collect()
    assert gone() is None
    assert await index.called("tool_3") == ["tool_3"]


def test_an_mcp_tool_tells_its_server_and_its_name_there() -> None:
    catalog = Catalog()
    catalog.register(Named("mcp__hub__a_b", "x", server="Hub", given="a/b"), family="mcp")
    catalog.register(Named("mcp__hub__c", "x"), family="client-mcp")
    catalog.register(Named("plain", "x", server="Hub", given="other"))
    seen = [(server_of(entry), own_name(entry)) for entry in catalog.entries()]
    assert seen == [("Hub", "a/b"), ("hub", "c"), ("", "plain")]


class Vectors:
    """Puts the last text nearest, or does what `fault` says."""

    def __init__(self, fault: str) -> None:
        self._fault = fault
        self._count = 0

    async def add(self, texts: Sequence[str]) -> None:
        self._count += len(texts)

    async def likeness(self, query: str) -> Sequence[float]:
        if self._fault == "raises":
            raise RuntimeError("no model")
        if self._fault == "hangs":
            await anyio.sleep_forever()
        return [float(place) for place in range(self._count)]


class Embedding:
    """See `Embedder`."""

    name = "made-up"
    share = 0.9

    def __init__(self, fault: str = "") -> None:
        self._fault = fault

    def text(self, tool: SearchDocument) -> str:
        return tool.own_name

    def vectors(self) -> Vectors:
        return Vectors(self._fault)


@pytest.mark.req("SRC-33")
async def test_an_embedder_takes_part_in_the_ranking_and_exact_names_stay_first() -> None:
    catalog = catalog_of(150)
    index = CatalogIndexes(Embedding()).of(catalog)
    assert (await find(index, "something else"))[0] == "tool_149"
    assert (await find(index, "tool_3"))[0] == "tool_3"
    catalog.register(Named("zebra", "Counts."))
    assert (await find(index, "something else"))[0] == "zebra"
    assert await find(index, " ") == []


@pytest.mark.req("SRC-34")
@pytest.mark.parametrize("fault", ["raises", "hangs"])
async def test_an_embedder_that_fails_or_hangs_costs_one_warning_and_the_words_decide(
    fault: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hilt.engine.catalog_index.EMBEDDER_MAX_S", 0.05)
    catalog = catalog_of(20)
    index = CatalogIndex(catalog, Embedding(fault))
    with caplog.at_level(logging.WARNING):
        assert (await find(index, "mail number 7"))[0] == "tool_7"
        assert (await find(index, "mail number 8"))[0] == "tool_8"
    assert [record.getMessage().partition(" ")[0] for record in caplog.records] == ["embedder_failed"]
