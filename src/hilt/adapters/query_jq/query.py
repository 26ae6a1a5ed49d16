"""Keeps jq workers at hand and puts filters to them; one that passes its deadline is killed and replaced."""

import importlib.util
import struct
import sys
from pathlib import Path
from typing import Final

import anyio

from hilt.adapters._process import ProcessTree, start_process
from hilt.ports.query import DEADLINE_S, INPUT_MAX_BYTES, MEMORY_MAX_BYTES, QueryFailedError

WAIT_MAX_S: Final = 30.0

_WORKER: Final = str(Path(__file__).with_name("worker.py"))
_REQUEST: Final = struct.Struct(">II")
_ANSWER: Final = struct.Struct(">cI")
_COMPILE_ONLY: Final = 0xFFFFFFFF
_IDLE_MAX: Final = 2
_AT_ONCE_MAX: Final = 4
_PROGRAM_MAX_BYTES: Final = 65_536
_SPAWN_S: Final = 10.0
_CHUNK_BYTES: Final = 1024 * 1024
# Its own word, and the signals by which the library ends for want of memory or stack.
_NO_MEMORY: Final = frozenset({3, -6, -11})


def jq_library(platform: str = sys.platform) -> str:
    """Return the file of the jq library, "" where it, or the limits that its worker needs, cannot be had."""
    if platform == "win32" or importlib.util.find_spec("resource") is None:
        return ""
    spec = importlib.util.find_spec("jq")
    return spec.origin or "" if spec is not None else ""


class JqQuery:
    """See `JsonQuery`. At most four workers run at once, two stay at hand; the first is started by the first use."""

    def __init__(
        self,
        library: str,
        *,
        deadline_s: float = DEADLINE_S,
        wait_s: float = WAIT_MAX_S,
        memory_bytes: int = MEMORY_MAX_BYTES,
    ) -> None:
        self._library = library
        self._wait_s = wait_s
        self._deadline_s = deadline_s
        self._memory_bytes = memory_bytes
        self._idle: list[ProcessTree] = []
        self._places = anyio.Semaphore(_AT_ONCE_MAX)
        self._closed = False

    async def check(self, program: str) -> None:
        """See `JsonQuery.check`."""
        await self._ask(program, None)

    async def run(self, program: str, text: str) -> str:
        """See `JsonQuery.run`."""
        if len(text) > INPUT_MAX_BYTES or len(raw := text.encode("utf-8", "replace")) > INPUT_MAX_BYTES:
            raise QueryFailedError("the JSON is over the limit of 20 MiB for a filter's input")
        return (await self._ask(program, raw)).decode()

    async def close(self) -> None:
        """End every idle worker; later calls are refused."""
        self._closed = True
        while self._idle:
            await self._idle.pop().aclose(grace_s=0)

    async def _ask(self, program: str, raw: bytes | None) -> bytes:
        asked = program.encode("utf-8", "replace")
        if len(asked) > _PROGRAM_MAX_BYTES:
            raise QueryFailedError("the filter is longer than 65,536 bytes")
        try:
            with anyio.fail_after(self._wait_s):
                await self._places.acquire()
        except TimeoutError:
            raise QueryFailedError(
                f"no worker was free within {self._wait_s:g} s: too many filters run at once"
            ) from None
        try:
            return await self._placed(asked, raw)
        finally:
            self._places.release()

    async def _placed(self, asked: bytes, raw: bytes | None) -> bytes:
        worker = await self._worker()
        letter, body = b"", b""
        fit = False
        try:
            with anyio.move_on_after(self._deadline_s) as scope:
                letter, body = await _exchange(worker, asked, raw)
            fit = bool(letter)
        finally:
            if fit and not self._closed and len(self._idle) < _IDLE_MAX:
                self._idle.append(worker)
            else:
                await worker.aclose(grace_s=0)
        if scope.cancelled_caught:
            raise QueryFailedError(f"the filter ran longer than the limit of {self._deadline_s:g} s and was stopped")
        if not letter:
            raise QueryFailedError(self._died(worker.returncode))
        return _value(letter, body)

    async def _worker(self) -> ProcessTree:
        if self._closed:
            raise QueryFailedError("filters cannot be run any more: the application is closing")
        while self._idle:
            worker = self._idle.pop()
            if worker.running:
                return worker
            await worker.aclose(grace_s=0)
        argv = [sys.executable, "-I", "-S", _WORKER, self._library, str(self._memory_bytes)]
        try:
            with anyio.fail_after(_SPAWN_S):
                return await start_process(argv, cwd="/", env={}, streams=("pipe", "pipe", "null"))
        except (OSError, TimeoutError) as exc:
            raise QueryFailedError(f"a filter's worker cannot be started: {type(exc).__name__}") from exc

    def _died(self, code: int | None) -> str:
        mib = self._memory_bytes // (1024 * 1024)
        if code in _NO_MEMORY:
            return f"the filter was stopped: with its input it needs more than the limit of {mib} MiB of memory"
        return f"the filter ended its worker (exit {code}); write it in another way"


async def _exchange(worker: ProcessTree, asked: bytes, raw: bytes | None) -> tuple[bytes, bytes]:
    """Put one request and return letter and body of the answer; letter b"" when the worker ended instead."""
    if worker.stdin is None or worker.stdout is None:
        raise RuntimeError("a worker was started without pipes")
    head = _REQUEST.pack(len(asked), _COMPILE_ONLY if raw is None else len(raw))
    try:
        await worker.stdin.send(head + asked)
        for at in range(0, len(raw or b""), _CHUNK_BYTES):
            await worker.stdin.send((raw or b"")[at : at + _CHUNK_BYTES])
        received = bytearray()
        needed = _ANSWER.size
        letter = b""
        while len(received) < needed:
            received += await worker.stdout.receive()
            if not letter and len(received) >= _ANSWER.size:
                letter, length = _ANSWER.unpack_from(received)
                needed += length
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        await worker.wait()
        return b"", b""
    return letter, bytes(received[_ANSWER.size :])


def _value(letter: bytes, body: bytes) -> bytes:
    match letter:
        case b"v":
            return body
        case b"c":
            raise QueryFailedError(f"jq_filter does not compile: {body.decode()}")
        case b"o":
            raise QueryFailedError("the output is over the limit of 100,000 bytes; let the filter select less")
        case _:
            raise QueryFailedError(f"jq_filter failed: {body.decode()}")
