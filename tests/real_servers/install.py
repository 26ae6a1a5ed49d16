"""Installs the MCP servers that tests talk to: once a checkout, from the registries, into a folder that git ignores."""

import shutil
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".tools" / "servers"
NPM_VERSION = "2026.8.31"
NPM_SERVERS = ("everything", "filesystem", "memory", "sequential-thinking")
PYTHON_SERVERS = {
    "fetch": ("mcp-server-fetch>=2026.10,<2027",),
    # It dies with version 2 of the SDK.
    "sqlite": ("mcp-server-sqlite==2025.4.25", "mcp<2"),
}
INSTALL_S = 240


class InstallError(RuntimeError):
    """A server that tests need cannot be installed; they fail, and are not skipped."""


def npm_server(name: str) -> Path:
    """Return the program of a server of npm, for `node`."""
    return _npm() / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"


def python_server(name: str) -> Path:
    """Return the program of a server of PyPI: of this environment, or of one of its own."""
    if name in PYTHON_SERVERS:
        return _environment(name, PYTHON_SERVERS[name]) / "bin" / f"mcp-server-{name}"
    return Path(sys.executable).parent / f"mcp-server-{name}"


def _npm() -> Path:
    folder = FOLDER / f"npm-{NPM_VERSION}"
    packages = [f"@modelcontextprotocol/server-{name}@{NPM_VERSION}" for name in NPM_SERVERS]
    argv = ["npm", "install", "--silent", "--no-fund", "--no-audit", "--no-save", "--prefix", str(folder), *packages]
    _once(folder, [argv])
    return folder / "node_modules"


def _environment(name: str, requirements: tuple[str, ...]) -> Path:
    folder = FOLDER / name
    uv = _uv()
    if uv:
        making = [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)]
        python = str(folder / "bin" / "python")
        # Compiled now: the first start would otherwise take several seconds.
        filling = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python, *requirements]
    else:
        making = [sys.executable, "-m", "venv", "--clear", str(folder)]
        filling = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *requirements]
    _once(folder, [making, filling])
    return folder


def _uv() -> str:
    """Return the uv of this checkout, or the one on PATH, "" without any."""
    own = ROOT / ".tools" / "bin" / "uv"
    return str(own) if own.exists() else shutil.which("uv") or ""


def _once(folder: Path, commands: list[list[str]]) -> None:
    """Run the commands that fill a folder, unless that was done; of several test processes one does it."""
    done = folder / ".installed"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with FileLock(FOLDER / f"{folder.name}.lock"):
        if done.exists():
            return
        folder.mkdir(exist_ok=True)
        for argv in commands:
            _run(argv)
        done.touch()


def _run(argv: list[str]) -> None:
    shown = " ".join(Path(word).name if word.startswith("/") else word for word in argv)
    try:
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise InstallError(f"the tests of real servers need this, which failed: {shown}: {exc}") from exc
    if ended.returncode:
        raise InstallError(f"the tests of real servers need this, which failed: {shown}\n{ended.stderr[-2000:]}")
