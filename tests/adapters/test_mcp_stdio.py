import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from hilt.adapters.mcp_stdio import QUEUE, STDERR_TAIL_BYTES, StdioWire, child_environment
from hilt.core.mcp import McpLimits
from hilt.ports.mcp import Fault, McpFault
from tests.mcp_servers.kit import INPUTS, SCRIPTS, call, dialled, mounted, read_log, replay_stdio, stdio_spec, tool_of


def _scenario(folder: Path, **scenario: object) -> str:
    (folder / "s.json").write_text(json.dumps(scenario))
    return "s.json"


@pytest.mark.req("MCP-32", "MCP-40", "MCP-60")
@pytest.mark.parametrize("protocol", ["auto", "handshake"])
async def test_the_git_server_is_listed_and_called(tmp_path: Path, protocol: str) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    spec = stdio_spec(str(SCRIPTS / "mcp-server-git"), "--repository", str(tmp_path), protocol=protocol, required=True)
    async with mounted(spec, root=tmp_path) as manager:
        assert len(manager.tools()) == 12
        assert tool_of(manager, "git_status").read_only
        assert not tool_of(manager, "git_commit").read_only
        done = await call(manager, "git_status", json.dumps({"repo_path": str(tmp_path)}))
        assert not done.is_error
        assert "Repository status" in done.content


@pytest.mark.req("MCP-50")
async def test_the_time_server_is_listed_and_called_beside_another() -> None:
    time = stdio_spec(str(SCRIPTS / "mcp-server-time"), "--local-timezone", "UTC", name="time", required=True)
    missing = stdio_spec("no-such-command-anywhere", name="missing")
    async with mounted(time, missing) as manager:
        assert [tool.name_on_server for tool in manager.tools()] == ["get_current_time", "convert_time"]
        assert "UTC" in (await call(manager, "get_current_time", '{"timezone": "UTC"}')).content
        assert manager.reports()[1].cause == (
            "cannot start the command 'no-such-command-anywhere': No such file or directory"
        )


@pytest.mark.req("MCP-33")
def test_a_process_sees_a_safe_base_and_its_own_variables() -> None:
    parent = {
        "PATH": "/bin",
        "HOME": "/h",
        "LANG": "C",
        "LC_TIME": "C",
        "TMPDIR": "/t",
        "AWS_SECRET": "s",
        "SystemRoot": "w",
    }
    assert child_environment(parent, {"PATH": "/own", "E": ""}, windows=False) == {
        "PATH": "/own",
        "HOME": "/h",
        "LANG": "C",
        "LC_TIME": "C",
        "TMPDIR": "/t",
        "E": "",
    }
    assert child_environment(parent, {}, windows=True)["SystemRoot"] == "w"


@pytest.mark.req("MCP-32")
async def test_the_command_runs_without_a_shell_in_the_root_or_its_own_directory(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    name = _scenario(tmp_path, on={"tools/call": [{"argv": True}]})
    spec = replay_stdio(name, tmp_path)
    spec = stdio_spec(spec.command, *spec.args, "$HOME; ls *", cwd="sub", env=dict(spec.env))
    async with dialled(spec, root=tmp_path) as connection:
        answer = await connection.request("tools/call", {}, timeout_s=5)
        pid = next(line["pid"] for line in read_log(tmp_path / "near.log"))
        assert os.readlink(f"/proc/{pid}/cwd") == str(tmp_path / "sub")
    assert json.dumps(answer).count("$HOME; ls *") == 1


@pytest.mark.req("MCP-28")
@pytest.mark.parametrize("length", [5_000, 200_000])
async def test_a_line_over_the_limit_fails_the_call_that_it_answers(tmp_path: Path, length: int) -> None:
    name = _scenario(
        tmp_path,
        on={
            "tools/call:long": [
                {"raw": '{"jsonrpc":"2.0","id":@@ID@@,"result":{"x":"' + f'@@BIG:{length}@@"' + "}}\n"}
            ],
            "tools/call:odd": [{"raw": f"@@BIG:{length}@@\n"}],
        },
    )
    async with dialled(replay_stdio(name, tmp_path), limits=McpLimits(message_max_bytes=4096)) as connection:
        for tool in ("long", "odd"):
            with anyio.fail_after(2), pytest.raises(McpFault, match="longer than 4096 bytes"):
                await connection.request("tools/call", {"name": tool}, timeout_s=5)
        assert "content" in await connection.request("tools/call", {"name": "t"}, timeout_s=5)


@pytest.mark.req("MCP-34")
async def test_odd_lines_are_skipped_and_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    noise = [
        {"raw": "\n\r\n  \n" + "banner " * 100 + "\n"},
        {"hex": "ff fe 0a"},
        {"raw": '{"jsonrpc":"2.0"}\n[]\n{"id":1,"result":{}}\n' + "[" * 100_000 + "\n"},
        {"hex": "efbbbf0d0a"},
    ]
    name = _scenario(
        tmp_path,
        start=noise,
        on={"tools/call": [{"hex": "efbbbf"}, {"raw": '{"jsonrpc":"2.0","id":@@ID@@,"result":{"é":1}}\r\n'}]},
    )
    async with dialled(replay_stdio(name, tmp_path)) as connection:
        assert await connection.request("tools/call", {"name": "t"}, timeout_s=5) == {"é": 1}
    (told,) = caplog.records
    event, _, excerpt = told.getMessage().partition(" excerpt=")
    assert event == "mcp_stdio_noise server=near"
    assert excerpt.startswith("banner")
    assert len(excerpt) <= 200


@pytest.mark.req("MCP-35")
async def test_of_standard_error_a_bounded_tail_is_kept_and_its_last_lines_shown(tmp_path: Path) -> None:
    lines = "".join(f"line {n} tok-secret-1\n" for n in range(30))
    name = _scenario(tmp_path, start=[{"stderr": 300_000}, {"stderr_text": lines}, {"exit": 4}])
    spec = replay_stdio(name, tmp_path, env={"KEY": "tok-secret-1"})
    async with mounted(spec) as manager:
        cause = manager.reports()[0].cause
    assert cause.startswith("the server exited with code 4; it said: line 10 [masked]\n")
    assert cause.endswith("line 29 [masked]")
    assert STDERR_TAIL_BYTES == 65_536


@pytest.mark.req("MCP-36", "MCP-37")
@pytest.mark.parametrize(
    ("end", "text"),
    [
        (
            "import os, sys, time; sys.stdin.readline(); os.close(1); time.sleep(60)",
            "closed its standard input or output",
        ),
        ("import os; os.kill(os.getpid(), 9)", "ended by signal 9"),
        ("raise SystemExit(7)", "exited with code 7"),
    ],
)
async def test_a_process_that_ends_or_closes_its_streams_is_told_at_once(end: str, text: str) -> None:
    with anyio.fail_after(9), pytest.raises(McpFault, match=text):
        async with dialled(stdio_spec(sys.executable, "-c", end, protocol="handshake", connect_timeout_s=5.0)):
            pytest.fail("it connected")


@pytest.mark.req("MCP-37")
async def test_a_process_that_closes_its_input_is_given_up() -> None:
    program = (
        "import json, os, sys, time\n"
        "asked = json.loads(sys.stdin.readline())\n"
        "hello = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'serverInfo': {}}\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': hello}), flush=True)\n"
        "os.close(0)\n"
        "time.sleep(60)\n"
    )
    fault = Fault.TIMEOUT
    async with dialled(stdio_spec(sys.executable, "-c", program, protocol="handshake")) as connection:
        with anyio.fail_after(5):
            while fault is Fault.TIMEOUT:
                with pytest.raises(McpFault) as caught:
                    await connection.request("tools/list", {}, timeout_s=0.1)
                fault = caught.value.fault
        with pytest.raises(McpFault) as caught:
            await connection.request("tools/list", {}, timeout_s=1)
    assert caught.value.fault is Fault.NOT_SENT


@pytest.mark.req("MCP-37")
async def test_an_exit_ends_the_open_calls_and_the_next_is_never_sent(tmp_path: Path) -> None:
    name = _scenario(tmp_path, on={"tools/call:stay": [{"sleep": 60}], "tools/call:go": [{"exit": 1}]})
    found: list[Fault] = []
    async with dialled(replay_stdio(name, tmp_path)) as connection:

        async def one(tool: str) -> None:
            with pytest.raises(McpFault) as caught:
                await connection.request("tools/call", {"name": tool}, timeout_s=30)
            found.append(caught.value.fault)

        with anyio.fail_after(2):
            async with anyio.create_task_group() as group:
                group.start_soon(one, "stay")
                await anyio.wait_all_tasks_blocked()
                group.start_soon(one, "go")
        await one("late")
    assert found == [Fault.CUT, Fault.CUT, Fault.NOT_SENT]


@pytest.mark.req("MCP-38")
async def test_a_close_reaps_a_grandchild_in_a_session_of_its_own_that_holds_the_pipes(tmp_path: Path) -> None:
    program = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(120)'], start_new_session=True)\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        f"sys.argv = ['x', {str(INPUTS / 'wire' / 'n2_no_prompts.stdio.json')!r}]\n"
        f"exec(open({str(INPUTS / 'replay' / 'stdio_replay.py')!r}).read())\n"
    )
    async with dialled(stdio_spec(sys.executable, "-c", program)) as connection:
        pid = int((tmp_path / "pid").read_text())
        assert Path(f"/proc/{pid}").exists()
        with anyio.fail_after(6):
            await connection.close()
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.req("MCP-68")
async def test_a_deadline_is_told_to_the_process_and_a_late_answer_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = _scenario(tmp_path, on={"tools/call:slow": [{"sleep": 0.4}, {"result": {"late": 1}}]})
    async with dialled(replay_stdio(name, tmp_path)) as connection:
        with anyio.fail_after(1), pytest.raises(McpFault) as caught:
            await connection.request("tools/call", {"name": "slow"}, timeout_s=0.1)
        assert caught.value.fault is Fault.TIMEOUT
        await anyio.sleep(0.5)
        assert "content" in await connection.request("tools/call", {"name": "t"}, timeout_s=5)
    sent = [line["recv"] for line in read_log(tmp_path / "near.log") if "recv" in line]
    assert any(isinstance(m, dict) and m.get("method") == "notifications/cancelled" for m in sent)
    assert caplog.records == []


async def test_a_process_that_never_reads_does_not_block_the_caller() -> None:
    spec = stdio_spec(sys.executable, "-c", "import time; time.sleep(60)", connect_timeout_s=0.5)
    with anyio.fail_after(3), pytest.raises(McpFault) as caught:
        async with dialled(spec):
            pytest.fail("it connected")
    assert caught.value.fault is Fault.TIMEOUT


async def test_messages_that_nobody_reads_are_refused_past_a_bound(tmp_path: Path) -> None:
    wire = StdioWire(stdio_spec("x"), root=None, environment={}, on_noise=lambda excerpt: None)
    for _ in range(QUEUE):
        await wire.send({"jsonrpc": "2.0", "method": "x"}, {})
    with pytest.raises(McpFault, match="does not read"):
        await wire.send({"jsonrpc": "2.0", "method": "x"}, {})
    with pytest.raises(McpFault, match="cannot start"):
        await wire.run(None)  # type: ignore[arg-type]  # nothing can arrive: the command does not exist


async def test_a_command_with_a_zero_byte_is_an_error_of_that_server() -> None:
    with pytest.raises(McpFault, match="cannot start the command"):
        async with dialled(stdio_spec("a\0b")):
            pytest.fail("it connected")


ECHO = """
import json, os

facts = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "n", "version": "1"}}
rest = b""
while chunk := os.read(0, 1 << 20):
    *lines, rest = (rest + chunk).split(b"\\n")
    for message in map(json.loads, lines):
        if "id" in message:
            size = len(message["params"].get("text", ""))
            result = facts if message["method"] == "initialize" else {"size": size}
            os.write(1, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\\n")
"""


@pytest.mark.parametrize("size", [10, 100_000])
async def test_calls_at_once_arrive_whole(size: int) -> None:
    answers: list[object] = []
    async with dialled(stdio_spec(sys.executable, "-c", ECHO, protocol="handshake")) as connection:

        async def ask() -> None:
            answers.append(await connection.request("echo", {"text": "x" * size}, timeout_s=10))

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(ask)
    assert answers == [{"size": size}] * 8
