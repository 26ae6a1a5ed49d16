"""One command with all that descends from it, under its supervisor."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, Literal

import anyio

from hilt.adapters._process.pipe import PipeReader, PipeWriter

GRACE_S: Final = 2.0
GONE_S: Final = 5.0

_REAP_POLL_S: Final = 0.002
_SUPERVISOR: Final = str(Path(__file__).with_name("supervisor.py"))

Stream = Literal["pipe", "null"]


class ProcessTree:
    """A running command with all that descends from it; made by `start_process`.

    `pid` is the command's own, and the id of its group and session. A stream that was not asked for is None.
    """

    def __init__(
        self,
        supervisor: "subprocess.Popen[bytes]",
        control: socket.socket,
        streams: tuple[PipeWriter | None, PipeReader | None, PipeReader | None],
    ) -> None:
        self.stdin, self.stdout, self.stderr = streams
        self.pid = 0
        self.returncode: int | None = None
        self._left: int | None = None
        self._failed: int | None = None
        self._gone = False
        self._supervisor = supervisor
        self._control = control
        self._heard = b""
        self._count = 0
        self._hearing = anyio.Lock()

    async def started(self, program: str) -> None:
        """Wait until the program runs.

        Raises:
            OSError: It cannot be started.
        """
        await self._hear(lambda: self.pid or self._failed is not None)
        if self._failed is not None:
            raise OSError(self._failed, os.strerror(self._failed), program)
        if not self.pid:
            raise ChildProcessError(0, "the supervisor ended before it started the program", program)

    @property
    def running(self) -> bool:
        """Whether the command itself has not been seen to end."""
        return self.returncode is None and not self._gone

    async def wait(self) -> int | None:
        """Return the exit code once the command itself has ended: negative for a signal, None if unknown.

        What is left of the tree is being killed at that moment; `wait_gone` waits for it.
        """
        await self._hear(lambda: self.returncode is not None)
        return self.returncode

    async def wait_gone(self) -> None:
        """Wait until no descendant is left and the supervisor is collected."""
        await self._hear(lambda: False)
        while self._supervisor.poll() is None:  # noqa: ASYNC110 - it closed its socket: it is ending now
            await anyio.sleep(_REAP_POLL_S)

    def end(self, grace_s: float) -> None:
        """Ask for the end of the tree: TERM now, KILL after `grace_s` seconds; does not wait."""
        with contextlib.suppress(OSError):
            self._control.send(f"end {grace_s:.3f}\n".encode())

    async def aclose(self, *, wait_s: float = 0.0, grace_s: float = GRACE_S) -> None:
        """Close stdin, give the command `wait_s` seconds to end, then end the tree and collect it.

        Never raises, also not when called twice or while cancelled; takes at most `wait_s`, `grace_s` and
        five seconds together.
        """
        with anyio.CancelScope(shield=True):
            if self.stdin is not None:
                self.stdin.close()
            if wait_s > 0 and not self._gone:
                with anyio.move_on_after(wait_s):
                    await self.wait()
            if not self._gone:
                self.end(grace_s)
                with anyio.move_on_after(grace_s + GONE_S):
                    await self.wait_gone()
            self._release()

    def _release(self) -> None:
        if self._supervisor.poll() is None:
            self._supervisor.kill()
            self._supervisor.wait()
        if self._left is None and self.pid:
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self._gone = True
        if self._control.fileno() >= 0:
            anyio.notify_closing(self._control)
            self._control.close()

    async def _hear(self, enough: Callable[[], object]) -> None:
        """Take what the supervisor says until `enough` or until it has ended; several tasks may wait."""
        while not (self._gone or enough()):
            heard = self._count
            async with self._hearing:
                if heard == self._count:
                    await self._hear_once()

    async def _hear_once(self) -> None:
        try:
            await anyio.wait_readable(self._control)
            said = self._control.recv(256)
        except (OSError, anyio.ClosedResourceError):
            said = b""
        self._count += 1
        self._gone = not said
        self._take(said)

    def _take(self, said: bytes) -> None:
        *lines, self._heard = (self._heard + said).split(b"\n")
        for line in lines:
            word, number = line.split()
            match word:
                case b"started":
                    self.pid = int(number)
                case b"failed":
                    self._failed = int(number)
                case b"exit":
                    self.returncode = int(number)
                case _:
                    self._left = int(number)


async def start_process(
    argv: Sequence[str],
    *,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    streams: tuple[Stream, Stream, Stream] = ("pipe", "pipe", "pipe"),
) -> ProcessTree:
    """Start a program in a session of its own; `streams` are stdin, stdout and stderr, `env` None inherits.

    The program is looked up in the PATH of `env`. The caller must `aclose` the tree.

    Raises:
        OSError: It cannot be started: no such program or directory, not executable, too many processes.
    """
    mine, theirs = socket.socketpair()
    with theirs:
        try:
            tree = _spawn(argv, (mine, theirs), cwd=cwd, env=env, streams=streams)
        except BaseException:
            mine.close()
            raise
    try:
        await tree.started(argv[0])
    except BaseException:
        await tree.aclose(grace_s=0)
        raise
    return tree


def _spawn(
    argv: Sequence[str],
    control: tuple[socket.socket, socket.socket],
    *,
    cwd: str | Path | None,
    env: Mapping[str, str] | None,
    streams: tuple[Stream, Stream, Stream],
) -> ProcessTree:
    mine, theirs = control
    mine.setblocking(False)
    kinds = [subprocess.PIPE if stream == "pipe" else subprocess.DEVNULL for stream in streams]
    supervisor = subprocess.Popen(
        [sys.executable, "-I", "-S", _SUPERVISOR, str(theirs.fileno()), str(os.getpid()), *argv],
        stdin=kinds[0],
        stdout=kinds[1],
        stderr=kinds[2],
        bufsize=0,
        cwd=cwd,
        env=env,
        start_new_session=True,
        pass_fds=(theirs.fileno(),),
    )
    return ProcessTree(
        supervisor,
        mine,
        (
            PipeWriter(_taken(supervisor.stdin)) if supervisor.stdin else None,
            PipeReader(_taken(supervisor.stdout)) if supervisor.stdout else None,
            PipeReader(_taken(supervisor.stderr)) if supervisor.stderr else None,
        ),
    )


def _taken(file: IO[bytes]) -> int:
    """Return a descriptor of our own for the pipe behind `file`, and close that."""
    with file:
        return os.dup(file.fileno())
