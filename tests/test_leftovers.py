"""The nets of `conftest.py` hold: what a run leaves behind and a skipped promise make it fail."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.leftovers import remaining
from tests.spec import ROOT

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="processes are looked up in /proc")

_WAIT = "import sys; sys.stdin.read()"
# It starts a process that waits, prints its id and ends, so that the waiting one is an orphan.
_ORPHAN = """
import subprocess, sys
waiting = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], start_new_session=True)
print(waiting.pid)
"""


def test_a_running_child_is_found_until_it_is_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", _WAIT], stdin=subprocess.PIPE) as child:
        assert any(line.startswith(f"process {child.pid}: ") for line in remaining(grace_s=0))
    assert not any(line.startswith(f"process {child.pid}: ") for line in remaining(grace_s=0))


def test_an_orphan_in_a_session_of_its_own_is_found() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _ORPHAN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        orphan = int(parent.stdout.readline())
        assert any(line.startswith(f"process {orphan}: ") for line in remaining(grace_s=0))
    assert not any(line.startswith(f"process {orphan}: ") for line in remaining(grace_s=5))


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_UNIX])
def test_a_listening_socket_is_found_until_it_is_closed(family: socket.AddressFamily, tmp_path: Path) -> None:
    with socket.socket(family) as server:
        server.bind(("127.0.0.1", 0) if family is socket.AF_INET else str(tmp_path / "s"))
        server.listen()
        name = f"port {server.getsockname()[1]}" if family is socket.AF_INET else str(tmp_path / "s")
        assert any(line.endswith(f"socket listens on {name}") for line in remaining(grace_s=0))
    assert not any(line.endswith(f"socket listens on {name}") for line in remaining(grace_s=0))


_CONFTEST = "from tests.conftest import *\nfrom tests.conftest import pytest_runtest_makereport\n"


def _run(folder: Path, test: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(_CONFTEST)
    (folder / "test_it.py").write_text(test)
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), "-p", "no:cacheprovider"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--no-cov",
        "-o",
        f"pythonpath={ROOT}",
        *settings,
        str(folder),
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=50)


def test_a_run_that_leaves_a_listening_socket_fails(tmp_path: Path) -> None:
    test = """
        import socket
        LEFT = socket.socket()
        def test_leaves_a_socket():
            LEFT.bind(("127.0.0.1", 0))
            LEFT.listen()
    """
    ran = _run(tmp_path, "\n".join(line[8:] for line in test.splitlines()))
    assert ran.returncode == 1
    assert "tcp socket listens on port" in ran.stdout


def test_a_skipped_promise_fails_and_another_skipped_test_does_not(tmp_path: Path) -> None:
    test = """
        import pytest
        @pytest.mark.req("CAT-01")
        def test_of_a_promise():
            pytest.skip("no time")
        def test_of_nothing():
            pytest.skip("no time")
        async def test_that_is_async_without_a_mark(anyio_backend_name):
            assert anyio_backend_name == "asyncio"
    """
    ran = _run(tmp_path, "\n".join(line[8:] for line in test.splitlines()))
    assert ran.returncode == 1
    assert "1 failed, 1 passed, 1 skipped" in ran.stdout
    assert "proves a promise and was skipped" in ran.stdout
