"""The runner of shell commands: text, folder, variables, ends, places."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from hilt.adapters.runner_process import ProcessPlaces, ProcessRunner, find_program, is_posix, passed_on
from hilt.core.errors import ConfigError, ErrorCode, ToolError
from tests.adapters.marked import Mark


@pytest.fixture
def mark() -> Iterator[Mark]:
    mark = Mark()
    yield mark
    mark.kill()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "file").write_text("")
    (root / "out").symlink_to(tmp_path)
    (root / "inner").symlink_to(root / "sub")
    return root


def runner(root: Path, environ: dict[str, str] | None = None, limit: int = 10) -> ProcessRunner:
    return ProcessRunner(
        root,
        program="/bin/bash",
        environ=passed_on(dict(os.environ) if environ is None else environ),
        places=ProcessPlaces(limit),
    )


@pytest.mark.req("BLT-30", "PRM-70")
@pytest.mark.parametrize(
    "text",
    ["echo 'a  b'", "printf '%s\\n' \"$0\"", "echo é😀", "cat <<'X'\n\ttab 'quote\nX\n", "echo a; # b"],
)
async def test_the_text_is_given_to_the_program_byte_for_byte(root: Path, tmp_path: Path, text: str) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!{sys.executable} -I\nimport os, sys\nos.write(1, repr(sys.argv[1:]).encode())\n")
    program.chmod(0o755)
    ran = await ProcessRunner(root, program=str(program), environ=passed_on(os.environ)).run(text, timeout_s=15)
    assert ran.stdout.decode() == repr(["-c", text])


@pytest.mark.req("BLT-30")
async def test_a_command_has_a_session_of_its_own_and_no_input(root: Path) -> None:
    script = "import os,sys; print(os.getsid(0) == os.getppid() == os.getpgid(0), sys.stdin.read() + '.')"
    ran = await runner(root).run(f'{sys.executable} -c "{script}"; true', timeout_s=15)
    assert ran.stdout == b"True .\n"


@pytest.mark.req("BLT-30")
async def test_git_neither_asks_nor_opens_an_editor(root: Path) -> None:
    ran = await runner(root).run('echo "$GIT_TERMINAL_PROMPT $GIT_EDITOR"', timeout_s=15)
    assert ran.stdout == b"0 true\n"


@pytest.mark.req("BLT-30")
@pytest.mark.parametrize(("folder", "lands"), [("", ""), (".", ""), ("sub", "sub"), ("sub/..", ""), ("inner", "sub")])
async def test_a_command_runs_in_the_workspace_or_a_folder_in_it(root: Path, folder: str, lands: str) -> None:
    for working_dir in (folder, str(root / folder)):
        ran = await runner(root).run("pwd -P", timeout_s=15, working_dir=working_dir)
        assert ran.stdout.decode().strip() == str(root / lands).rstrip("/")


@pytest.mark.req("BLT-30")
@pytest.mark.parametrize("folder", ["..", "/", "out", "sub/../..", "/nope", "../nope", "out/nope", "\0"])
async def test_a_folder_outside_the_workspace_is_refused(root: Path, folder: str) -> None:
    with pytest.raises(ToolError) as caught:
        await runner(root).run("touch ran", timeout_s=15, working_dir=folder)
    assert caught.value.code is ErrorCode.ACCESS_DENIED


@pytest.mark.parametrize("folder", ["nope", "file"])
async def test_a_folder_that_is_none_is_an_error(root: Path, folder: str) -> None:
    with pytest.raises(ToolError) as caught:
        await runner(root).run("true", timeout_s=15, working_dir=folder)
    assert (caught.value.code, caught.value.reason) == (
        ErrorCode.EXECUTION_FAILED,
        f"working_dir {folder!r} is no directory",
    )


@pytest.mark.parametrize("text", ["echo \0", "echo \ud800"])
async def test_a_text_that_no_program_can_be_given_is_an_argument_error(root: Path, text: str) -> None:
    with pytest.raises(ToolError) as caught:
        await runner(root).run(text, timeout_s=15)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.req("BLT-31")
def test_the_program_is_bash_or_else_sh_or_exactly_the_configured_one(tmp_path: Path) -> None:
    for name in ("sh", "bash", "fish"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    environ = {"PATH": str(tmp_path)}
    assert find_program(None, environ) == str(tmp_path / "bash")
    assert find_program("fish", environ) == str(tmp_path / "fish")
    (tmp_path / "bash").unlink()
    assert find_program(None, environ) == str(tmp_path / "sh")
    assert find_program(str(tmp_path / "fish"), {"PATH": ""}) == str(tmp_path / "fish")


@pytest.mark.req("BLT-31", "BLT-06")
@pytest.mark.parametrize("configured", ["bash", "nope", "/nope/bash", None])
def test_a_program_that_is_missing_stops_the_build(tmp_path: Path, configured: str | None) -> None:
    if configured is not None:
        (tmp_path / "sh").write_text("")
        (tmp_path / "sh").chmod(0o755)
    with pytest.raises(ConfigError) as caught:
        find_program(configured, {"PATH": str(tmp_path)})
    assert caught.value.key == "shell.program"


@pytest.mark.req("PRM-64")
def test_programs_that_do_not_read_posix_text_are_told_apart() -> None:
    assert [is_posix(name) for name in ("/bin/bash", "sh", "/usr/bin/fish", "pwsh", "zsh")] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.req("BLT-32")
def test_variables_that_may_hold_secrets_are_held_back_unless_they_are_named() -> None:
    secret = [
        "API_KEY",
        "keyring",
        "MY_TOKENS",
        "Secret",
        "DB_PASSWORD",
        "AWS_CREDENTIALS",
        "HILT_X",
        "MCP_Y",
    ]
    environ = dict.fromkeys([*secret, "PATH", "HOME", "LANG", "XHILT_", "BASH_ENV", "BASH_FUNC_git%%"], "x")
    fixed = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"}
    plain = {"PATH": "x", "HOME": "x", "LANG": "x", "XHILT_": "x"}
    assert passed_on(environ) == plain | fixed
    assert passed_on(environ, ["API_KEY", "HILT_X"]) == plain | fixed | {"API_KEY": "x", "HILT_X": "x"}


@pytest.mark.req("BLT-32")
async def test_a_command_sees_only_what_is_passed_on_also_of_its_parents(root: Path) -> None:
    environ = {**os.environ, "MY_API_KEY": "hidden-value"}
    script = 'env; cat /proc/$PPID/environ | tr "\\0" "\\n"; echo "$MORE"'
    ran = await runner(root, environ).run(script, timeout_s=15, env={"MORE": "more"})
    assert b"hidden-value" not in ran.stdout
    assert ran.stdout.endswith(b"more\n")


@pytest.mark.req("BLT-33")
async def test_an_exit_code_is_a_result_and_a_signal_has_none(root: Path) -> None:
    assert (await runner(root).run("exit 41", timeout_s=15)).exit_code == 41
    ended = await runner(root).run("echo x; kill -9 $$", timeout_s=15)
    assert (ended.exit_code, ended.stdout, ended.timed_out) == (None, b"x\n", False)


@pytest.mark.req("BLT-34")
async def test_at_the_timeout_the_output_so_far_is_kept_and_the_tree_ended(root: Path, mark: Mark) -> None:
    with anyio.fail_after(20):
        ran = await runner(root, mark.env).run("echo some; (trap '' TERM; sleep 300); sleep 300", timeout_s=0.5)
    assert (ran.exit_code, ran.stdout, ran.timed_out) == (None, b"some\n", True)
    assert mark.alive() == []


@pytest.mark.req("BLT-34")
async def test_the_group_gets_term_before_it_is_killed(root: Path) -> None:
    with anyio.fail_after(20):
        ran = await runner(root).run("trap 'echo told; exit' TERM; while :; do sleep 0.05; done", timeout_s=0.5)
    assert (ran.exit_code, ran.stdout, ran.timed_out) == (None, b"told\n", True)


@pytest.mark.req("BLT-35")
async def test_children_that_are_left_when_the_command_ends_are_killed(root: Path, mark: Mark) -> None:
    with anyio.fail_after(20):
        ran = await runner(root, mark.env).run("sleep 300 & setsid sleep 300 & echo done", timeout_s=300)
    assert (ran.exit_code, ran.stdout) == (0, b"done\n")
    assert mark.alive() == []


@pytest.mark.req("BLT-36")
async def test_a_mebibyte_of_each_stream_is_kept(root: Path) -> None:
    ran = await runner(root).run("head -c 1500000 /dev/zero; head -c 3 /dev/zero >&2", timeout_s=15)
    assert (len(ran.stdout), ran.stdout_dropped) == (1_048_576, 1_500_000 - 1_048_576)
    assert (len(ran.stderr), ran.stderr_dropped) == (3, 0)


@pytest.mark.req("BLT-38")
async def test_one_start_too_many_fails_and_the_others_run(root: Path) -> None:
    shell = runner(root, limit=3)
    refused: list[str] = []
    codes: list[int | None] = []

    async def run() -> None:
        try:
            codes.append((await shell.run("until [ -e go ]; do sleep 0.02; done", timeout_s=15)).exit_code)
        except ToolError as error:
            refused.append(error.reason)
            (root / "go").write_text("")

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(run)
    assert refused == ["Concurrency limit exceeded: 3 processes, limit is 3"]
    assert codes == [0, 0, 0]
    assert (await shell.run("true", timeout_s=15)).exit_code == 0


async def test_a_program_that_is_gone_is_an_error_without_its_path(root: Path) -> None:
    shell = ProcessRunner(root, program="/nope/bash", environ={})
    with pytest.raises(ToolError) as caught:
        await shell.run("true", timeout_s=15)
    assert caught.value.reason == "cannot start 'bash': No such file or directory"


async def test_cancelling_the_caller_kills_the_command_and_frees_its_place(root: Path, mark: Mark) -> None:
    shell = runner(root, mark.env, limit=1)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:

            async def run() -> None:
                await shell.run("sleep 300 & sleep 300", timeout_s=300)

            group.start_soon(run)
            await mark.reach(3)
            group.cancel_scope.cancel()
        assert mark.alive() == []
        assert (await shell.run("true", timeout_s=15)).exit_code == 0
