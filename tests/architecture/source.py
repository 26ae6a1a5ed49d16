"""The repository's own files, as the tests of this folder look at them."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "hilt"
CODE_FOLDERS = ("src", "tests", "bench", "examples")

# Input of the public bug cases: bytes that are wrong on purpose.
INPUTS = "tests/bugs/inputs/"


@cache
def repository_files() -> tuple[str, ...]:
    """Return the files that git tracks or would track, relative to the root, sorted."""
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    names = listing.stdout.decode().split("\0")
    return tuple(sorted({name for name in names if name and (ROOT / name).is_file()}))


def code() -> Iterator[tuple[str, str]]:
    """Yield name and text of every Python file of ours, the inputs of bug cases left out."""
    for name in repository_files():
        if name.endswith(".py") and name.startswith(CODE_FOLDERS) and not name.startswith(INPUTS):
            yield name, (ROOT / name).read_text(encoding="utf-8")


def modules(ring: str = "") -> Iterator[tuple[str, ast.Module]]:
    """Yield path below `src/hilt` and syntax tree of every module of `ring`, or of the whole package."""
    for path in sorted((PACKAGE / ring).rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and full name of everything that `tree` imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
