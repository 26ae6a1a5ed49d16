"""What every memory of values under keys promises."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

import hilt.adapters.inmemory.memory
import hilt.adapters.memory_sqlite
from hilt.adapters.inmemory.memory import HeldMemory
from hilt.adapters.memory_sqlite import SqliteMemory
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.memory import Known, NewValue, StaleVersionError, Version, Writer
from hilt.core.redaction import Redactor
from hilt.ports.memory import KeyedMemory
from hilt.testing import ManualClock

Opened = Callable[[Path, ManualClock], HeldMemory | SqliteMemory]

REDACT = Redactor(["open sesame"]).redact
MEMORIES: dict[str, Opened] = {
    "memory": lambda _, clock: HeldMemory(clock=clock, redact=REDACT),
    "sqlite": lambda folder, clock: SqliteMemory(folder / "memory" / "m.sqlite", clock=clock, redact=REDACT),
}
ANN = Writer(session="ann")
M_CASES = json.loads((Path(__file__).parents[1] / "bugs" / "inputs" / "m_fts.json").read_text(encoding="utf-8"))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=MEMORIES)
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[KeyedMemory]:
    made = MEMORIES[request.param](tmp_path, clock)
    yield made
    if isinstance(made, SqliteMemory):
        made.close()


async def remember(
    memory: KeyedMemory, key: str, value: str, description: str = "", expected: str | None = None
) -> str:
    new = NewValue(value=value, description=description, expected=expected)
    return await memory.remember(key, new, writer=ANN)


async def found(memory: KeyedMemory, query: str, limit: int = 10) -> list[str]:
    return [known.key for known in await memory.search(query, limit=limit)]


async def value(memory: KeyedMemory, key: str) -> str | None:
    history = await memory.history(key)
    return history[-1].value if history else None


async def test_what_is_remembered_is_there_with_its_version(memory: KeyedMemory, clock: ManualClock) -> None:
    assert await remember(memory, "a/b", "one", "what") == "1"
    now = clock.now().isoformat()
    first = Version(number=1, value="one", description="what", at=now, session="ann")
    assert list(await memory.history("a/b")) == [first]
    clock.advance(1)
    review = Writer(session="bob", source="review")
    assert await memory.remember("a/b", NewValue(value="two"), writer=review) == "2"
    then = clock.now().isoformat()
    second = Version(number=2, value="two", at=then, session="bob", source="review", before=1)
    assert list(await memory.history("a/b")) == [first, second]
    assert list(await memory.history("a")) == []


@pytest.mark.parametrize("odd", ["", "\x00", "\ud800 lone", "a\r\n\u2028b", "用户", "😀", '"\\', "x" * 65_536])
async def test_any_text_is_a_value(memory: KeyedMemory, odd: str) -> None:
    await remember(memory, "k", odd, odd[:500])
    (version,) = await memory.history("k")
    assert (version.value, version.description) == (odd, odd[:500])
    assert list(await memory.keys("", limit=9)) == [Known(key="k", description=odd[:500])]


async def test_a_known_secret_is_masked_before_it_is_kept(memory: KeyedMemory) -> None:
    await remember(memory, "k", "say open sesame twice", "open sesame")
    (version,) = await memory.history("k")
    assert (version.value, version.description) == ("say [masked] twice", "[masked]")


@pytest.mark.req("BLT-79")
async def test_a_version_that_is_not_the_current_one_changes_nothing(memory: KeyedMemory) -> None:
    await remember(memory, "k", "one", expected="0")
    await remember(memory, "k", "two", expected="1")
    before = await memory.history("k")
    for expected in ("0", "1", "3", "", "x", "\ud800"):
        for change in (
            memory.remember("k", NewValue(value="three", expected=expected), writer=ANN),
            memory.forget("k", expected, writer=ANN),
            memory.undo("k", expected, writer=ANN),
        ):
            with pytest.raises(StaleVersionError, match="version 2"):
                await change
    assert list(await memory.history("k")) == list(before)


@pytest.mark.req("BLT-79")
async def test_of_writers_at_once_with_one_version_exactly_one_succeeds(memory: KeyedMemory) -> None:
    version = "0"
    for _ in range(5):
        outcomes: list[str] = []

        async def write(name: str, version: str, outcomes: list[str]) -> None:
            try:
                outcomes.append(await remember(memory, "k", name, expected=version))
            except StaleVersionError:
                outcomes.append("refused")

        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(write, f"writer {number}", version, outcomes)
        (version,) = [one for one in outcomes if one != "refused"]
        assert outcomes.count("refused") == 5


@pytest.mark.req("BLT-80")
async def test_forgetting_and_undoing(memory: KeyedMemory) -> None:
    await remember(memory, "k", "one", "first")
    await remember(memory, "k", "two")
    assert await memory.forget("k", "2", writer=ANN) == "3"
    assert await value(memory, "k") is None
    assert await found(memory, "one two first") == []
    assert list(await memory.keys("", limit=9)) == []
    assert await memory.undo("k", "3", writer=ANN) == "4"
    assert await value(memory, "k") == "two"
    assert await memory.undo("k", "4", writer=ANN) == "5"
    assert await value(memory, "k") == "one"
    assert list(await memory.search("first", limit=9)) == [Known(key="k", description="first")]
    with pytest.raises(ToolError, match="nothing is kept"):
        await memory.undo("k", "5", writer=ANN)


@pytest.mark.req("BLT-80")
async def test_ten_versions_are_kept(memory: KeyedMemory) -> None:
    for number in range(1, 13):
        await remember(memory, "k", f"v{number}")
    assert [version.value for version in await memory.history("k")] == [f"v{n}" for n in range(3, 13)]


async def test_what_was_never_there_is_named(memory: KeyedMemory) -> None:
    for change in (memory.forget("no/key", "0", writer=ANN), memory.undo("no/key", "0", writer=ANN)):
        with pytest.raises(ToolError, match="Memory not found: no/key") as caught:
            await change
        assert caught.value.code is ErrorCode.EXECUTION_FAILED


async def test_keys_are_listed_by_their_beginning_in_order(memory: KeyedMemory) -> None:
    for key in ("b", "a/b", "a", "ab", "a/a", "a-x", "a_y"):
        await remember(memory, key, "v", f"of {key}")
    assert [known.key for known in await memory.keys("a", limit=99)] == ["a", "a-x", "a/a", "a/b", "a_y", "ab"]
    assert list(await memory.keys("a/", limit=1)) == [Known(key="a/a", description="of a/a")]
    for odd in ("c", "A", "é", "\ud800", "\x00", "%", "a*", "'"):
        assert list(await memory.keys(odd, limit=9)) == []
        assert list(await memory.history(odd)) == []


async def test_key_description_and_value_are_searched(memory: KeyedMemory) -> None:
    await remember(memory, "build/test-command", "pytest -q", "How to run it")
    await remember(memory, "deploy", "make release")
    for query in ("pytest", "RUN", "test-command", "Build", "command test"):
        assert await found(memory, query) == ["build/test-command"], query
    await remember(memory, "build/test-command", "nox", "How to run it")
    assert await found(memory, "pytest") == []
    assert sorted(await found(memory, "run release")) == ["build/test-command", "deploy"]


async def test_what_has_all_words_stands_first_and_the_limit_holds(memory: KeyedMemory) -> None:
    for number in range(30):
        await remember(memory, f"noise-{chr(97 + number % 26)}{number}", "database database database")
    await remember(memory, "wanted", "a migration of the database")
    assert await found(memory, "database migration", limit=1) == ["wanted"]
    several = await found(memory, "migration database zebra", limit=7)
    assert (several[0], len(several), len(set(several))) == ("wanted", 7, 7)


@pytest.mark.parametrize("case", M_CASES["queries"], ids=lambda case: f"{case['case']} {case['q']!r}")
async def test_the_bug_cases_of_search_boxes(memory: KeyedMemory, case: dict[str, object]) -> None:
    for key, text in M_CASES["rows"].items():
        await remember(memory, key, text)
    want = case.get("want")
    got = await found(memory, str(case["q"]))
    if isinstance(want, list):
        assert got == want
    assert got == await found(memory, str(case["q"]))


ODD_QUERIES = [
    *("", " ", "\x00", "\ud800", "'", '"', '""', "*", "a*", "NEAR(a b)", "a AND", "OR", "NOT", "key:x", "{key}: x"),
    *("^a", "-a", "a - b", "(", ")", "a) OR (b", "\\", ";--", "%", "_", "?", "\u2028", "登" * 500, "a" * 100_000),
    "a b " * 25_000,
    " ".join(f"w{number}" for number in range(20_000)),
]


@pytest.mark.parametrize("query", ODD_QUERIES, ids=range(len(ODD_QUERIES)))
async def test_no_query_can_make_a_search_fail(memory: KeyedMemory, query: str) -> None:
    await remember(memory, "near", "alpha not or and")
    first = await found(memory, query)
    assert first in ([], ["near"])
    assert await found(memory, query) == first


async def test_a_secret_is_not_found_by_itself(memory: KeyedMemory) -> None:
    await remember(memory, "db/password", "hunter2", "token=abc123")
    assert await found(memory, "hunter2 abc123") == []
    assert await found(memory, "db") == ["db/password"]


async def test_a_full_memory_says_so_and_what_was_forgotten_gives_way(
    memory: KeyedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (hilt.adapters.inmemory.memory, hilt.adapters.memory_sqlite):
        monkeypatch.setattr(module, "ENTRIES_MAX", 2)
    await remember(memory, "a", "v")
    await remember(memory, "b", "v")
    with pytest.raises(ToolError, match="no room for more"):
        await remember(memory, "c", "v")
    assert await remember(memory, "a", "w") == "2"
    await memory.forget("b", "1", writer=ANN)
    await remember(memory, "c", "v")
    assert [known.key for known in await memory.keys("", limit=9)] == ["a", "c"]
    assert list(await memory.history("b")) == []


async def test_writers_of_different_keys_do_not_disturb_each_other(memory: KeyedMemory) -> None:
    async def write(number: int) -> None:
        for step in range(5):
            await remember(memory, f"k{number}", f"{step}", expected=str(step))

    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(write, number)
    histories = [await memory.history(f"k{number}") for number in range(10)]
    assert [history[-1].value for history in histories] == ["4"] * 10
    assert replace(histories[0][0], at="") == replace(histories[9][0], at="")
