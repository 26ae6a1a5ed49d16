"""Runs a program to its end and keeps a bounded part of what it writes."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio

from hilt.adapters._process.pipe import PipeReader, PipeWriter
from hilt.adapters._process.tree import GONE_S, GRACE_S, ProcessTree, Stream, start_process

KEPT_BYTES: Final = 1024 * 1024
DRAIN_S: Final = 0.5
CANCEL_GRACE_S: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is kept of a stream: all, or its first and last half with `dropped` bytes between them."""

    content: bytes = b""
    dropped: int = 0


class HeadTail:
    """Takes a stream of any length and keeps `limit_bytes` of it, half from its start, half from its end."""

    def __init__(self, limit_bytes: int) -> None:
        self._half = limit_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        if len(self._tail) > 4 * self._half:
            self._trim()

    def _trim(self) -> None:
        over = len(self._tail) - self._half
        if over > 0:
            self._dropped += over
            del self._tail[:over]

    def kept(self) -> Kept:
        """Return what is kept so far."""
        self._trim()
        return Kept(content=bytes(self._head + self._tail), dropped=self._dropped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A program that ran to its end; `returncode` is negative for a signal, None if nobody knows."""

    returncode: int | None
    stdout: Kept
    stderr: Kept
    timed_out: bool = False


async def run_process(
    argv: Sequence[str],
    *,
    timeout_s: float,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    keep_bytes: tuple[int, int] = (KEPT_BYTES, KEPT_BYTES),
) -> Completed:
    """Run a program to its end and keep `keep_bytes` of its stdout and stderr; None gives it an empty stdin.

    At `timeout_s` the tree gets TERM, two seconds later KILL. When the program ends its descendants are
    killed and the streams are read for at most half a second more. When the caller is cancelled the tree is
    ended within a quarter of a second.

    Raises:
        OSError: It cannot be started.
    """
    source: Stream = "null" if stdin is None else "pipe"
    tree = await start_process(argv, cwd=cwd, env=env, streams=(source, "pipe", "pipe"))
    return await follow(tree, (HeadTail(keep_bytes[0]), HeadTail(keep_bytes[1])), timeout_s=timeout_s, stdin=stdin)


async def follow(
    tree: ProcessTree, sinks: tuple[HeadTail, HeadTail], *, timeout_s: float, stdin: bytes | None = None
) -> Completed:
    """See a started program to its end as `run_process` does; `sinks` fill with stdout and stderr as it runs."""
    timed_out = False
    try:
        async with anyio.create_task_group() as group:
            drained = [anyio.Event(), anyio.Event()]
            for stream, sink, event in zip((tree.stdout, tree.stderr), sinks, drained, strict=True):
                group.start_soon(_collect, stream, sink, event)
            group.start_soon(_feed, tree.stdin, stdin)
            with anyio.move_on_after(timeout_s):
                await tree.wait()
            timed_out = tree.running
            if timed_out:
                tree.end(GRACE_S)
                with anyio.move_on_after(GRACE_S + GONE_S):
                    await tree.wait()
            with anyio.move_on_after(DRAIN_S):
                for event in drained:
                    await event.wait()
            group.cancel_scope.cancel()
    except BaseException:
        await tree.aclose(grace_s=CANCEL_GRACE_S)
        raise
    await tree.aclose(grace_s=GRACE_S)
    return Completed(returncode=tree.returncode, stdout=sinks[0].kept(), stderr=sinks[1].kept(), timed_out=timed_out)


async def _collect(stream: PipeReader | None, sink: HeadTail, drained: anyio.Event) -> None:
    if stream is not None:
        async for chunk in stream:
            sink.add(chunk)
    drained.set()


async def _feed(stream: PipeWriter | None, content: bytes | None) -> None:
    if stream is not None:
        with contextlib.suppress(anyio.BrokenResourceError):
            await stream.send(content or b"")
        stream.close()
