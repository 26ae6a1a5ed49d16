"""Runs `hilt` in a workspace of its own: inside the test's process, or as the real command."""

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from hilt.app.load import process_environment
from hilt.cli import main
from hilt.cli.logs import MaskedFormatter
from tests.app.places import Machine


@dataclass(frozen=True, kw_only=True)
class Ran:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        """The one document of standard output."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value

    @property
    def error(self) -> dict[str, str]:
        """The error that a command with --json told."""
        value = json.loads(self.err.splitlines()[-1])["error"]
        assert isinstance(value, dict)
        return value


class Hilt:
    """The command line on one machine."""

    def __init__(self, machine: Machine, patch: pytest.MonkeyPatch) -> None:
        self.machine = machine
        self._patch = patch

    @property
    def root(self) -> Path:
        """The workspace, which is the current directory."""
        return self.machine.root

    def variables(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of the command."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        return {**kept, "HOME": str(self.machine.home), "PROMPT_TOOLKIT_NO_CPR": "1", **(more or {})}

    def __call__(self, *args: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Ran:
        """Run the command in this process."""
        out, err = io.StringIO(), io.StringIO()
        with self._patch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.delenv("XDG_CONFIG_HOME", raising=False)
            patch.delenv("XDG_STATE_HOME", raising=False)
            for name, value in {"HOME": str(self.machine.home), **(env or {})}.items():
                patch.setenv(name, value)
            patch.chdir(self.root)
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            process_environment.cache_clear()
            try:
                code = main.run(args)
            finally:
                process_environment.cache_clear()
                forget_logging()
        return Ran(code=code, out=out.getvalue(), err=without_toolhive(err.getvalue()))

    def start(
        self, *args: str, env: Mapping[str, str] | None = None, stdin: int = subprocess.PIPE
    ) -> "subprocess.Popen[str]":
        """Start the real command."""
        return subprocess.Popen(
            command(args),
            cwd=self.root,
            env=self.variables(env),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def really(self, *args: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Ran:
        """Run the real command to its end."""
        with self.start(*args, env=env) as process:
            out, err = process.communicate(stdin, timeout=50)
        return Ran(code=process.returncode, out=out, err=without_toolhive(err))

    def script(self, *answers: object, name: str = "script.jsonl") -> str:
        """Write a script of model answers and return it as a model."""
        lines = "".join(json.dumps(answer) + "\n" for answer in answers)
        (self.root / name).write_text(lines, encoding="utf-8")
        return f"scripted:{name}"


def without_toolhive(err: str) -> str:
    """Return what was written to standard error but for the line that says that ToolHive is not here."""
    return "".join(line for line in err.splitlines(keepends=True) if "toolhive_not_used" not in line)


def command(args: Sequence[str]) -> list[str]:
    """Return the command line of the real command."""
    return [sys.executable, "-m", "hilt", *args]


def forget_logging() -> None:
    """Take away the log handler of a command that ended."""
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one.formatter, MaskedFormatter)]:
        root.removeHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("hilt").setLevel(logging.NOTSET)
