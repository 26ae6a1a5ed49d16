"""The built-in ranking reaches its column of search.md section 4, on the sets that ship with the benchmark."""

import pytest

from bench.search_sets import SETS, Quality, load_queries, load_tools, others, padded, quality
from hilt.core.search import SearchIndex
from hilt.core.search_query import parse_query

# Set → recall at 1, 5 and 10 that the built-in ranking reaches at least.
COLUMN = {"golden": (0.45, 0.78, 0.86), "steps": (0.49, 0.70, 0.76), "plugins": (0.50, 0.70, 0.75)}


def reached(name: str, more: int = 0) -> Quality:
    index = SearchIndex(item.document() for item in [*load_tools(name), *padded(more, sources=others(name))])
    return quality(lambda text: index.find(parse_query(text), limit=10), load_queries(name))


@pytest.mark.req("SRC-36", "SRC-44")
@pytest.mark.parametrize("name", SETS)
def test_the_builtin_ranking_reaches_its_column(name: str) -> None:
    found = reached(name)
    assert tuple(found.at(cut) for cut in (1, 5, 10)) >= COLUMN[name]
    assert all(found.at(cut) >= least for cut, least in zip((1, 5, 10), COLUMN[name], strict=True))


@pytest.mark.req("SRC-39")
def test_recall_falls_little_when_the_catalog_is_padded_with_unrelated_tools() -> None:
    own = reached("steps").at(10)
    assert own - reached("steps", 5_000 - 527).at(10) <= 0.08


@pytest.mark.req("SRC-38")
@pytest.mark.parametrize("name", SETS)
def test_an_exact_name_is_always_first(name: str) -> None:
    tools = load_tools(name)
    index = SearchIndex(item.document() for item in [*tools, *padded(2_000)])
    for item in tools:
        first, *_ = index.find(parse_query(item.name), limit=5)
        assert first in index.called(item.name)
        assert index.find(parse_query(item.id), limit=1) == [item.id]


@pytest.mark.req("SRC-45")
def test_every_set_names_its_origin_and_its_licence() -> None:
    from bench.search_sets import FOLDER

    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in SETS:
        assert (FOLDER / name / "LICENSE").stat().st_size > 500
        assert f"| {name} |" in text
    assert "Derived by us" in text
