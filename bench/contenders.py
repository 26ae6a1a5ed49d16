"""The peers that a call is compared with, and their environments in `.venv-bench/`, one each, made on demand."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bench.timing import ROOT

HOME = ROOT / ".venv-bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A peer: its module in `bench.peers` and the requirement that installs it."""

    module: str
    requirement: str

    @property
    def own_python(self) -> Path:
        """Where the interpreter of its environment is, once it is made."""
        return HOME / self.module / "bin" / "python"

    def python(self) -> Path | None:
        """Return an interpreter that has the peer, None when none has."""
        if self.own_python.exists():
            return self.own_python
        has_it = self.module == "pydantic_ai" and find_spec("pydantic_ai") is not None
        return Path(sys.executable) if has_it else None


CONTENDERS = (
    Contender(module="pydantic_ai", requirement="pydantic-ai-slim==2.68.0"),
    Contender(module="openai_agents", requirement="openai-agents==0.24.0"),
    Contender(module="strands", requirement="strands-agents==1.62.0"),
    Contender(module="google_adk", requirement="google-adk==2.13.0"),
    Contender(module="langgraph", requirement="langgraph==1.2.24"),
)


def install() -> list[str]:
    """Make the environments that are missing and return the names of the peers that could not be installed."""
    HOME.mkdir(exist_ok=True)
    (HOME / ".gitignore").write_text("*\n", encoding="utf-8")
    failed = []
    for contender in CONTENDERS:
        if contender.own_python.exists():
            continue
        print(f"installing {contender.requirement} …", flush=True)
        folder = HOME / contender.module
        try:
            _make(folder, contender.requirement)
        except subprocess.CalledProcessError as exc:
            shutil.rmtree(folder, ignore_errors=True)
            failed.append(f"{contender.requirement}: {exc.stderr.strip()[-300:]}")
    return failed


def _make(folder: Path, requirement: str) -> None:
    uv = shutil.which("uv") or shutil.which(str(ROOT / ".tools" / "bin" / "uv"))
    if uv is not None:
        steps = [
            [uv, "venv", "--quiet", "--python", sys.executable, str(folder)],
            [uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), requirement],
        ]
    else:
        steps = [
            [sys.executable, "-m", "venv", str(folder)],
            [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", requirement],
        ]
    for step in steps:
        subprocess.run(step, check=True, capture_output=True, text=True)
