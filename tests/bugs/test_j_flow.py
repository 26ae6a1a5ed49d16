"""Kind j, hooks in front of a real shell: the settings' commands, whole turns, what is left of the command."""

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from hilt.app.flags import Flags
from hilt.core.tool import ToolResult
from tests.adapters.marked import NAME, Mark
from tests.app.house import house
from tests.app.places import Machine
from tests.flows.kit import Recorder, call

HOOKS = Path(__file__).parent / "inputs" / "hooks"


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mark]:
    mark = Mark()
    monkeypatch.setenv(NAME, mark.value)
    yield mark
    monkeypatch.delenv(NAME)
    mark.kill()


def hook(script: str, **options: object) -> str:
    """Return settings with one hook before every tool."""
    entry = {"name": script, "command": f"'{HOOKS / script}'", **options}
    return "hooks:\n  PreToolUse:\n    - " + json.dumps(entry) + "\n"


async def shell(machine: Machine, command: str, flags: Flags, recorder: Recorder | None = None) -> ToolResult:
    """Let the model ask for one command and return its result."""
    config = machine.load(flags, PATH=os.environ["PATH"])
    async with house(machine.root, config=config, enable={"shell"}, recorder=recorder) as home:
        session = await home.app.sessions.create()
        (result,) = await home.turn(session, call("shell", {"command": command}))
    return result


@pytest.mark.req("HOK-12")
async def test_j2_exit_two_without_a_word_blocks(tmp_path: Path) -> None:
    machine = Machine.below(tmp_path)
    machine.user(hook("j2_exit2_silent.sh"))
    result = await shell(machine, "touch ran.txt", Flags(allow=("shell",)))
    assert not (machine.root / "ran.txt").exists()
    told = json.loads(result.content)
    assert told["error"] == "access_denied"
    assert "j2_exit2_silent.sh" in told["message"]
    assert "exit code 2" in told["message"]


@pytest.mark.req("HOK-15", "HOK-17", "HOK-18")
@pytest.mark.parametrize("on_failure", ["block", "allow"])
@pytest.mark.parametrize("script", ["j3_hang.sh", "j3_crash.sh", "j3_garbage.sh", "j3_is_not_there.sh"])
async def test_j3_a_hook_that_hangs_dies_or_talks_nonsense_means_what_was_stated(
    tmp_path: Path, mark: Mark, script: str, on_failure: str, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine.below(tmp_path)
    machine.user(hook(script, on_failure=on_failure, timeout_s=2))
    with anyio.fail_after(8), caplog.at_level(logging.WARNING):
        result = await shell(machine, "touch ran.txt", Flags(allow=("shell",)))
    assert (machine.root / "ran.txt").exists() is (on_failure == "allow")
    warned = [record for record in caplog.records if "hook_failed" in record.getMessage()]
    assert len(warned) == (1 if on_failure == "allow" else 0)
    if on_failure == "block":
        told = json.loads(result.content)
        assert told["error"] == "access_denied"
        assert script in told["message"]
        assert "failed" in told["message"]
    assert mark.alive() == []


@pytest.mark.req("HOK-17")
async def test_j3_without_a_word_on_failure_a_guard_fails_closed(tmp_path: Path) -> None:
    machine = Machine.below(tmp_path)
    machine.user(hook("j3_crash.sh"))
    await shell(machine, "touch ran.txt", Flags(allow=("shell",)))
    assert not (machine.root / "ran.txt").exists()


@pytest.mark.req("HOK-03", "HOK-08", "DSP-24")
@pytest.mark.parametrize(
    ("script", "asked"), [("j4_rewrite.sh", "echo hi"), ("j4_wrap.sh", "rm victim.txt"), ("j4_wrap.sh", "echo hi")]
)
@pytest.mark.parametrize("allowed", ["shell", "shell(nice:*)", "shell(rm:*)"])
async def test_j4_a_deny_matches_before_and_after_a_rewrite(
    tmp_path: Path, script: str, asked: str, allowed: str
) -> None:
    machine = Machine.below(tmp_path)
    machine.user(hook(script))
    machine.file("victim.txt", "precious")
    recorder = Recorder()
    result = await shell(machine, asked, Flags(allow=(allowed,), deny=("shell(rm:*)",)), recorder)
    assert (machine.root / "victim.txt").read_text() == "precious"
    assert json.loads(result.content)["error"] == "access_denied"
    (record,) = recorder.records
    assert record.detail["decision"] == "deny"
    if asked == "echo hi" and allowed == "shell":
        assert record.detail["hooks"] == [script]
        assert f"rewritten by hook {script}" in str(record.detail["coercions"])
        assert "rm victim.txt" in str(record.call.arguments["command"])


@pytest.mark.req("HOK-08")
async def test_j4_a_hooks_allow_lifts_no_ask(tmp_path: Path) -> None:
    machine = Machine.below(tmp_path)
    machine.user(hook("j4_rewrite.sh"))
    machine.file("victim.txt", "precious")
    result = await shell(machine, "echo hi", Flags())
    assert "no approver" in result.content
    assert (machine.root / "victim.txt").exists()


@pytest.mark.req("DSP-24")
async def test_j4_arguments_that_a_hook_changed_are_checked_against_the_schema_again(tmp_path: Path) -> None:
    machine = Machine.below(tmp_path)
    answer = {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "x", "timeout_secs": 0}}
    }
    machine.file("answer.json", json.dumps(answer))
    machine.user("hooks: {PreToolUse: [{name: odd, command: cat answer.json}]}\n")
    result = await shell(machine, "touch ran.txt", Flags(allow=("shell",)))
    told = json.loads(result.content)
    assert told["error"] == "invalid_arguments"
    assert "odd" in told["message"]
    assert not (machine.root / "ran.txt").exists()
