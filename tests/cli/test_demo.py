"""`hilt demo`: the main job runs, offline, and shows what it promises."""

import json
import os
import subprocess
import sys
from pathlib import Path

HILT = [sys.executable, "-m", "hilt"]


def demo(tmp_path: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the demo in an empty folder."""
    return subprocess.run(
        [*HILT, "demo", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_demo_shows_each_part_of_the_main_job_and_ends_well(tmp_path: Path) -> None:
    done = demo(tmp_path)
    assert done.returncode == 0, done.stderr
    out = done.stdout
    for part in (
        "MCP server git: 12 tools, ready",
        "hook 'short-log' rewrote the arguments",
        "ask  Write",
        "the rule 'shell(rm:*)' (SharedProject) denies it",
        "cut, the rest in pages by ReadResult",
        "withheld: too large. Outline: ",
        "o-0040",
        "end_turn: 9 turns",
        "audit  tool",
    ):
        assert part in out, part
    assert done.stderr == ""
    assert os.listdir(tmp_path) == []


def test_the_audit_of_the_demo_can_be_had_as_json(tmp_path: Path) -> None:
    done = demo(tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    records = json.loads(done.stdout)
    assert {record["decision"] for record in records} == {"allow", "allow_once", "deny"}
    assert all(record["type"] == "tool_call" for record in records)


def test_a_server_that_is_not_installed_is_said_before_anything_starts(tmp_path: Path) -> None:
    done = demo(tmp_path, "--everything", "nowhere/index.js")
    assert done.returncode == 2
    assert "nowhere/index.js" in done.stderr
    assert done.stdout == ""


def test_a_real_model_needs_a_key(tmp_path: Path) -> None:
    done = demo(tmp_path, "--live")
    assert done.returncode == 2
    assert "ANTHROPIC_API_KEY" in done.stderr
