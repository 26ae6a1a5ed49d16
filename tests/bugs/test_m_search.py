"""Search boxes: no query makes one fail, words are found in any order, punctuation and scripts included."""

import json
from pathlib import Path

import pytest

from hilt.core.search import SearchDocument, SearchIndex
from hilt.core.search_query import parse_query

CASES = json.loads((Path(__file__).parent / "inputs" / "m_fts.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def index() -> SearchIndex:
    rows: dict[str, str] = CASES["rows"]
    return SearchIndex(
        SearchDocument(key=name, names=(name,), own_name=name, description=text) for name, text in rows.items()
    )


@pytest.mark.parametrize("case", CASES["queries"], ids=lambda case: f"{case['case']} {case['q']!r}")
def test_a_query_of_any_form_finds_what_it_should(index: SearchIndex, case: dict[str, object]) -> None:
    found = index.find(parse_query(str(case["q"])), limit=10)
    want = case.get("want")
    if not isinstance(want, list):
        assert found == index.find(parse_query(str(case["q"])), limit=10)
        return
    assert found[: len(want)] == want or set(want) <= set(found)
