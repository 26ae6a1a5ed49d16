"""Writes to a store, for tests that kill it or let two of it run: `store_writer.py DIR KIND NAME SIZE TIMES`.

Each line on standard output is a number that the store has acknowledged.
"""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import anyio

from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.store_jsonl import JsonlStore
from hilt.core.event import Event, Notice
from hilt.core.session import SessionId, SessionRecord, UserMessage
from hilt.core.tool import ToolCall, ToolResult

SESSION = SessionId("ses_shared")


async def save(store: JsonlStore, name: str, size: int) -> Callable[[int], Awaitable[None]]:
    current = await store.sessions.load(SESSION) or SessionRecord(id=SESSION, created_at="2026")

    async def step(number: int) -> None:
        nonlocal current
        messages = tuple(UserMessage(text=f"{number} " + "x" * size) for _ in range(3))
        current = await store.sessions.save(replace(current, title=str(number), messages=messages))

    return step


async def events(store: JsonlStore, name: str, size: int) -> Callable[[int], Awaitable[None]]:
    async def step(number: int) -> None:
        body = Notice(topic=name, text="x" * size)
        await store.events.append(SESSION, [Event(seq=number, run=name, turn=1, time="t", body=body)])

    return step


async def calls(store: JsonlStore, name: str, size: int) -> Callable[[int], Awaitable[None]]:
    async def step(number: int) -> None:
        call = ToolCall(f"{name}{number}", "Read", arguments={"n": number})
        await store.calls.tool_call(SESSION, call, ToolResult(call.id, "x" * size), 0, 0, detail={})

    return step


KINDS = {"save": save, "events": events, "calls": calls}


async def main(*args: str) -> None:
    directory, kind, name, size, times = args
    store = JsonlStore(Path(directory), clock=FixedClock())
    step = await KINDS[kind](store, name, int(size))
    for number in range(1, int(times) + 1):
        await step(number)
        print(number, flush=True)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
