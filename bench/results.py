"""Shaping results of three sizes, outlining 20 MiB, and filters: each beside `json.loads` of the same bytes."""

import asyncio
import gc
import json
import statistics
import time
from collections.abc import Callable

from bench.figures import Figure, Options, number
from hilt.adapters.query_jq.query import JqQuery, jq_library
from hilt.core.json_reader import read_shape
from hilt.core.origin import Origin
from hilt.core.outline import outline
from hilt.core.shaping import shape
from hilt.core.tool import ToolResult

REQ = ("RES-24", "RES-37", "RES-53")

MIB = 1024 * 1024
SIZES = (("25 kB", 24_900), ("1 MB", 1_000_000), ("20 MiB", 20 * MIB - 64))
UNDER_CAP_US = 50.0
REFUSED_S = 2.0
SMALL_FILTER_MS = 5.0
FAR = Origin(tool="mcp__far__list", remote=True, server="far", server_tool="list", filters=True)


def measure(options: Options) -> list[Figure]:
    """Return the cost of shaping text and JSON, of outlines and of filters."""
    figures = []
    for label, size in SIZES:
        sent, plain = rows(size), lines(size)
        parse = best(lambda sent=sent: json.loads(sent), options)  # type: ignore[misc]  # a default binds the text of this round
        for kind, text in (("text", plain), ("JSON", sent)):
            cost = best(lambda text=text: shaped(text), options)  # type: ignore[misc]  # a default binds the text
            figures.append(_shaping(f"shape {label} of {kind}", cost, parse, under_cap=size < 25_000))
        if size > MIB:
            cost = best(lambda sent=sent: outlined(sent), options)  # type: ignore[misc]  # a default binds the text
            figures.append(
                Figure(what=f"outline {label} of JSON", value=cost, unit="s", limit=REFUSED_S, beside=than(cost, parse))
            )
    return [*figures, *asyncio.run(_filters(options))]


def _shaping(what: str, cost: float, parse: float, *, under_cap: bool) -> Figure:
    if under_cap:
        return Figure(what=what, value=cost * 1e6, unit="µs", limit=UNDER_CAP_US, beside=than(cost, parse))
    return Figure(what=what, value=cost * 1e3, unit="ms", limit=REFUSED_S * 1e3, beside=than(cost, parse))


async def _filters(options: Options) -> list[Figure]:
    library = jq_library()
    if not library:
        return []
    query = JqQuery(library)
    small, large = '{"a": 1}', rows(SIZES[-1][1])
    try:
        await query.run(".a", small)
        costs = []
        for _ in range(options.times(300, 3)):
            began = time.perf_counter()
            await query.run(".a", small)
            costs.append(time.perf_counter() - began)
        began = time.perf_counter()
        await query.run("length", large)
        whole = time.perf_counter() - began
    finally:
        await query.close()
    median = statistics.median(costs)
    parse = best(lambda: json.loads(large), options)
    return [
        Figure(
            what="small jq filter, median",
            value=median * 1e3,
            unit="ms",
            limit=SMALL_FILTER_MS,
            beside=than(median, best(lambda: json.loads(small), options)),
        ),
        Figure(what="jq filter over 20 MiB", value=whole, unit="s", beside=than(whole, parse)),
    ]


def rows(size: int) -> str:
    """Return JSON rows of about so many bytes."""
    row = json.dumps({"id": 123456, "name": "somebody", "tags": ["a", "b"], "at": 1.5, "more": None})
    return "[" + ",".join([row] * max((size - 2) // (len(row) + 1), 1)) + "]"


def lines(size: int) -> str:
    """Return lines of text of so many bytes."""
    return ("a line of a log that somebody may want to read\n" * (size // 47 + 1))[:size]


def shaped(text: str) -> None:
    """Shape a result of a server."""
    shape(ToolResult("c", text), keep=lambda text, structured=None: "r1-0123456789abcdef", origin=FAR)


def outlined(text: str) -> None:
    """Detect JSON and outline it."""
    found = read_shape(text)
    if found is not None:
        outline(found)


def best(work: Callable[[], object], options: Options) -> float:
    """Return the seconds of the quickest of some runs."""
    found = []
    for _ in range(options.times(5)):
        gc.collect()
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def than(cost: float, parse: float) -> str:
    """Return the cost beside that of parsing the same bytes."""
    return f"{number(cost / parse)} x json.loads"
