"""A process that runs one session again and again, each time in a fork that kills itself at a given point.

`python -m tests.flows.kill_child` reads lines `FOLDER KIND NUMBER` and answers each with the fork's exit: a signal
as a negative number. KIND is `event` (at the event of that number), `before`, `torn` or `after` (at the store's
operation of that number), or `none` (run to the end; the folder's `totals` then has the numbers of both).
"""

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio

from hilt import VIA_SESSION, build
from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.store_jsonl import JsonlStore
from hilt.core.event import AskOpened, Event
from hilt.core.host_rules import allow, ask
from hilt.core.session import SessionId
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.session import Session
from hilt.ports.tool import Environment
from hilt.testing import ScriptedModel

ID = "killed"
# Kept before anything is wrapped: what the fork itself writes is no operation of the store.
_write = os.write
_OPERATIONS = ("write", "fsync", "fdatasync", "replace", "link")

RULES = [allow("Change"), ask("Risky")]


def answers() -> list[Mapping[str, object]]:
    """Return the script: reads, changes, a large result, a person who is asked."""
    return [
        {
            "text": "I look and change.",
            "calls": [
                {"id": "look", "name": "Look", "args": {}},
                {"id": "large", "name": "Look", "args": {"lines": 20_000}},
                {"id": "change", "name": "Change", "args": {}},
                {"id": "again", "name": "Change", "args": {}},
            ],
        },
        {
            "calls": [
                {"id": "peek", "name": "Look", "args": {}},
                {"id": "risky", "name": "Risky", "args": {}},
            ]
        },
        {"calls": [{"id": "last", "name": "Change", "args": {}}]},
        {"text": "All done."},
    ]


class Look:
    """Reads: answers with lines."""

    read_only = True
    spec = ToolSpec("Look", "Look at lines.", {"type": "object", "properties": {"lines": {"type": "integer"}}})

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return as many lines as asked for."""
        lines = call.arguments.get("lines", 1)
        return ToolResult.text(call.id, "seen\n" * (lines if isinstance(lines, int) else 1))


class Change:
    """Changes: adds the call's id to a file outside of the store."""

    read_only = False

    def __init__(self, name: str, file: Path) -> None:
        self.spec = ToolSpec(name, "Change something.", {"type": "object"})
        self._file = file

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Leave a trace."""
        note(self._file, call.id)
        return ToolResult.text(call.id, "changed")


def tools(folder: Path) -> list[Look | Change]:
    """Return the tools of a folder's session."""
    return [Look(), Change("Change", folder / "effects"), Change("Risky", folder / "effects")]


def note(file: Path, line: str) -> None:
    """Add a line to a file by one write."""
    fd = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    _write(fd, f"{line}\n".encode())
    os.close(fd)


class Acknowledging:
    """An event log that notes the numbers of the events which the store says it has."""

    def __init__(self, inner: JsonlStore, file: Path) -> None:
        self.sessions, self.calls, self.events = inner.sessions, inner.calls, self
        self._inner = inner
        self._file = file

    async def append(self, session_id: SessionId, events: Sequence[Event], *, durable: bool = False) -> None:
        """See `EventLog.append`."""
        await self._inner.events.append(session_id, events, durable=durable)
        note(self._file, "\n".join(str(event.seq) for event in events))

    async def read(self, session_id: SessionId, *, after: int = 0) -> Sequence[Mapping[str, object]]:
        """See `EventLog.read`."""
        return await self._inner.events.read(session_id, after=after)

    async def delete(self, session_id: SessionId) -> None:
        """See `EventLog.delete`."""
        await self._inner.events.delete(session_id)

    def close(self) -> None:
        """Give the store back."""
        self._inner.close()


class Killer:
    """Counts events and operations of the store, and kills the process at one of them."""

    def __init__(self, kind: str, number: int) -> None:
        self._kind = kind
        self._number = number
        self.events = 0
        self.operations = 0

    def event(self, event: Event) -> None:
        """Receive an event."""
        self.events += 1
        if self._kind == "event" and self.events == self._number:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """Put this in the way of what a store does to a disk."""
        for name in _OPERATIONS:
            setattr(os, name, self._wrapped(getattr(os, name)))

    def _wrapped(self, operation: Callable[..., object]) -> Callable[..., object]:
        def at(*args: object, **kwargs: object) -> object:
            self.operations += 1
            if self.operations != self._number or self._kind not in ("before", "torn", "after"):
                return operation(*args, **kwargs)
            if self._kind == "torn" and operation is _write:
                fd, content = args
                assert isinstance(fd, int)
                assert isinstance(content, bytes)
                _write(fd, content[: len(content) // 2])
            if self._kind == "after":
                operation(*args, **kwargs)
            os.kill(os.getpid(), signal.SIGKILL)
            return None

        return at


async def session_of(folder: Path, killer: Killer) -> None:
    """Run the whole script in a session of the folder, answering its ask."""
    store = Acknowledging(JsonlStore(folder / "store", clock=FixedClock()), folder / "acknowledged")
    model = ScriptedModel(answers())
    async with build(
        workspace=folder,
        store=store,
        model=model,
        tools=tools(folder),
        rules=RULES,
        approver=VIA_SESSION,
        on_event=killer.event,
    ) as app:
        session = await app.sessions.create(id=ID)
        note(folder / "acknowledged", "created")
        await read_on(session)


async def read_on(session: Session) -> None:
    """Prompt and read to the end."""
    async with session.prompt("go") as run:
        async for event in run:
            if isinstance(event.body, AskOpened):
                await session.approve(event.body.ask_id, "allow_once")


def in_fork(folder: Path, kind: str, number: int) -> int:
    """Run one session in a fork and return how it ended."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    status = 1
    try:
        folder.mkdir()
        killer = Killer(kind, number)
        killer.watch()
        anyio.run(session_of, folder, killer)
        note(folder / "totals", f"{killer.events} {killer.operations}")
        status = 0
    finally:
        os._exit(status)


def main() -> None:
    """Answer the lines of standard input."""
    for line in sys.stdin:
        folder, kind, number = line.rsplit(maxsplit=2)
        print(in_fork(Path(folder), kind, int(number)), flush=True)


if __name__ == "__main__":
    main()
