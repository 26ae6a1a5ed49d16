"""Kind h: commands that leave things behind, wait for somebody, write too much or no text."""

import json
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from hilt.adapters.runner_process import ProcessRunner, find_program, passed_on
from hilt.builtins.shell.shell import Shell
from hilt.core.tool import ToolCall
from hilt.ports.tool import Environment
from tests.adapters.marked import Mark


@pytest.fixture
def mark() -> Iterator[Mark]:
    mark = Mark()
    yield mark
    mark.kill()


class Body:
    """What a shell call gave."""

    def __init__(self, content: str) -> None:
        self.size = len(content.encode())
        self.json: dict[str, object] = json.loads(content)
        self.stdout = str(self.json["stdout"])
        self.stderr = str(self.json["stderr"])
        self.exit_code = self.json["exit_code"]
        self.timed_out = self.json["timed_out"]


async def shell(root: Path, mark: Mark, command: str, timeout_s: int = 20, cap_bytes: int = 25_000) -> Body:
    program = find_program(None, os.environ)
    runner = ProcessRunner(root, program=program, environ=passed_on(mark.env))
    call = ToolCall("c1", "shell", json.dumps({"command": command, "timeout_secs": timeout_s}))
    result = await Shell(output_cap_bytes=cap_bytes).execute(call, Environment(runner=runner))
    assert not result.is_error
    return Body(result.content)


@pytest.mark.req("BLT-35")
@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("sleep 30 & echo done", "done\n"),
        ("(sleep 30; echo late) > /dev/null & echo $!", None),
        ("nohup sleep 30 & sleep 1; echo ok", "ok\n"),
    ],
)
async def test_h1_a_command_that_leaves_something_in_the_background_returns(
    tmp_path: Path, mark: Mark, command: str, says: str | None
) -> None:
    with anyio.fail_after(8):
        body = await shell(tmp_path, mark, command)
    assert (body.exit_code, body.timed_out) == (0, False)
    assert body.stdout == says if says is not None else body.stdout.strip().isdigit()
    assert mark.alive() == []


@pytest.mark.req("BLT-34")
@pytest.mark.parametrize(
    ("command", "starts"),
    [
        ("sleep 60 | sleep 60", ""),
        ("setsid sleep 60; echo no", ""),
        ("bash -c 'setsid bash -c \"while :; do echo x; sleep 0.2; done\" & wait'", "x\nx\n"),
    ],
)
async def test_h2_the_time_limit_reaches_grandchildren(tmp_path: Path, mark: Mark, command: str, starts: str) -> None:
    with anyio.fail_after(10):
        body = await shell(tmp_path, mark, command, timeout_s=2)
    assert (body.exit_code, body.timed_out) == (None, True)
    assert body.stdout.startswith(starts)
    assert "no" not in body.stdout
    assert mark.alive() == []


@pytest.mark.req("BLT-36")
@pytest.mark.parametrize("limit", range(997, 1004))
async def test_h3_output_is_never_cut_inside_a_letter(tmp_path: Path, mark: Mark, limit: int) -> None:
    command = "python3 -c \"print('✓é日😀' * 50000)\""
    body = await shell(tmp_path, mark, command, cap_bytes=limit)
    assert body.size <= limit
    assert "\ufffd" not in body.stdout
    assert body.json["stdout_lossy"] is False
    head, _, rest = body.stdout.partition("\n[... ")
    number, _, tail = rest.partition(" ...]\n")
    assert "✓é日😀".startswith(head[:4])
    assert tail.endswith("✓é日😀\n")
    assert int(number.split()[0]) > 500_000


@pytest.mark.req("BLT-37")
async def test_h3_a_letter_in_two_writes_is_joined(tmp_path: Path, mark: Mark) -> None:
    body = await shell(tmp_path, mark, r"printf '\xe2'; sleep 0.2; printf '\x9c\x93'")
    assert (body.stdout, body.json["stdout_lossy"]) == ("✓", False)


@pytest.mark.req("BLT-30")
@pytest.mark.parametrize(
    ("command", "exit_code", "stdout"),
    [
        ("cat", 0, ""),
        ("python3", 0, ""),
        ("read -p 'go? ' x; echo \"[$x]\"", 0, "[]\n"),
    ],
)
async def test_h4_commands_that_wait_for_input_end_at_once(
    tmp_path: Path, mark: Mark, command: str, exit_code: int, stdout: str
) -> None:
    with anyio.fail_after(8):
        body = await shell(tmp_path, mark, command)
    assert (body.exit_code, body.stdout) == (exit_code, stdout)


@pytest.mark.req("BLT-30")
async def test_h4_git_commit_opens_no_editor(tmp_path: Path, mark: Mark) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with anyio.fail_after(8):
        body = await shell(tmp_path, mark, "git commit --allow-empty")
    assert body.exit_code == 1
    assert "empty commit message" in body.stderr


@pytest.mark.req("BLT-30")
async def test_h4_there_is_no_terminal(tmp_path: Path, mark: Mark) -> None:
    with anyio.fail_after(8):
        body = await shell(tmp_path, mark, "python3 -c \"open('/dev/tty')\"")
    assert body.exit_code == 1
    assert "/dev/tty" in body.stderr


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.req("BLT-36")
@pytest.mark.parametrize("command", ["yes", "head -c 300000000 /dev/zero"])
async def test_h7_output_without_end_takes_little_memory(tmp_path: Path, mark: Mark, command: str) -> None:
    before = _peak_kib()
    with anyio.fail_after(20):
        body = await shell(tmp_path, mark, command, timeout_s=2 if command == "yes" else 20)
    assert _peak_kib() - before < 64 * 1024
    assert body.size <= 25_000
    assert body.timed_out is (command == "yes")
    assert mark.alive() == []


@pytest.mark.req("BLT-37")
async def test_h7_bytes_that_are_no_text_and_control_codes_are_harmless(tmp_path: Path, mark: Mark) -> None:
    body = await shell(tmp_path, mark, r"printf 'a\xff\xfeb\0c'")
    assert (body.stdout, body.json["stdout_lossy"]) == ("a\ufffd\ufffdb\0c", True)
    body = await shell(tmp_path, mark, r"printf '\033[31mred\033[0m 10%%\r50%%\r100%%\n'")
    assert body.stdout == "\x1b[31mred\x1b[0m 10%\r50%\r100%\n"
