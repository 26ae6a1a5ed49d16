"""Embedders from packages: offline, and good enough for their columns of search.md section 4."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

import hilt
from bench.search_sets import SETS, load_queries, load_tools, quality
from hilt.adapters.embedder_onnx import OnnxEmbedder
from hilt.adapters.embedder_static import TOKENIZER, WEIGHTS, StaticEmbedder
from hilt.core.errors import ConfigError
from hilt.core.search import Likeness, SearchDocument, SearchIndex
from hilt.core.search_query import parse_query
from hilt.ports.search import Embedder

EMBEDDERS: dict[str, Callable[[], Embedder]] = {"static": StaticEmbedder, "sentence": OnnxEmbedder}
TEXTS = ("Send a letter to somebody", "How warm is it outside today", "")
# Set → recall at 1, 5 and 10 that the static vectors reach at least.
STATIC = {"golden": (0.56, 0.83, 0.94), "steps": (0.51, 0.71, 0.76), "plugins": (0.56, 0.75, 0.80)}
GOLDEN_SENTENCE = (0.61, 0.89, 0.96)


@pytest.mark.req("SRC-33")
@pytest.mark.parametrize("make", EMBEDDERS.values(), ids=EMBEDDERS)
async def test_what_means_the_same_is_nearer_and_texts_keep_their_order(make: Callable[[], Embedder]) -> None:
    vectors = make().vectors()
    assert list(await vectors.likeness("mail")) == []
    await vectors.add(TEXTS[:1])
    await vectors.add(TEXTS[1:])
    letter, warm, empty = await vectors.likeness("post a message")
    assert letter > warm
    letter, warm, _ = await vectors.likeness("weather temperature")
    assert warm > letter
    assert -1.01 <= empty <= 1.01


@pytest.mark.parametrize("make", EMBEDDERS.values(), ids=EMBEDDERS)
async def test_two_collections_of_one_embedder_know_nothing_of_each_other(make: Callable[[], Embedder]) -> None:
    embedder = make()
    one, two = embedder.vectors(), embedder.vectors()
    await one.add(["a"])
    assert (len(await one.likeness("x")), len(await two.likeness("x"))) == (1, 0)
    assert 0 < embedder.share < 1
    assert "open_file" in embedder.text(SearchDocument(key="k", names=("k",), own_name="open_file"))


def test_files_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=WEIGHTS):
        StaticEmbedder(tmp_path)
    (tmp_path / "weights").mkdir()
    (tmp_path / WEIGHTS).touch()
    with pytest.raises(ConfigError, match=TOKENIZER):
        StaticEmbedder(tmp_path)
    with pytest.raises(ConfigError, match="is not there"):
        OnnxEmbedder(tmp_path / "other.onnx")


async def reached(embedder: Embedder, name: str) -> tuple[float, ...]:
    documents = [item.document() for item in load_tools(name)]
    index, vectors = SearchIndex(documents), embedder.vectors()
    await vectors.add([embedder.text(document) for document in documents])
    queries = load_queries(name)
    near = {query.text: Likeness(await vectors.likeness(query.text), embedder.share) for query in queries}
    found = quality(lambda text: index.find(parse_query(text), limit=10, likeness=near[text]), queries)
    return tuple(found.at(cut) for cut in (1, 5, 10))


@pytest.mark.parametrize("name", SETS)
async def test_the_static_vectors_reach_their_column(name: str) -> None:
    found = await reached(StaticEmbedder(), name)
    assert all(value >= least for value, least in zip(found, STATIC[name], strict=True)), found


async def test_the_sentence_model_reaches_its_column_on_golden() -> None:
    found = await reached(OnnxEmbedder(), "golden")
    assert all(value >= least for value, least in zip(found, GOLDEN_SENTENCE, strict=True)), found


@hilt.tool(read_only=True)
def dispatch_letter(to: str) -> str:
    """Send a letter to somebody."""
    return to


@hilt.tool(read_only=True)
def count_zebras(place: str) -> str:
    """Count striped animals."""
    return place


@pytest.mark.req("SRC-33")
async def test_a_host_gives_an_embedder_as_a_service_and_none_is_there_by_default(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cases: list[tuple[dict[type, object], bool]] = [({Embedder: StaticEmbedder()}, True), ({}, False)]
    for services, found in cases:
        async with hilt.build(workspace=tmp_path, tools=[dispatch_letter, count_zebras], services=services) as app:
            session = await app.sessions.create()
            with caplog.at_level(logging.WARNING):
                result = await session.call_tool("ToolSearch", '{"query": "correspondence", "limit": 1}')
            assert ("dispatch_letter" in result.content) == found
    assert not [record for record in caplog.records if "embedder_failed" in record.getMessage()]
