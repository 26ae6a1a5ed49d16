"""Memory search of every kind: no query makes it fail, words are found in any order, in any script."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from hilt.core.earlier import EarlierMessage
from hilt.core.passage import passages
from tests.app.house import House, house
from tests.flows.kit import call

CASES = json.loads((Path(__file__).parent / "inputs" / "m_fts.json").read_text(encoding="utf-8"))
ROWS: Mapping[str, str] = CASES["rows"]
MESSAGES = [EarlierMessage(number=n, role="user", text=text) for n, text in enumerate(ROWS.values(), start=1)]
NAMES = list(ROWS)


@pytest.mark.parametrize("case", CASES["queries"], ids=lambda case: f"{case['case']} {case['q']!r}")
def test_earlier_turns_are_found(case: Mapping[str, object]) -> None:
    found = [NAMES[one.start - 1] for one in passages(MESSAGES, str(case["q"]), limit=20, max_chars=1000)]
    want = case.get("want")
    if isinstance(want, list):
        assert found == want
    elif case["case"] == "m5":
        assert found == []


async def every_answer(home: House, name: str) -> list[str]:
    session = await home.app.sessions.create()
    for key, text in ROWS.items():
        await home.turn(session, call(name, {"key": key, "value": text}))
    search = "SearchMemory" if name == "Remember" else "SearchUserModel"
    results = await home.turn(session, *(call(search, {"query": case["q"]}) for case in CASES["queries"]))
    assert not any(result.is_error for result in results)
    return [result.content for result in results]


@pytest.mark.parametrize("name", ["Remember", "RememberUser"])
@pytest.mark.parametrize("store", ["memory:", "jsonl:"])
async def test_what_was_remembered_is_found_by_the_tools(tmp_path: Path, name: str, store: str) -> None:
    place = store if store == "memory:" else f"{store}{tmp_path / 'store'}"
    async with house(tmp_path, store=place, enable_memory=True) as home:
        answers = await every_answer(home, name)
    for case, answer in zip(CASES["queries"], answers, strict=True):
        want = case.get("want")
        found = [line for line in answer.splitlines() if line in ROWS]
        if isinstance(want, list):
            assert found == want, case["q"]
        elif case["case"] == "m5":
            assert "shares a word with" in answer
