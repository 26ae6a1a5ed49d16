"""Embedders from packages: offline, and good enough for their columns of search.md section 4."""

import logging
from collections.abc import Callable
from dataclasses import replace
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
# Embedder → set → recall at 1, 5 and 10 that the ranking with it reaches at least.
COLUMNS = {
    "static": {"golden": (0.56, 0.83, 0.94), "steps": (0.51, 0.71, 0.76), "plugins": (0.56, 0.75, 0.80)},
    "sentence": {"golden": (0.61, 0.89, 0.96), "steps": (0.54, 0.77, 0.81), "plugins": (0.61, 0.80, 0.86)},
}


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
    assert "mail" in embedder.text(SearchDocument(key="k", names=("k",), own_name="mail"))


async def test_the_sentence_model_reads_the_name_in_words_how_the_description_begins_and_the_parameters() -> None:
    embedder = OnnxEmbedder()
    tool = SearchDocument(key="k", names=("k",), own_name="openFile", description="Opens a file. Not a socket.")
    assert embedder.text(tool) == "open file\nOpens a file."
    tool = replace(tool, parameters=("file_path mode", "Where it is"))
    assert embedder.text(tool) == "open file\nOpens a file. file path mode. Where it is"
    assert embedder.text(SearchDocument(key="k", names=("k",), own_name="--")) == "--\n"


async def test_a_tools_name_counts_by_itself_as_well() -> None:
    vectors = OnnxEmbedder().vectors()
    await vectors.add(["send letter\nHands it over.", "send letter: Hands it over."])
    named, whole = await vectors.likeness("send letter")
    assert named > whole


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


@pytest.mark.req("SRC-37")
@pytest.mark.timeout(300)  # the model reads 527 tools or 995 queries: ten seconds of a processor that others use too
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("embedder", EMBEDDERS)
async def test_the_ranking_with_vectors_reaches_its_column(embedder: str, name: str) -> None:
    found = await reached(EMBEDDERS[embedder](), name)
    assert all(value >= least for value, least in zip(found, COLUMNS[embedder][name], strict=True)), found


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
