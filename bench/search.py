"""Tool search: how good and how fast, beside plain BM25 on the same machine.

`python -m bench.search [--short] [--json FILE]` prints all of it; `python -m bench search` holds it against limits.
"""

import argparse
import functools
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import anyio

from bench.figures import Figure, Options, number
from bench.search_plain import PlainIndex
from bench.search_sets import CUTS, SETS, Find, Item, Quality, Query, load_queries, load_tools, others, padded, quality
from hilt.core.search import Likeness, SearchIndex
from hilt.core.search_query import parse_query
from hilt.ports.search import Embedder

REQ = ("SRC-38", "SRC-39", "SRC-40", "SRC-41", "SRC-43")

ROOT = Path(__file__).parent.parent
SIZES = (500, 5_000, 50_000)
LIMITS = {500: (0.2, 1.0, 0.1, 10), 5_000: (0.6, 3.0, 0.8, 50), 50_000: (6.0, 30.0, 8.0, 400)}
RANKERS = ("hilt", "plain BM25")
WITH_VECTORS = ("hilt, static", "hilt, sentence")
WORDS = 4
ANSWER = 5


@dataclass(frozen=True, slots=True)
class Cost:
    """What an index of a size costs: times in ms, building in seconds of one processor, memory in MiB."""

    ranker: str
    tools: int
    p50_ms: float
    p99_ms: float
    long_p50_ms: float
    build_s: float
    memory_mib: float


@dataclass(frozen=True, slots=True)
class Reached:
    """What a ranking reaches on a set among so many tools; `tokens` are those of an answer with five tools."""

    ranker: str
    set: str
    tools: int
    quality: Quality
    tokens: float


def build(ranker: str, items: Sequence[Item]) -> Find:
    """Return the ranking over the tools."""
    if ranker == "hilt":
        index = SearchIndex(item.document() for item in items)
        return lambda text: index.find(parse_query(text), limit=10)
    return PlainIndex(items).find if ranker == "plain BM25" else _joined(_embedder(ranker), items)


def _embedder(ranker: str) -> Embedder:
    """Return the embedder of a ranking; loaded late, for a process that measures memory has neither."""
    if ranker == "hilt, static":
        from hilt.adapters.embedder_static import StaticEmbedder

        return StaticEmbedder()
    from hilt.adapters.embedder_onnx import OnnxEmbedder

    return OnnxEmbedder()


def _joined(embedder: Embedder, items: Sequence[Item]) -> Find:
    documents = [item.document() for item in items]
    index, vectors = SearchIndex(documents), embedder.vectors()
    anyio.run(vectors.add, [embedder.text(document) for document in documents])

    @functools.cache
    def find(text: str) -> Sequence[str]:
        likeness = Likeness(anyio.run(vectors.likeness, text), embedder.share)
        return index.find(parse_query(text), limit=10, likeness=likeness)

    return find


def reached(ranker: str, name: str, size: int = 0) -> Reached:
    """Measure a ranking on a set, padded to `size` tools."""
    items = load_tools(name)
    items += padded(max(size - len(items), 0), sources=others(name))
    find, queries = build(ranker, items), load_queries(name)
    by_id = {item.id: item for item in items}
    tokens = [_tokens([by_id[id_] for id_ in list(find(query.text))[:ANSWER]]) for query in queries]
    return Reached(ranker, name, len(items), quality(find, queries), statistics.fmean(tokens))


def _tokens(items: Sequence[Item]) -> float:
    shown = [{"name": item.name, "description": item.description, "schema": item.schema} for item in items]
    return len(json.dumps(shown, ensure_ascii=False).encode()) / 4


def cost(ranker: str, size: int) -> Cost:
    """Measure an index of made-up tools in a process of its own."""
    command = [sys.executable, "-m", "bench.search", "--cell", ranker, "--size", str(size)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def _cell(ranker: str, size: int) -> Cost:
    items = padded(size)
    queries = [query.text for name in SETS for query in load_queries(name)[:70]]
    gc.collect()
    before = _resident_mib()
    begun = time.process_time()
    find = build(ranker, items)
    built = time.process_time() - begun
    gc.collect()
    memory = max(_resident_mib() - before, 0.0)
    short = _times(find, [" ".join(query.split()[:WORDS]) for query in queries])
    long = _times(find, queries)
    last = short[min(int(len(short) * 0.99), len(short) - 1)]
    return Cost(ranker, size, statistics.median(short), last, statistics.median(long), built, memory)


def _times(find: Find, queries: Sequence[str]) -> list[float]:
    """Return the sorted times of the queries in ms, each the better of three."""

    def one(query: str) -> float:
        begun = time.perf_counter()
        find(query)
        return (time.perf_counter() - begun) * 1e3

    return sorted(min(one(query) for _ in range(3)) for query in queries)


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def halves(name: str) -> tuple[Quality, Quality]:
    """Return what the built-in ranking reaches on each half of a set's queries: the split-half check."""
    find, queries = build("hilt", load_tools(name)), load_queries(name)
    return quality(find, queries[::2]), quality(find, queries[1::2])


def exact(size: int) -> float:
    """Return the share of tools that are first when their id is the query."""
    items = [*load_tools("steps"), *padded(size)]
    index = SearchIndex(item.document() for item in items)
    asked: list[Query] = [Query(item.id, frozenset([item.id])) for item in items[:: max(len(items) // 500, 1)]]
    return quality(lambda text: index.find(parse_query(text), limit=10), asked).at(1)


def measure(options: Options) -> list[Figure]:
    """Return the figures that have limits."""
    figures = []
    for size in SIZES[: options.times(3, 1)]:
        mine, plain = (cost(ranker, size) for ranker in RANKERS)
        p50, p99, built, memory = LIMITS[size]
        for what, value, unit, limit, beside in (
            ("p50", mine.p50_ms, "ms", p50, plain.p50_ms),
            ("p99", mine.p99_ms, "ms", p99, plain.p99_ms),
            ("build", mine.build_s, "s", built, plain.build_s),
            ("memory", mine.memory_mib, "MiB", memory, plain.memory_mib),
        ):
            figures.append(
                Figure(
                    what=f"tool search, {size:,} tools: {what}",
                    value=value,
                    unit=unit,
                    limit=limit,
                    beside=f"plain BM25 {number(beside)} {unit}",
                )
            )
    return figures


def report(options: Options) -> tuple[list[Reached], list[Cost]]:
    """Return everything: each set alone, *steps* padded, and each size."""
    sizes = SIZES[: options.times(3, 1)]
    qualities = [reached(ranker, name) for name in SETS for ranker in (*RANKERS, *WITH_VECTORS)]
    qualities += [reached(ranker, "steps", size) for size in sizes[1:] for ranker in RANKERS]
    return qualities, [cost(ranker, size) for size in sizes for ranker in RANKERS]


def _text(qualities: Sequence[Reached], costs: Sequence[Cost]) -> str:
    cuts = " | ".join(f"R@{cut}" for cut in CUTS)
    lines = [
        f"| set | tools | ranking | {cuts} | complete@5 | MRR | nDCG@10 | tokens an answer |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in qualities:
        found = one.quality
        values = (*found.recall, found.complete, found.mrr, found.ndcg)
        cells = " | ".join(f"{value:.3f}" for value in values)
        lines.append(f"| {one.set} | {one.tools:,} | {one.ranker} | {cells} | {one.tokens:.0f} |")
    lines += [
        "",
        "| tools | ranking | p50 ms | p99 ms | p50 of whole sentences ms | build s | memory MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in costs:
        cells = " | ".join(
            number(value) for value in (each.p50_ms, each.p99_ms, each.long_p50_ms, each.build_s, each.memory_mib)
        )
        lines.append(f"| {each.tools:,} | {each.ranker} | {cells} |")
    return "\n".join(lines)


def _cuts(found: Quality) -> str:
    return " / ".join(f"{found.at(cut):.3f}" for cut in (1, 5, 10))


def main() -> int:
    """Print all figures, or one cell for the process that asked for it."""
    parser = argparse.ArgumentParser(prog="python -m bench.search", description="Measure tool search.")
    parser.add_argument("--short", action="store_true", help="the smallest size only")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--cell", choices=RANKERS, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=500, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cell:
        print(json.dumps(asdict(_cell(given.cell, given.size))))
        return 0
    qualities, costs = report(Options(short=given.short))
    print(_text(qualities, costs))
    for name in SETS:
        first, second = halves(name)
        print(f"{name}, each half of the queries: R@1/5/10 {_cuts(first)} and {_cuts(second)}")
    sizes = (500,) if given.short else SIZES
    print("exact names first:", ", ".join(f"{size:,} tools {exact(size):.3f}" for size in sizes))
    if given.json:
        body = {"quality": [asdict(one) for one in qualities], "cost": [asdict(one) for one in costs]}
        given.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
