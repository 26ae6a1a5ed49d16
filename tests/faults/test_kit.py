"""The kit itself: its command line, its log, its table, and how it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hilt.faults.protocol import Era, Transport
from hilt.faults.run import command, read_log, running
from hilt.faults.table import ENTRIES, LONG_RUN, cases
from tests.faults.page import PAGE, block, drawn
from tests.faults.raw import RawHttp

HERE = Path(__file__).parent


def kit(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "hilt.faults", *arguments], capture_output=True, text=True, timeout=20, check=False
    )


@pytest.mark.req("FLT-01")
def test_the_list_names_every_entry_as_text_and_as_json() -> None:
    lines = kit("list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(ENTRIES)
    found = json.loads(kit("list", "--json").stdout)
    assert [entry["name"] for entry in found] == list(ENTRIES)
    assert sum(len(entry["cases"]) for entry in found) == len(list(cases()))
    by_name = {entry["name"]: entry for entry in found}
    assert by_name["declared"]["kinds"][0] == {
        "name": "rpc-200",
        "eras": ["handshake", "stateless"],
        "transports": ["http", "sse", "stdio"],
    }
    assert by_name["slow-start"]["settings"][0]["name"] == "delay"


@pytest.mark.req("FLT-01")
@pytest.mark.parametrize(("transport", "path"), [("http", "/mcp"), ("sse", "/sse")])
def test_one_json_line_says_where_on_loopback(transport: str, path: str, tmp_path: Path) -> None:
    with running("honest", transport=transport, log_path=tmp_path / "log") as server:
        assert server.address.startswith("http://127.0.0.1:")
        assert server.address.endswith(path)
        (start,) = server.records("start")
        assert (start["pid"], start["entry"]) == (server.process.pid, "honest")
        assert server.records("ready")[0]["address"] == server.address
    assert server.process.returncode == 0


@pytest.mark.req("FLT-01")
def test_a_port_can_be_asked_for() -> None:
    with running("refuse") as server:
        port = server.address.rpartition(":")[2].removesuffix("/mcp")
        assert "Address already in use" in kit("honest", "--http", port).stderr
    with subprocess.Popen([*command("honest", transport="http"), "--http", port], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["address"] == f"http://127.0.0.1:{port}/mcp"
        process.terminate()


@pytest.mark.req("FLT-01")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such", "--http"], "there is no entry 'no-such'"),
        (["honest"], "say how to serve"),
        (["refuse", "--stdio"], "it runs as: refuse-http-handshake, refuse-http-stateless, refuse-sse-handshake"),
        (["honest", "--sse", "--era", "stateless"], "does not fit"),
        (["declared", "--stdio", "--set", "kind=503"], "does not fit"),
        (["honest", "--http", "--set", "speed=9"], "'honest' has no setting 'speed'; it has: answers"),
        (["honest", "--http", "--set", "speed"], "--set takes KEY=VALUE"),
        (["big-list", "--http", "--set", "count=many"], "the setting 'count' is a number, not 'many'"),
        (["honest", "--http", "--log", "/no/such/folder/log"], "No such file"),
    ],
)
def test_what_cannot_be_run_says_why(arguments: list[str], words: str) -> None:
    outcome = kit(*arguments)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("error: ")
    assert words in outcome.stderr


def test_a_server_that_does_not_start_is_told_to_the_caller() -> None:
    with pytest.raises(RuntimeError, match="did not start"), running("exit-at-start"):
        pass


@pytest.mark.req("FLT-03")
def test_the_kit_runs_without_any_other_package() -> None:
    program = "import sys, hilt.faults.__main__, hilt.faults.run; print(*{n.split('.')[0] for n in sys.modules})"
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=True)
    heavy = {"anyio", "click", "httpx2", "mcp", "mcp_types", "msgspec", "pydantic", "starlette"}
    assert heavy & set(outcome.stdout.split()) == set()


@pytest.mark.req("FLT-03")
@pytest.mark.parametrize("transport", ["http", "sse", "stdio"])
def test_a_server_ends_when_its_parent_does(transport: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    arguments = command("hang-initialize", transport=transport, log_path=log)
    program = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen({arguments!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program])
    try:
        deadline = time.monotonic() + 10
        while not read_log(log, "ready") and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        parent.kill()
        parent.wait(5)
    pid = int(str(read_log(log, "ready")[0]["pid"]))
    while _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(pid)


def _alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except OSError:
        return False


@pytest.mark.req("FLT-03")
def test_a_server_that_no_longer_reads_ends_when_its_parent_does(tmp_path: Path) -> None:
    log = tmp_path / "log"
    arguments = command("not-reading", settings={"bytes": 10}, log_path=log)
    program = (
        "import subprocess, time\n"
        f"child = subprocess.Popen({arguments!r}, stdin=subprocess.PIPE, bufsize=0)\n"
        "child.stdin.write(b'x' * 60000)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 10
    while not read_log(log, "ready") and time.monotonic() < deadline:
        time.sleep(0.02)
    parent.kill()
    parent.wait(5)
    pid = int(str(read_log(log, "ready")[0]["pid"]))
    while _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(pid)


@pytest.mark.req("FLT-02")
def test_the_log_has_each_request_with_time_and_headers(tmp_path: Path) -> None:
    with running("honest", log_path=tmp_path / "log") as server:
        client = RawHttp(server.address)
        before = time.time()
        client.request("initialize", {"protocolVersion": "2025-11-25"})
        client.request("tools/call", {"name": "echo", "arguments": {"text": "y" * 1000}})
        client.connection.request("POST", "/mcp", b"\xff not json", {"X-Odd": "yes"})
        client.connection.getresponse().read()
        client.close()
        seen = server.records("received")
        assert [record["verb"] for record in seen] == ["POST"] * 3
        for record in seen:
            assert isinstance(record["time"], float)
            assert before - 1 <= record["time"] <= time.time() + 1
        headers = seen[2]["headers"]
        assert isinstance(headers, dict)
        assert headers["x-odd"] == "yes"
        assert seen[2]["message"] == "\xff not json"
        assert server.records("executed")[0]["arguments"] == {"text": "y" * 200 + "… (1000)"}
        assert len(server.records("connected")) == 1


def test_a_log_that_is_not_there_has_no_records(tmp_path: Path) -> None:
    assert read_log(tmp_path / "none") == []


@pytest.mark.req("FLT-03")
def test_two_runs_of_one_entry_write_the_same(tmp_path: Path) -> None:
    def once(name: str) -> list[tuple[object, object]]:
        with running("restart-404", log_path=tmp_path / name) as server:
            client = RawHttp(server.address)
            client.request("initialize", {})
            client.session, first = "", client.session
            client.request("initialize", {})
            assert (first, client.session) == ("session-1", "session-2")
            client.close()
            return [(record["event"], record.get("message")) for record in server.records("received", "sent")]

    assert once("one") == once("two")


def test_a_server_that_is_interrupted_says_nothing() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(command("honest", transport="http"), stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=5) == (b"", b"")
        assert process.returncode == 0


def test_every_promise_of_a_server_has_an_entry() -> None:
    ids = {promise for entry in ENTRIES.values() for promise in entry.ids}
    wanted = {f"FLT-{number}" for number in (*range(10, 69), 77)}
    assert wanted - ids == set()


def test_every_entry_is_data_that_fits_itself() -> None:
    for entry in ENTRIES.values():
        ways = list(entry.cases())
        assert ways, entry.name
        assert {way.kind for way in ways} == {kind.name for kind in entry.kinds} or not entry.kinds
        assert entry.summary.endswith(".")
        for way in ways:
            assert entry.fits(way.transport, way.era, way.kind)
            assert entry.defaults(way.transport, (way.era,)).keys() >= {s.name for s in entry.settings}
    assert not any(way.transport is Transport.SSE and way.era is Era.STATELESS for way in cases())
    assert len({way.id for way in cases()}) == len(list(cases()))
    assert set(LONG_RUN) <= set(ENTRIES)


def test_every_entry_has_a_test_of_its_own() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py"))
    built = {f"delete-{status}" for status in (404, 405, 500)}
    assert [name for name in ENTRIES if f'"{name}"' not in tests and name not in built] == []


@pytest.mark.req("FLT-01")
def test_only_loopback_is_listened_on() -> None:
    with running("links-everywhere") as server:
        inodes = set()
        for link in Path(f"/proc/{server.process.pid}/fd").iterdir():
            target = os.readlink(link)
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
        rows = [line.split() for line in Path(f"/proc/{server.process.pid}/net/tcp").read_text().splitlines()[1:]]
        listening = [row[1] for row in rows if row[3] == "0A" and row[9] in inodes]
        assert len(listening) == 2
        assert all(address.startswith("0100007F:") for address in listening)


def test_the_page_shows_every_entry_as_it_is() -> None:
    assert drawn(PAGE.read_text(encoding="utf-8")) == block(), "run `python -m tests.faults.page`"


@pytest.mark.parametrize("event", ["cut", "exit", "away", "back", "restart", "canary", "disturbed", "storm", "child"])
def test_the_page_explains_every_event(event: str) -> None:
    assert f"`{event}`" in PAGE.read_text(encoding="utf-8")
