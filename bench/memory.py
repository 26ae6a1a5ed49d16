"""A memory of 100,000 entries: searching it, changing it and opening it, beside SQLite's full-text search used plainly.

The peer is the table that one writes first: FTS5 with its own tokenizer over the same texts, asked with the words in
quotes and the same order. It finds no part of a sentence without spaces, and gives no versions. Searches are counted in
processor time, changes by the clock.
"""

import asyncio
import json
import random
import sqlite3
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import hilt
from bench.figures import Figure, Options, number
from hilt.adapters.memory_sqlite import SqliteMemory
from hilt.core.earlier import EarlierMessage
from hilt.core.memory import NewValue, Version, Writer
from hilt.core.memory_text import words
from hilt.core.passage import passages

REQ = ()

ENTRIES = 100_000
MESSAGES = 10_000
P99_RATIO = 3.0
CHANGE_MS = 50.0
VOCABULARY = 20_000
WORDS_A_VALUE = 30
LIMIT = 10


def measure(options: Options) -> list[Figure]:
    """Return the figures."""
    entries = options.times(ENTRIES, 1_000)
    texts = list(_texts(entries))
    queries = _queries(options.times(200, 20))
    with TemporaryDirectory() as folder:
        plain = _plain(Path(folder) / "plain.sqlite", texts)
        theirs = sorted(_timed(partial(_ask, plain, query)) for query in queries)
        plain.close()
        file = Path(folder) / "memory" / "m.sqlite"
        opened_s, mine, change_s = asyncio.run(_memory(file, texts, queries))
    messages = [
        EarlierMessage(number=at, role="user", text=text)
        for at, text in enumerate(texts[: options.times(MESSAGES, 200)], start=1)
    ]
    find = partial(passages, messages, limit=5, max_chars=4_000)
    earlier = sorted(_timed(partial(find, query)) for query in queries)
    p99, plain_p99 = _p99(mine), _p99(theirs)
    return [
        Figure(
            what=f"memory of {entries:,} entries: search, p99 / plain FTS5",
            value=p99 / plain_p99,
            unit="x",
            limit=P99_RATIO,
            beside=f"{number(p99 * 1e3)} ms against {number(plain_p99 * 1e3)} ms; "
            f"p50 {number(statistics.median(mine) * 1e3)} against {number(statistics.median(theirs) * 1e3)} ms",
        ),
        Figure(
            what=f"memory of {entries:,} entries: one change, median",
            value=change_s * 1e3,
            unit="ms",
            limit=CHANGE_MS,
            beside=f"on stable storage; opening and checking the file {number(opened_s * 1e3)} ms",
        ),
        Figure(
            what=f"memory_search over {len(messages):,} messages: p99",
            value=_p99(earlier) * 1e3,
            unit="ms",
            beside=f"p50 {number(statistics.median(earlier) * 1e3)} ms; read anew each time, without an index",
        ),
    ]


def _texts(count: int) -> Iterator[str]:
    """Yield made-up texts whose words are as uneven as those of a language: the commonest is in most of them."""
    source = random.Random(20261130)
    for _ in range(count):
        yield " ".join(f"w{int(VOCABULARY ** source.random())}" for _ in range(WORDS_A_VALUE))


def _queries(count: int) -> Sequence[str]:
    source = random.Random(4711)
    return [
        " ".join(f"w{int(VOCABULARY ** source.random())}" for _ in range(source.randint(1, 4))) for _ in range(count)
    ]


def _timed(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _p99(times: Sequence[float]) -> float:
    return times[min(int(len(times) * 0.99), len(times) - 1)]


def _plain(path: Path, texts: Sequence[str]) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("CREATE VIRTUAL TABLE rows USING fts5 (key, description, value)")
    database.execute("BEGIN")
    database.executemany("INSERT INTO rows VALUES (?, ?, ?)", ((f"k/n{at}", "", text) for at, text in enumerate(texts)))
    database.execute("COMMIT")
    return database


def _ask(database: sqlite3.Connection, query: str) -> object:
    quoted = [f'"{word}"' for word in query.split()]
    order = "SELECT key, description FROM rows WHERE rows MATCH ? ORDER BY bm25(rows, 4.0, 2.0, 1.0) LIMIT ?"
    found = database.execute(order, (" AND ".join(quoted), LIMIT)).fetchall()
    if len(found) < LIMIT and len(quoted) > 1:
        found += database.execute(order, (" OR ".join(quoted), LIMIT)).fetchall()
    return found


async def _memory(file: Path, texts: Sequence[str], queries: Sequence[str]) -> tuple[float, list[float], float]:
    """Return seconds of opening, of each search in order, and of a change."""
    memory = SqliteMemory(file, clock=hilt.SystemClock())
    writer = Writer(session="bench")
    await memory.remember("k/n0", NewValue(value="makes the file"), writer=writer)
    memory.close()
    _fill(file, texts)
    opened = await _awaited(partial(memory.history, "k/n1"))
    searches = [await _awaited(partial(memory.search, query, limit=LIMIT)) for query in queries]
    changes = [
        await _awaited(partial(memory.remember, f"k/n{at}", NewValue(value=texts[0]), writer=writer), time.perf_counter)
        for at in range(1, 21)
    ]
    memory.close()
    return opened, sorted(searches), statistics.median(changes)


async def _awaited(work: Callable[[], Awaitable[object]], clock: Callable[[], float] = time.process_time) -> float:
    begun = clock()
    await work()
    return clock() - begun


def _fill(file: Path, texts: Sequence[str]) -> None:
    """Write the entries as `SqliteMemory` does, in one transaction instead of one each."""
    database = sqlite3.connect(file, isolation_level=None)
    database.execute("BEGIN")
    for id_, text in enumerate(texts[1:], start=2):
        key = f"k/n{id_ - 1}"
        history = json.dumps([asdict(Version(number=1, value=text))])
        database.execute("INSERT INTO entries VALUES (?, ?, '\"\"', ?)", (id_, key, history))
        row = (id_, " ".join(words(key)), " ".join(words(text)))
        database.execute("INSERT INTO words (rowid, key, value) VALUES (?, ?, ?)", row)
    database.execute("COMMIT")
    database.close()
