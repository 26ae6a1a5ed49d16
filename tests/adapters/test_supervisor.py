"""The supervisor by itself: what it says and hears on its socket."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from hilt.adapters._process import supervisor
from tests.adapters.marked import Mark

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="descendants are found through /proc")


class Supervised:
    """A supervisor's process and the other end of its socket."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self.process = process
        self.control = control

    def rest(self) -> str:
        """Return all that it says until it ends."""
        said = b""
        while chunk := self.control.recv(100):
            said += chunk
        self.process.wait()
        return said.decode()


@contextmanager
def supervised(*argv: str, env: dict[str, str] | None = None, parent: int | None = None) -> Iterator[Supervised]:
    mine, theirs = socket.socketpair()
    mine.settimeout(20)
    # As a module and not as the script that it is, so that coverage knows whose lines it runs.
    module = supervisor.__name__
    with mine, theirs:
        command = [sys.executable, "-m", module, str(theirs.fileno()), str(parent or os.getpid()), *argv]
        with subprocess.Popen(command, pass_fds=[theirs.fileno()], env=env, stdout=subprocess.PIPE) as process:
            theirs.close()
            try:
                yield Supervised(process, mine)
            finally:
                mine.close()


def test_it_tells_start_exit_code_and_end() -> None:
    with supervised("sh", "-c", "exit 9") as it:
        first, *rest = it.rest().splitlines()
    assert first.startswith("started ")
    assert rest == ["exit 9", "gone 0"]


def test_it_tells_the_number_of_the_error_that_kept_a_program_from_starting() -> None:
    with supervised("no such program") as it:
        assert it.rest().splitlines()[0] == "failed 2"


def test_a_request_to_end_gives_term_then_kill() -> None:
    with supervised("sh", "-c", "trap 'echo term' TERM; echo ready; while :; do sleep 0.05; done") as it:
        assert it.process.stdout is not None
        assert it.process.stdout.readline() == b"ready\n"
        it.control.send(b"end 10\n")
        assert it.process.stdout.readline() == b"term\n"
        it.control.send(b"end 0\n")
        assert it.rest().splitlines()[1:] == [f"exit -{int(signal.SIGKILL)}", "gone 0"]


async def test_a_closed_socket_ends_the_tree() -> None:
    mark = Mark()
    with supervised("sh", "-c", "sleep 300 & echo ready; sleep 300", env=mark.env) as it:
        assert it.process.stdout is not None
        assert it.process.stdout.readline() == b"ready\n"
        it.control.close()
        assert it.process.wait(20) == 0
    assert mark.alive() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_term_ends_the_tree(number: signal.Signals) -> None:
    mark = Mark()
    with supervised("sh", "-c", "echo ready; sleep 300", env=mark.env) as it:
        assert it.process.stdout is not None
        assert it.process.stdout.readline() == b"ready\n"
        it.process.send_signal(number)
        assert it.rest().splitlines()[1:] == [f"exit -{int(signal.SIGTERM)}", "gone 0"]
    with anyio.fail_after(20):
        await mark.end()


def test_a_parent_that_is_already_gone_ends_the_tree() -> None:
    with supervised("sleep", "300", parent=1) as it:
        assert it.rest().splitlines()[1:] == [f"exit -{int(signal.SIGKILL)}", "gone 0"]


def test_what_cannot_be_ended_is_counted_and_left_alone_after_a_while() -> None:
    with subprocess.Popen(["sleep", "300"]) as lasting:
        mine, theirs = socket.socketpair()
        with mine, theirs:
            tree = supervisor.Tree(theirs.fileno(), lasting.pid, subreaper=True)
            assert tree.press() is None
            tree.end(-60)
            assert (tree.press() or 0) >= 1
        assert lasting.poll() is None
        lasting.kill()


def test_a_socket_that_nobody_reads_ends_the_tree() -> None:
    mine, theirs = socket.socketpair()
    tree = supervisor.Tree(theirs.fileno(), 0, subreaper=True)
    with theirs:
        mine.close()
        tree.say("started 1")
        tree.end(-60)
        assert tree.press() is not None


def test_descendants_are_found_at_any_depth() -> None:
    assert supervisor.descendants(1, {2: 1, 3: 2, 4: 3, 5: 1, 6: 99, 99: 0}) == [2, 5, 3, 4]


def test_every_process_of_the_system_is_seen_with_its_parent() -> None:
    assert supervisor.parents()[os.getpid()] == os.getppid()


def test_processes_that_vanish_while_they_are_looked_at_are_passed_over(tmp_path: Path) -> None:
    for name, stat in (("7", b"7 (a ) b) S 5 7 7"), ("8", b""), ("self", b"9 (c) S 5")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "stat").write_bytes(stat)
    (tmp_path / "9").mkdir()
    assert supervisor.parents(str(tmp_path)) == {7: 5}
    assert supervisor.parents(str(tmp_path / "nowhere")) == {}


async def test_without_subreapers_the_group_is_killed(tmp_path: Path) -> None:
    mark = Mark()
    with subprocess.Popen(["sh", "-c", "sleep 300 & exit 0"], env=mark.env, start_new_session=True) as child:
        mine, theirs = socket.socketpair()
        with mine, theirs, anyio.fail_after(20):
            tree = supervisor.Tree(theirs.fileno(), child.pid, subreaper=False)
            while tree.reap():
                await anyio.sleep(0.01)
            await mark.end()
            assert mine.recv(100) == b"exit 0\n"


def test_signals_to_processes_that_are_gone_are_passed_over() -> None:
    with subprocess.Popen(["true"], start_new_session=True) as ended:
        ended.wait()
    supervisor.send(ended.pid, signal.SIGKILL)
    supervisor.kill_group(ended.pid)


def test_a_system_without_the_property_is_told_apart() -> None:
    assert not supervisor.prctl(-1, 0)
