"""What ToolHive runs: recorded output of `thv`, its local API, and everything that may be wrong with them."""

import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.abc
import pytest

from hilt.adapters import mcp_toolhive
from hilt.adapters.mcp_toolhive import ANSWER_MAX_BYTES, STATE_FILE, ToolHive, entries
from hilt.core.mcp import McpServerSpec

RECORDED = (Path(__file__).parent / "inputs" / "thv_list.json").read_text()
TIME = McpServerSpec(
    name="time", url="http://127.0.0.1:21001/mcp", transport="http", origin="toolhive", source="ToolHive"
)


@pytest.fixture
def infos(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.DEBUG)
    return lambda: [
        f"{record.levelname} {record.getMessage()}" for record in caplog.records if record.name[:4] == "hilt"
    ]


class Machine:
    """A machine with a `thv` of its own or none; `environment` is what hilt runs with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.environment = {"PATH": f"{self.bin}:/usr/bin:/bin", "XDG_STATE_HOME": str(folder / "state")}

    def thv(self, body: str) -> None:
        """Put a script on PATH; what it was called with is in `thv.log`."""
        path = self.bin / "thv"
        path.write_text(f'#!/bin/sh\necho "$@" >> {self.folder}/thv.log\n{body}\n')
        path.chmod(0o755)

    def thv_says(self, text: str) -> None:
        (self.folder / "answer").write_text(text)
        self.thv(f"cat {self.folder}/answer")

    def advertises(self, url: object) -> None:
        path = self.folder / "state" / STATE_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"url": url, "pid": 1, "nonce": "n"}))

    def hive(self, group: str = "", *, api: str = "http://127.0.0.1:9") -> ToolHive:
        return ToolHive(group, environment=self.environment, api=api)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@asynccontextmanager
async def api(
    body: str, *, head: str = "HTTP/1.0 200 OK\r\nContent-Type: application/json"
) -> AsyncIterator[tuple[str, list[str]]]:
    """Serve one answer on loopback and keep what was asked."""
    asked: list[str] = []

    async def handle(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            asked.append((await stream.receive()).decode())
            await stream.send(f"{head}\r\n\r\n{body}".encode())

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, handle)
        yield f"http://127.0.0.1:{port}", asked
        tasks.cancel_scope.cancel()


def workload(**changes: object) -> Mapping[str, object]:
    plain = {
        "name": "time",
        "url": "http://127.0.0.1:21001/mcp",
        "transport_type": "streamable-http",
        "status": "running",
        "group": "default",
    }
    return {key: value for key, value in {**plain, **changes}.items() if value is not None}


@pytest.mark.req("MCP-110", "MCP-111", "MCP-112")
async def test_recorded_output_gives_the_running_workloads_of_the_group(
    machine: Machine, infos: Callable[[], list[str]]
) -> None:
    machine.thv_says(RECORDED)
    found = await machine.hive().servers()
    assert [(spec.name, spec.transport, spec.url) for spec in found] == [
        ("time", "http", "http://127.0.0.1:21001/mcp"),
        ("fetch", "sse", "http://127.0.0.1:21002/sse"),
        ("osv", "http", "http://localhost:21003/mcp"),
        ("old-stdio", "sse", "http://127.0.0.1:21004/sse"),
        ("new-stdio", "http", "http://127.0.0.1:21005/mcp"),
    ]
    assert all(spec.origin == "toolhive" and not spec.headers and not spec.required for spec in found)
    assert [spec.name for spec in await machine.hive("research").servers()] == ["papers"]
    assert (machine.folder / "thv.log").read_text().splitlines() == ["list --format json"] * 2
    assert infos() == []


@pytest.mark.req("MCP-112")
@pytest.mark.parametrize(
    "changes",
    [
        {"status": "stopped"},
        {"status": None},
        {"group": "other"},
        {"name": "a.b"},
        {"name": 7},
        {"name": "a__b"},
        {"url": None},
        {"url": "http://10.0.0.1:21001/mcp"},
        {"url": "http://user:secret@127.0.0.1/mcp"},
        {"url": "ftp://127.0.0.1/mcp"},
        {"transport_type": "inspector"},
        {"transport_type": None},
        {"proxy_mode": "carrier-pigeon"},
    ],
    ids=str,
)
def test_a_workload_that_cannot_be_used_is_left_out(changes: Mapping[str, object]) -> None:
    assert entries([workload(**changes), workload(name="other")], "default") == [
        McpServerSpec(name="other", url="http://127.0.0.1:21001/mcp", origin="toolhive", source="ToolHive")
    ]


def test_of_two_workloads_that_count_as_one_name_the_first_is_taken() -> None:
    found = entries([workload(name="a-b"), workload(name="A_b"), workload(name="c", group=None)], "default")
    assert [spec.name for spec in found] == ["a-b", "c"]


@pytest.mark.req("MCP-113")
async def test_toolhive_that_is_absent_is_one_info_line(machine: Machine, infos: Callable[[], list[str]]) -> None:
    async with api(json.dumps([workload()])) as (url, asked):
        assert await machine.hive(api=url).servers() == ()
    assert infos() == ["INFO toolhive_not_used why=ToolHive is not here servers=0"]
    assert asked == []


@pytest.mark.req("MCP-111")
@pytest.mark.parametrize("form", ["list", "object"])
async def test_the_api_is_asked_where_toolhive_wrote_its_address_down(machine: Machine, form: str) -> None:
    body = [workload()] if form == "list" else {"workloads": [workload()]}
    async with api(json.dumps(body)) as (url, asked):
        machine.advertises(url)
        assert await machine.hive().servers() == (TIME,)
    assert asked[0].startswith("GET /api/v1beta/workloads HTTP/1.0\r\n")
    assert "authorization" not in asked[0].lower()


@pytest.mark.req("MCP-111")
async def test_the_api_is_asked_over_a_unix_socket_too(machine: Machine) -> None:
    path = machine.folder / "thv.sock"
    listener = await anyio.create_unix_listener(path)

    async def handle(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 200 OK\n\n" + json.dumps([workload()]).encode())

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, handle)
        machine.advertises(f"unix://{path}")
        assert await machine.hive().servers() == (TIME,)
        tasks.cancel_scope.cancel()


@pytest.mark.req("MCP-111")
async def test_the_api_is_asked_where_thv_fails(machine: Machine) -> None:
    machine.thv("exit 3")
    async with api(json.dumps([workload()])) as (url, _):
        assert await machine.hive(api=url).servers() == (TIME,)


WRONG = {
    "exit 3": "thv list ended with code 3",
    "echo nonsense": "the answer is no JSON",
    "echo '{\"a\": 1}'": "the answer is no list of workloads",
    "echo '[1]'": "the answer is no list of workloads",
    f"head -c {ANSWER_MAX_BYTES + 10} /dev/zero": f"thv's answer is longer than {ANSWER_MAX_BYTES} bytes",
}


@pytest.mark.req("MCP-113")
@pytest.mark.parametrize("script", WRONG)
async def test_nonsense_is_one_info_line_and_the_last_good_list(
    machine: Machine, infos: Callable[[], list[str]], script: str
) -> None:
    hive = machine.hive()
    machine.thv_says(json.dumps([workload()]))
    assert await hive.servers() == (TIME,)
    machine.thv(script)
    assert await hive.servers() == (TIME,)
    assert infos() == [f"INFO toolhive_not_used why={WRONG[script]} servers=1"]


@pytest.mark.req("MCP-113")
async def test_more_than_128_workloads_are_not_believed(machine: Machine, infos: Callable[[], list[str]]) -> None:
    hive = machine.hive()
    machine.thv_says(json.dumps([workload(name=f"w{number}") for number in range(128)]))
    assert len(await hive.servers()) == 128
    machine.thv_says(json.dumps([workload(name=f"w{number}") for number in range(129)]))
    assert len(await hive.servers()) == 128
    assert infos() == ["INFO toolhive_not_used why=the answer lists 129 workloads; 128 are the most servers=128"]


@pytest.mark.req("MCP-113")
@pytest.mark.parametrize("empty", ["[]", '{"workloads": []}', "No MCP servers found\n"])
async def test_an_empty_list_is_believed(machine: Machine, infos: Callable[[], list[str]], empty: str) -> None:
    hive = machine.hive()
    machine.thv_says(json.dumps([workload()]))
    await hive.servers()
    machine.thv_says(empty)
    assert await hive.servers() == ()
    assert infos() == []


@pytest.mark.req("MCP-111", "MCP-113")
async def test_a_silent_thv_and_a_silent_api_end_within_the_time(
    machine: Machine, infos: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_toolhive, "PROGRAM_S", 0.2)
    monkeypatch.setattr(mcp_toolhive, "WITHIN_S", 1.0)
    machine.thv("exec sleep 60")
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener:
        with anyio.fail_after(5):
            assert await machine.hive(api=f"http://127.0.0.1:{port}").servers() == ()
    assert infos() == ["INFO toolhive_not_used why=no answer within 1 s servers=0"]


@pytest.mark.req("MCP-113")
async def test_an_api_that_is_none_is_one_info_line(machine: Machine, infos: Callable[[], list[str]]) -> None:
    async with api("nothing", head="HTTP/1.0 404 Not Found") as (url, _):
        machine.advertises(url)
        await machine.hive().servers()
    async with api("x" * (ANSWER_MAX_BYTES + 1)) as (url, _):
        machine.advertises(url)
        await machine.hive().servers()
    for elsewhere in ("http://10.0.0.1:80", "", 7, "unix:///nowhere"):
        machine.advertises(elsewhere)
        await machine.hive().servers()
    (machine.folder / "state" / STATE_FILE).write_text("{")
    await machine.hive().servers()
    machine.environment.pop("XDG_STATE_HOME")
    await machine.hive().servers()
    why = ["ToolHive is not here"] * 8
    why[1] = f"the answer is longer than {ANSWER_MAX_BYTES} bytes"
    assert infos() == [f"INFO toolhive_not_used why={one} servers=0" for one in why]


async def test_a_thv_that_cannot_be_run_is_told(machine: Machine, infos: Callable[[], list[str]]) -> None:
    machine.thv("")
    (machine.bin / "thv").write_text("#!/no/such/shell\n")
    await machine.hive().servers()
    assert infos() == ["INFO toolhive_not_used why=thv cannot be run: No such file or directory servers=0"]
