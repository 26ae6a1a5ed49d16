"""Kind h, case 5: a denied command in a chain of commands."""

import json
import subprocess
from pathlib import Path

import pytest

from hilt.core.permission import Effect, PermissionRule, Subjects
from hilt.core.rule_text import parse_rule
from hilt.core.rulebook import RuleBook
from hilt.core.shell import analyse

_TABLE = json.loads((Path(__file__).parent / "inputs" / "h5_deny.json").read_text(encoding="utf-8"))


def _rule(effect: Effect, name: str) -> PermissionRule:
    return parse_rule(f"shell({name}:*)", effect=effect)


_RULES = RuleBook(
    [_rule(Effect.DENY, "rm"), *(_rule(Effect.ALLOW, n) for n in ("git", "echo", "true", "false", "printf", "ls"))]
)


def _run_if_allowed(line: str, folder: Path) -> Effect:
    """Decide as the shell tool does, and run what is allowed in real bash beside a file that must survive."""
    (folder / "victim.txt").touch()
    segments = analyse(line).subjects()
    decided = _RULES.decide("shell", Subjects(unnamed=segments, named={"command": segments})).effect
    if decided is Effect.ALLOW:
        subprocess.run(["/bin/bash", "-c", line], cwd=folder, check=False, capture_output=True, timeout=20)
    return decided


@pytest.mark.req("PRM-60", "PRM-61", "PRM-62")
@pytest.mark.parametrize("line", _TABLE["denied"])
def test_a_denied_command_is_stopped_wherever_it_stands(line: str, tmp_path: Path) -> None:
    assert _run_if_allowed(line, tmp_path) is Effect.DENY
    assert (tmp_path / "victim.txt").exists()


@pytest.mark.req("PRM-60")
@pytest.mark.parametrize("line", _TABLE["allowed"])
def test_a_denied_name_as_mere_text_runs(line: str, tmp_path: Path) -> None:
    assert _run_if_allowed(line, tmp_path) is Effect.ALLOW
    assert (tmp_path / "victim.txt").exists()


def test_the_table_is_whole() -> None:
    assert (len(_TABLE["denied"]), len(_TABLE["allowed"])) == (14, 6)
