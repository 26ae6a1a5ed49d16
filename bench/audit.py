"""An audit record in a JSON-lines store: made, masked, hashed, encoded and written, but never waited for on disk."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import hilt
from bench.figures import Figure, Options, number
from bench.timing import Spread, batches
from hilt.adapters.store_jsonl.store import JsonlStore
from hilt.core.redaction import Redactor

REQ = ("SES-34",)

LIMIT_US = 200.0
AIM_US = 8.0
CALL = hilt.ToolCall(
    "call_abc123",
    "mcp__github__create_issue",
    json.dumps({"owner": "acme", "repo": "widgets", "title": "Crash when the list is empty", "body": "Steps: " * 40}),
)
RESULT = hilt.ToolResult.text("call_abc123", "created issue 17\n" * 20)
DETAIL = {"mode": "default", "decision": "allow", "rule": "allow mcp__github__* [user]", "hooks": ["look"]}


def measure(options: Options) -> list[Figure]:
    """Return the cost of one record, beside the least that encoding and appending cost."""
    count, size = options.times(40, 2), options.times(500, 20)
    with TemporaryDirectory() as folder:
        store = JsonlStore(Path(folder), clock=hilt.SystemClock(), redactor=Redactor(["no-real-secret"]))

        async def record() -> None:
            await store.calls.tool_call("ses_1", CALL, RESULT, 0.00125, 0.1834, detail=DETAIL)

        spread = asyncio.run(_batches(record, count=count, size=size))
        store.close()
        floor = _floor(Path(folder) / "floor", count=count, size=size)
    us = spread.median * 1e6
    return [
        Figure(
            what="audit record, JSON-lines store",
            value=us,
            unit="µs",
            limit=LIMIT_US,
            aim=AIM_US,
            beside=f"{spread.median / floor.median:.1f} x json.dumps + os.write; best {number(spread.best * 1e6)}",
        )
    ]


async def _batches(work: Callable[[], Awaitable[None]], *, count: int, size: int) -> Spread:
    async def batch() -> float:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        for _ in range(size):
            await work()
        return (loop.time() - begun) / size

    await batch()
    return Spread.of([await batch() for _ in range(count)])


def _floor(path: Path, *, count: int, size: int) -> Spread:
    """Time the encoding of a record like it by the standard library and one append."""
    record = {"id": CALL.id, "tool": CALL.name, "args": CALL.args, "took": 0.1834, **DETAIL}
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def work(times: int) -> None:
        for _ in range(times):
            os.write(file, json.dumps(record).encode() + b"\n")

    try:
        return batches(work, count=count, size=size)
    finally:
        os.close(file)
