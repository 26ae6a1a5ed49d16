"""Runs one command and ends its whole process tree, whatever happens to the process that asked for it.

A script of its own, started as `python -I -S supervisor.py CONTROL_FD PARENT_PID PROGRAM ARG...`: it imports
a handful of standard modules so that it starts within milliseconds. It is a subreaper, so a descendant that
leaves session, group and parent behind still becomes its child, and it ends only when it has none left.

It writes lines to the control socket: `started PID` or `failed ERRNO`, then `exit CODE` (negative: the number
of the signal), then `gone N` with the number of processes that could not be ended. It reads `end SECONDS`:
TERM to all, KILL after that time. When the socket closes, or its parent dies, it ends the tree the same way.
"""

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping

GRACE_S = 2.0
GIVE_UP_S = 4.0
POLL_S = 0.02

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def prctl(option: int, value: int) -> bool:
    """Set a property of this process; False where the system does not know it."""
    call = getattr(ctypes.CDLL(None), "prctl", None)
    return call is not None and bool(call(option, value, 0, 0, 0) == 0)


def parents(proc: str = "/proc") -> dict[int, int]:
    """Return the parent of each process of the system, as `/proc` tells; nothing where there is none."""
    found = {}
    for name in os.listdir(proc) if os.path.isdir(proc) else ():
        if name.isdigit():
            try:
                with open(f"{proc}/{name}/stat", "rb") as file:
                    found[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):
                continue
    return found


def descendants(root: int, parent_of: Mapping[int, int]) -> list[int]:
    """Return every process below `root`, nearest first."""
    children: dict[int, list[int]] = {}
    for pid, parent in parent_of.items():
        children.setdefault(parent, []).append(pid)
    found = list(children.get(root, ()))
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def send(pid: int, number: int) -> None:
    """Signal one process; one that is gone or not ours is passed over."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def kill_group(group: int) -> None:
    """Kill a process group: all that can be found where the system has no subreapers."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


class Tree:
    """The command, everything that descends from it, and how far their end has come."""

    def __init__(self, control: int, main: int, *, subreaper: bool) -> None:
        self._control = control
        self._main = main
        self._subreaper = subreaper
        self._kill_at: float | None = None
        self._told: set[int] = set()
        self._asked = b""

    def end(self, grace_s: float) -> None:
        """Begin to end the tree; a later call can only shorten the time."""
        kill_at = time.monotonic() + grace_s
        self._kill_at = kill_at if self._kill_at is None else min(kill_at, self._kill_at)

    def say(self, text: str) -> None:
        """Tell the other side; it may be gone."""
        try:
            os.write(self._control, f"{text}\n".encode())
        except OSError:
            self.end(GRACE_S)

    def listen(self) -> None:
        """Take requests from the control socket."""
        try:
            data = os.read(self._control, 256)
        except OSError:
            data = b""
        if not data:
            self.end(GRACE_S)
            self._control = -1
        self._asked += data
        while b"\n" in self._asked:
            line, _, self._asked = self._asked.partition(b"\n")
            self.end(float(line.split()[1]))

    def reap(self) -> bool:
        """Collect what has ended; False when nothing is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._main:
                self.say(f"exit {os.waitstatus_to_exitcode(status)}")
                self._main = 0
                if self._kill_at is None:
                    self.end(0.0)
                if not self._subreaper:
                    kill_group(pid)

    def press(self) -> int | None:
        """Signal what is left; return how many when they cannot be ended."""
        if self._kill_at is None:
            return None
        late_s = time.monotonic() - self._kill_at
        left = descendants(os.getpid(), parents()) or [self._main] * bool(self._main)
        if late_s >= GIVE_UP_S:
            return len(left)
        for pid in left:
            if late_s >= 0:
                send(pid, signal.SIGKILL)
            elif pid not in self._told:
                self._told.add(pid)
                send(pid, signal.SIGTERM)
        return None

    def watch(self, wake: int, told_to_end: Callable[[], bool]) -> None:
        """Stay until no descendant is left, or none of the rest can be ended."""
        left = 0
        while self.reap():
            failed = self.press()
            if failed is not None:
                left = failed
                break
            sources = [wake] if self._control < 0 else [wake, self._control]
            ready, _, _ = select.select(sources, [], [], None if self._kill_at is None else POLL_S)
            if wake in ready:
                os.read(wake, 256)
                if told_to_end():
                    self.end(GRACE_S)
            if self._control in ready:
                self.listen()
        self.say(f"gone {left}")


def become(argv: list[str], report: int) -> None:  # pragma: no cover - this process becomes another program
    """Turn this new process into the command, in its own session; else write the error number and end."""
    try:
        os.setsid()
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvp(argv[0], argv)  # noqa: S606 - what may run was decided before
    except OSError as exc:
        os.write(report, str(exc.errno or 0).encode())
    os._exit(127)


def start(argv: list[str]) -> tuple[int, bytes]:
    """Start the command; return its process and the error number as text, empty when it runs."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        become(argv, write)
    os.close(write)
    failure = os.read(read, 16)
    os.close(read)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)
    return pid, failure


def main(args: list[str]) -> None:
    """Start the command of `args` and stay until its tree has ended."""
    control, parent = int(args[0]), int(args[1])
    os.set_inheritable(control, False)
    wake, woken = os.pipe()
    for number in (wake, woken):
        os.set_blocking(number, False)
    subreaper = prctl(_PR_SET_CHILD_SUBREAPER, 1)
    ended = False

    def on_end(*_: object) -> None:
        nonlocal ended
        ended = True

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    pid, failure = start(args[2:])
    tree = Tree(control, pid, subreaper=subreaper)
    if os.getppid() != parent:
        tree.end(0.0)
    tree.say(f"failed {failure.decode()}" if failure else f"started {pid}")
    tree.watch(wake, lambda: ended)


if __name__ == "__main__":
    main(sys.argv[1:])
