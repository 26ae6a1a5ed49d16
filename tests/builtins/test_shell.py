"""The `shell` tool: its row, its output, its policy."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from hilt.adapters.runner_process import ProcessRunner, find_program, passed_on
from hilt.builtins.shell.shell import Shell, ShellPolicy
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.permission import Subject
from hilt.core.shell import analyse
from hilt.core.tool import ToolCall
from hilt.ports.results import RetainedResults, RetainedText
from hilt.ports.tool import DeadlinePerCall, Environment, Subjected, Tool


class Kept:
    """Keeps results under numbers."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def keep(self, text: str, *, structured: object | None = None) -> str:
        self.texts.append(text)
        return f"r{len(self.texts)}"

    def get(self, handle: str) -> RetainedText:
        return RetainedText(text=self.texts[int(handle[1:]) - 1])


def call(command: str, **more: object) -> ToolCall:
    return ToolCall("c1", "shell", json.dumps({"command": command, **more}))


def environment(root: Path, kept: Kept | None = None) -> Environment:
    runner = ProcessRunner(root, program=find_program(None, os.environ), environ=passed_on(os.environ))
    return Environment(runner=runner, services={} if kept is None else {RetainedResults: kept})


async def ran(
    root: Path, command: str, shell: Shell | None = None, kept: Kept | None = None, **more: object
) -> dict[str, object]:
    tool = Shell() if shell is None else shell
    result = await tool.execute(call(command, **more), environment(root, kept))
    assert (result.call_id, result.is_error, result.parts) == ("c1", False, ())
    body: dict[str, object] = json.loads(result.content)
    return body


async def refusal(root: Path, command: str, shell: Shell | None = None, **more: object) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await ran(root, command, shell, None, **more)
    return caught.value


@pytest.mark.req("BLT-07")
def test_the_schema_is_its_row() -> None:
    schema = Shell.spec.schema
    properties: Mapping[str, Mapping[str, object]] = schema.pop("properties")  # type: ignore[assignment]  # a schema of an object has these
    described = {key: {k: v for k, v in value.items() if k != "description"} for key, value in properties.items()}
    assert schema == {"type": "object", "required": ["command"], "additionalProperties": False}
    assert described["command"] == {"type": "string", "minLength": 1, "maxLength": 32_768}
    assert described["working_dir"]["type"] == "string"
    assert described["timeout_secs"] == {"type": "integer", "minimum": 1, "maximum": 86_400, "default": 120}
    assert described["background"] == {"type": "boolean", "default": False}
    assert set(described) == {"command", "working_dir", "timeout_secs", "background"}
    assert all("description" in value for value in properties.values())


@pytest.mark.req("BLT-08")
def test_it_changes_things() -> None:
    shell = Shell()
    assert isinstance(shell, Tool)
    assert isinstance(shell, Subjected)
    assert isinstance(shell, DeadlinePerCall)
    assert not shell.read_only


@pytest.mark.req("BLT-30", "BLT-33")
async def test_the_result_holds_exit_code_and_both_streams(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    body = await ran(tmp_path, "pwd -P; echo oops >&2; exit 3", working_dir="sub")
    assert body.pop("duration_secs") >= 0  # type: ignore[operator]  # JSON: the value is a number
    assert body == {
        "exit_code": 3,
        "stdout": f"{os.path.realpath(tmp_path)}/sub\n",
        "stderr": "oops\n",
        "timed_out": False,
        "stdout_lossy": False,
        "stderr_lossy": False,
    }


@pytest.mark.req("BLT-33")
async def test_a_signal_leaves_no_exit_code(tmp_path: Path) -> None:
    body = await ran(tmp_path, "kill -9 $$")
    assert (body["exit_code"], body["timed_out"]) == (None, False)


@pytest.mark.req("BLT-34")
async def test_a_command_over_its_time_is_a_result_with_the_output_so_far(tmp_path: Path) -> None:
    body = await ran(tmp_path, "echo some; sleep 300", timeout_secs=1)
    assert (body["exit_code"], body["stdout"], body["timed_out"]) == (None, "some\n", True)


@pytest.mark.req("BLT-34")
def test_the_deadline_of_a_call_is_the_commands_own_and_ten_seconds() -> None:
    assert Shell().deadline_s(call("true")) == 130
    assert Shell().deadline_s(call("true", timeout_secs=600)) == 610
    assert Shell().deadline_s(call("true", timeout_secs=86_400, background=True)) == 30


@pytest.mark.req("BLT-36")
async def test_long_output_is_cut_to_the_cap_and_stays_readable(tmp_path: Path) -> None:
    kept = Kept()
    command = "printf 'é%.0s' $(seq 40000); head -c 30000 /dev/zero | tr '\\0' '\"' >&2"
    result = await Shell().execute(call(command), environment(tmp_path, kept))
    assert 24_000 < len(result.content.encode()) <= 25_000
    assert kept.texts == ["é" * 40_000, '"' * 30_000]
    body = json.loads(result.content)
    assert "ReadResult(handle='r1', offset=" in body["stdout"]
    assert "ReadResult(handle='r2', offset=" in body["stderr"]
    assert body["stdout"].startswith("é")
    assert body["stdout"].endswith("é")
    assert (body["stdout_lossy"], body["stderr_lossy"]) == (False, False)


@pytest.mark.req("BLT-36")
async def test_a_mebibyte_is_kept_and_the_rest_is_counted(tmp_path: Path) -> None:
    kept = Kept()
    body = await ran(tmp_path, "head -c 2000000 /dev/zero | tr '\\0' x", kept=kept)
    (text,) = kept.texts
    assert len(text) == 1_048_576 + len("\n[... 951424 bytes were not kept ...]\n")
    assert "[... 951424 bytes were not kept ...]" in text
    assert "bytes left out" in str(body["stdout"])


async def test_without_a_place_to_keep_results_the_mark_names_no_handle(tmp_path: Path) -> None:
    body = await ran(tmp_path, "head -c 30000 /dev/zero | tr '\\0' x")
    assert "bytes left out ...]" in str(body["stdout"])


@pytest.mark.req("BLT-37")
async def test_bytes_that_are_no_text_are_replaced_and_told(tmp_path: Path) -> None:
    body = await ran(tmp_path, "printf 'a\\377b'; printf ok >&2")
    assert (body["stdout"], body["stdout_lossy"]) == ("a\ufffdb", True)
    assert (body["stderr"], body["stderr_lossy"]) == ("ok", False)


@pytest.mark.parametrize("value", [601, 86_400])
async def test_a_longer_time_needs_the_background(tmp_path: Path, value: int) -> None:
    error = await refusal(tmp_path, "touch ran", timeout_secs=value)
    assert (error.code, error.reason) == (
        ErrorCode.INVALID_ARGUMENTS,
        "timeout_secs: at most 600 without background",
    )
    assert os.listdir(tmp_path) == []


async def test_a_session_that_keeps_no_jobs_has_no_background(tmp_path: Path) -> None:
    error = await refusal(tmp_path, "touch ran", background=True)
    assert error.code is ErrorCode.TOOL_UNAVAILABLE
    assert "cannot run commands in the background" in error.reason
    assert os.listdir(tmp_path) == []


async def test_a_session_without_commands_says_so() -> None:
    with pytest.raises(ToolError) as caught:
        await Shell().execute(call("true"), Environment())
    assert caught.value.code is ErrorCode.TOOL_UNAVAILABLE


@pytest.mark.req("PRM-10")
def test_patterns_see_segments_and_three_arguments() -> None:
    command = "git status; rm x"
    segments = analyse(command).subjects()
    subjects = Shell().subjects(call(command, working_dir="sub", timeout_secs=5))
    assert subjects.unnamed == segments
    assert [segment.text for segment in segments] == ["git status", "rm x"]
    assert subjects.named == {
        "command": segments,
        "working_dir": (Subject(text="sub", kind="path"),),
        "background": (),
    }
    assert Shell().subjects(call(command, background=True)).named["background"] == (Subject(text="true"),)


@pytest.mark.req("PRM-64")
def test_text_for_a_program_that_is_not_posix_is_opaque() -> None:
    unnamed = Shell(posix=False).subjects(call("echo hi")).unnamed
    assert unnamed is not None
    assert all(subject.opaque for subject in unnamed)


DENIED = "rm victim.txt"


@pytest.mark.req("PRM-66", "PRM-67", "PRM-68", "BLT-45")
@pytest.mark.parametrize(
    ("policy", "command", "runs"),
    [
        (ShellPolicy(), DENIED, True),
        (ShellPolicy(mode="allow_list"), "true", False),
        (ShellPolicy(mode="allow_list", patterns=("true",)), "true", True),
        (ShellPolicy(mode="allow_list", patterns=("true",)), "true; rm victim.txt", False),
        (ShellPolicy(mode="allow_list", patterns=("*",)), "eval 'rm victim.txt'", False),
        (ShellPolicy(mode="deny_list"), DENIED, True),
        (ShellPolicy(mode="deny_list", patterns=("rm *",)), "true && rm victim.txt", False),
        (ShellPolicy(mode="deny_list", patterns=("rm *",)), "nice rm victim.txt", False),
        (ShellPolicy(mode="deny_list", patterns=("rm *",)), "true", True),
    ],
)
@pytest.mark.parametrize("background", [False, True])
async def test_the_policy_holds_for_foreground_and_background(
    tmp_path: Path, policy: ShellPolicy, command: str, runs: bool, background: bool
) -> None:
    (tmp_path / "victim.txt").write_text("")
    shell = Shell(policy=policy)
    asked = call(command, background=background)
    if runs:
        assert shell.refuses(asked) is None
        if not background:
            await ran(tmp_path, command, shell)
        return
    error = await refusal(tmp_path, command, shell, background=background)
    assert error.code is ErrorCode.ACCESS_DENIED
    assert error.reason.startswith("Security policy violation: ")
    assert shell.refuses(asked) == error.reason
    assert (tmp_path / "victim.txt").exists()


@pytest.mark.req("PRM-69")
def test_what_cannot_be_analysed_is_asked_with_a_deny_list() -> None:
    opaque = call("$COMMAND x")
    asks = {
        mode: Shell(policy=ShellPolicy(mode=mode, patterns=("rm *",))).must_ask(opaque)
        for mode in ("unrestricted", "deny_list")
    }
    assert asks["unrestricted"] is None
    assert asks["deny_list"] is not None
    assert Shell(policy=ShellPolicy(mode="deny_list", patterns=("rm *",))).must_ask(call("echo hi")) is None
