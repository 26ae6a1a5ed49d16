"""Draws the tree of the package for `docs/architecture.md` from what each module says about itself.

`python -m tests.architecture.tree` brings the page up to date; a test fails while it is not.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source import PACKAGE, ROOT

PAGE = ROOT / "docs" / "architecture.md"

_RINGS = (
    "core",
    "ports",
    "engine",
    "builtins",
    "mcp",
    "adapters",
    "api",
    "gateway",
    "app",
    "cli",
    "testing",
    "faults",
)
_TEXT_COLUMN = 32
_BLOCK = re.compile(r"```text\nsrc/hilt/\n.*?```", re.DOTALL)


def block() -> str:
    """Return the tree as a fenced block, rings from the inside out, one line a file or inner folder."""
    modules = [_line(path, depth=1) for path in sorted(PACKAGE.glob("*.py"))]
    lines = [*modules, *(line for ring in _rings() for line in _ring(ring))]
    return "\n".join(["```text", "src/hilt/", *lines, "```"])


def _rings() -> list[Path]:
    packages = [path.parent for path in PACKAGE.glob("*/__init__.py")]
    return sorted(packages, key=lambda path: _RINGS.index(path.name))


def _ring(ring: Path) -> Iterator[str]:
    yield _line(ring / "__init__.py", depth=1, name=f"{ring.name}/")
    inner = [path.parent for path in ring.glob("*/__init__.py")]
    files = [path for path in ring.glob("*.py") if path.name != "__init__.py"]
    for path in sorted([*inner, *files]):
        if path in inner:
            yield _line(path / "__init__.py", depth=2, name=f"{path.name}/")
        else:
            yield _line(path, depth=2)


def _line(path: Path, *, depth: int, name: str | None = None) -> str:
    described = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = described.partition("\n")[0].rstrip(".")
    return f"{'    ' * depth}{name or path.name}".ljust(_TEXT_COLUMN - 1) + f" {first}".rstrip()


def drawn(page: str) -> str:
    """Return the tree that `page` holds."""
    found = _BLOCK.search(page)
    return found[0] if found else ""


def main() -> None:
    """Write the tree into the page."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_BLOCK.sub(lambda _: block(), page), encoding="utf-8")


if __name__ == "__main__":
    main()
