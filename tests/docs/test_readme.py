"""The README: its commands run, its program runs, what it names exists."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
NOT_RUN = re.compile(r"^make ")


def blocks(language: str) -> list[str]:
    """Return the code blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def lines() -> list[str]:
    """Return the commands of the shell blocks, without their comments."""
    every = [line.split("   #")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    return [line for line in every if line and not NOT_RUN.match(line)]


def on_path() -> dict[str, str]:
    """Return an environment in which `hilt` is the one under test."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def test_there_are_commands_to_run() -> None:
    assert len(lines()) >= 5


@pytest.mark.parametrize("line", lines())
def test_a_command_of_the_readme_runs(line: str, tmp_path: Path) -> None:
    (tmp_path / "shelf.py").write_text("def total():\n    return 1\n")
    done = subprocess.run(
        shlex.split(line), cwd=tmp_path, env=on_path(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("program", blocks("python"))
def test_a_program_of_the_readme_runs(program: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "result"


def test_what_the_readme_names_exists() -> None:
    named = re.findall(r"`((?:tests|docs|examples)/[\w./-]*)`", TEXT)
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_readme_is_short() -> None:
    assert len(TEXT.splitlines()) <= 250
