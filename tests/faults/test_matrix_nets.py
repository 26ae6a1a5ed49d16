"""The nets of the matrix catch what they are there for."""

import logging
import socket
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from hilt.faults.entry import Case
from hilt.faults.protocol import Era, Transport
from tests.faults.matrix.run import run
from tests.faults.matrix.trial import Trial, check, check_time
from tests.faults.matrix.watch import MARK, Footprint, Line, complaints, processes, sockets

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is left behind is looked up in /proc")

CASE = Case(entry="honest", transport=Transport.HTTP, era=Era.STATELESS)


def test_log_lines_that_are_not_quiet_are_found() -> None:
    warning = Line(logging.WARNING, "hilt: server=x cause=y", has_traceback=False)
    assert complaints([warning], warns=1, secret="s3cret") == []
    assert complaints([warning, warning], warns=2, secret="") == ["said twice: hilt: server=x cause=y"]
    assert complaints([warning], warns=0, secret="")[0].startswith("1 warnings instead of 0")
    assert complaints([Line(logging.DEBUG, "broke", has_traceback=True)], warns=0, secret="") == ["log: broke"]
    assert complaints([Line(logging.DEBUG, "my s3cret", has_traceback=False)], warns=0, secret="s3cret") == [
        "secret in log: my s3cret"
    ]


def test_a_socket_and_a_process_are_found_while_they_are_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert sockets(port) == []
        with socket.create_connection(("127.0.0.1", port)):
            assert sockets(port) == [f"socket to port {port} in state 01"]
    waits = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE, env={MARK: "net"}) as child:
        assert processes("net")[0].startswith(f"process {child.pid}: ")
    assert processes("net") == []


async def test_a_task_and_an_open_file_are_found_while_they_are_there(tmp_path: Path) -> None:
    before = Footprint.now()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.sleep_forever, name="left")
        with (tmp_path / "file").open("w"):
            found = Footprint.now().more(before)
        tasks.cancel_scope.cancel()
    assert found[0] == "task left"
    assert found[1].startswith("1 open files: ")
    assert Footprint.now().more(before) == []


async def test_each_case_that_fails_is_named_and_the_others_are_run(tmp_path: Path) -> None:
    async def expectation(trial: Trial) -> None:
        async with trial.mounted() as far:
            check((await far.call("idem")).failed, "it worked")

    lines = await run([CASE], tmp_path, expectation=expectation)
    assert lines == ["honest-http-stateless: it worked"]


async def test_only_a_bound_of_time_is_tried_again_and_a_case_that_is_well_may_not_be_known(tmp_path: Path) -> None:
    tries: list[str] = []

    async def slow_once(trial: Trial) -> None:
        if trial.name != "warm":
            tries.append(trial.name)
            check_time(400.0 / len(tries), 0, 20, "it")

    lines = await run([CASE], tmp_path, expectation=slow_once)
    assert lines == ["honest-http-stateless: it took 200.00 s, not 0 to 20 s"]
    assert tries == ["c000", "d000"]
    lines = await run([CASE], tmp_path, expectation=slow_once, known=["honest-*"])
    assert lines == []
    tries += ["x"] * 30
    lines = await run([CASE], tmp_path, expectation=slow_once, known=["honest-*"])
    assert lines == ["honest-http-stateless: it is well now, take 'honest-*' out of KNOWN"]
