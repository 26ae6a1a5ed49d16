"""MCP over the standard streams of a process: read whole, cleared of noise, reaped to the last child."""

import logging
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

import anyio
import anyio.abc
from anyio.streams.memory import MemoryObjectReceiveStream

from hilt.adapters._process import PipeReader, PipeWriter, ProcessTree, start_process
from hilt.adapters.mcp_channel import OpenStream
from hilt.adapters.mcp_wire import Inbox, encode_message, excerpt, is_message, parse_object
from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.ports.mcp import Fault, McpFault

logger = logging.getLogger(__name__)

STDERR_TAIL_BYTES: Final = 64 * 1024
STDERR_LINES: Final = 20
EXIT_WAIT_S: Final = 0.3
CLOSE_WAIT_S: Final = 2.0
QUEUE: Final = 1000
WRITE_BYTES: Final = 64 * 1024
_HEAD_BYTES: Final = 256
_BASE_NAMES: Final = frozenset({"PATH", "HOME", "USER", "SHELL", "TERM", "TZ", "LANG", "TMPDIR", "TEMP", "TMP"})
_WINDOWS_NAMES: Final = frozenset(
    {
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATHEXT",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
    }
)
_ANSWER_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,')


def child_environment(
    parent: Mapping[str, str], own: Mapping[str, str], *, windows: bool = os.name == "nt"
) -> dict[str, str]:
    """Return what a server sees: a safe base of the parent's variables, and its own, which win."""
    base = _BASE_NAMES | _WINDOWS_NAMES if windows else _BASE_NAMES
    kept = {
        name: value
        for name, value in parent.items()
        if (name.upper() if windows else name) in base or name.startswith("LC_")
    }
    return {**kept, **own}


class _Tail:
    """The last bytes of standard error."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def add(self, chunk: bytes) -> None:
        self._kept += chunk
        del self._kept[:-STDERR_TAIL_BYTES]

    def lines(self) -> str:
        text = self._kept.decode("utf-8", "replace")
        return "\n".join([line for line in text.splitlines() if line.strip()][-STDERR_LINES:])


def _with_next(line: bytes, outgoing: MemoryObjectReceiveStream[bytes]) -> bytes:
    """Return the line with those that wait behind it: each write of its own wakes the server once more."""
    lines, size = [line], len(line)
    with suppress(anyio.WouldBlock, anyio.EndOfStream):
        while size < WRITE_BYTES:
            lines.append(outgoing.receive_nowait())
            size += len(lines[-1])
    return b"".join(lines)


class StdioWire:
    """Speaks to one server process; see `Wire`.

    `on_noise` gets an excerpt of the first line that is no message.
    """

    def __init__(
        self,
        spec: McpServerSpec,
        *,
        root: Path | None,
        environment: Mapping[str, str],
        on_noise: Callable[[str], None],
        limits: McpLimits | None = None,
    ) -> None:
        self._spec = spec
        self._root = root
        self._environment = environment
        self._on_noise = on_noise
        self._max_bytes = (limits or McpLimits()).message_max_bytes
        self._tail = _Tail()
        self._gone = False
        self._ended = anyio.Event()
        self._end = "the server's process has ended"
        self._told = anyio.Event()
        self._queue, self._outgoing = anyio.create_memory_object_stream[bytes](QUEUE)

    def settle(self, *, revision: str, stateless: bool) -> None:
        """See `Wire.settle`; nothing depends on it here."""

    def forget(self, request_id: int) -> None:
        """See `Wire.forget`; a late answer is dropped by its id."""

    def standing(self) -> OpenStream | None:
        """See `Wire.standing`; standard output carries everything."""
        return None

    async def send(self, message: Mapping[str, object], headers: Mapping[str, str]) -> None:
        """See `Wire.send`."""
        if self._gone:
            # How it ended is known in a moment, and says more than that it did.
            with anyio.move_on_after(EXIT_WAIT_S):
                await self._told.wait()
            raise McpFault(Fault.NOT_SENT, self._end)
        try:
            self._queue.send_nowait(encode_message(message) + b"\n")
        except (anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise McpFault(Fault.NOT_SENT, "the server does not read its standard input") from None

    async def run(self, inbox: Inbox, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """See `Wire.run`; it ends by itself when the process does, and reaps the whole tree."""
        try:
            tree = await self._start()
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._write, tree, self._outgoing)
                    tasks.start_soon(self._keep_tail, tree)
                    tasks.start_soon(self._read, tree, inbox)
                    tasks.start_soon(self._watch, tree)
                    task_status.started()
                    await self._ended.wait()
                    await self._report(tree, inbox)
                    tasks.cancel_scope.cancel()
            finally:
                self._gone = True
                await tree.aclose(wait_s=CLOSE_WAIT_S, grace_s=CLOSE_WAIT_S)
        finally:
            self._queue.close()
            self._outgoing.close()

    async def _start(self) -> ProcessTree:
        spec = self._spec
        root = self._root or Path()
        try:
            return await start_process(
                [spec.command, *spec.args],
                cwd=root / spec.cwd if spec.cwd or self._root else None,
                env=child_environment(self._environment, spec.env),
            )
        except (OSError, ValueError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else "it is malformed"
            raise McpFault(Fault.NOT_SENT, f"cannot start the command {spec.command!r}: {reason}") from exc

    async def _write(self, tree: ProcessTree, outgoing: MemoryObjectReceiveStream[bytes]) -> None:
        stdin = cast(PipeWriter, tree.stdin)
        try:
            async for line in outgoing:
                await stdin.send(_with_next(line, outgoing))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._ended.set()

    async def _keep_tail(self, tree: ProcessTree) -> None:
        with suppress(anyio.ClosedResourceError, OSError):
            async for chunk in cast(PipeReader, tree.stderr):
                self._tail.add(chunk)

    async def _watch(self, tree: ProcessTree) -> None:
        await tree.wait()
        # What the process wrote before it ended may still be in the pipes.
        await anyio.sleep(EXIT_WAIT_S)
        self._ended.set()

    async def _read(self, tree: ProcessTree, inbox: Inbox) -> None:
        try:
            with suppress(anyio.ClosedResourceError, OSError):
                await self._lines(cast(PipeReader, tree.stdout), inbox)
        except Exception:
            # A message that cannot be taken ends this server, never the program.
            logger.exception("mcp_stdio_reader_failed server=%s", self._spec.name)
        self._ended.set()

    async def _lines(self, stdout: PipeReader, inbox: Inbox) -> None:
        pending = bytearray()
        too_long = False
        async for chunk in stdout:
            *complete, rest = chunk.split(b"\n")
            for piece in complete:
                pending += piece
                if not too_long:
                    await self._line(bytes(pending), inbox)
                pending.clear()
                too_long = False
            if not too_long:
                pending += rest
            if len(pending) > self._max_bytes:
                await self._overlong(bytes(pending[:_HEAD_BYTES]), inbox)
                pending.clear()
                too_long = True

    async def _line(self, raw: bytes, inbox: Inbox) -> None:
        if len(raw) > self._max_bytes:
            await self._overlong(raw[:_HEAD_BYTES], inbox)
            return
        message = await parse_object(raw)
        if message is not None and is_message(message):
            await inbox.deliver(message)
        elif raw.strip(b" \t\r\xef\xbb\xbf"):
            self._on_noise(excerpt(raw))

    async def _overlong(self, head: bytes, inbox: Inbox) -> None:
        fault = McpFault(Fault.PROTOCOL, f"the message is longer than {self._max_bytes} bytes")
        found = _ANSWER_ID.match(head)
        if found:
            await inbox.fail(int(found.group(1)), fault)
        else:
            await inbox.fail_all(fault)

    async def _report(self, tree: ProcessTree, inbox: Inbox) -> None:
        """Tell why it is over: the exit code, where there is one, and the end of standard error."""
        self._gone = True
        with anyio.move_on_after(EXIT_WAIT_S):
            await tree.wait()
        code = tree.returncode
        if code is None:
            text = "the server closed its standard input or output"
        elif code < 0:
            text = f"the server was ended by signal {-code}"
        else:
            text = f"the server exited with code {code}"
        said = self._tail.lines()
        self._end = f"{text}; it said: {said}" if said else text
        self._told.set()
        await inbox.lost(McpFault(Fault.CUT, self._end))
