"""Reads the promises of `docs/spec` and who proves them: `req` marks in tests, `REQ` in benchmarks.

Everything is read from the source, so that the table needs no test run. That a marked test really ran is
seen to by `conftest.py`, where a skipped one fails.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).resolve().parents[1]
SPEC = ROOT / "docs" / "spec"
TESTS = ROOT / "tests"
BENCH = ROOT / "bench"

_BULLET = re.compile(r"- ([A-Z]{3}-\d{2,3}) \[(seed|beyond)\] (.+)")
_LIKE_A_BULLET = re.compile(r"\s*[-*] \**[A-Z]{2,}-\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One promise; `where` is its file and line."""

    id: str
    origin: str
    text: str
    where: str

    @property
    def prefix(self) -> str:
        """The letters before the hyphen."""
        return self.id.partition("-")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """One mention of a promise by a test or a benchmark; `where` is its file and line."""

    id: str
    where: str


class SpecError(Exception):
    """A spec file, a mark or a list of ids is not in the form that `docs/spec/README.md` gives."""


def promises(folder: Path = SPEC) -> dict[str, Promise]:
    """Return every promise by id, in the order of files and lines.

    Raises:
        SpecError: A bullet has an id but not the form of a promise, or an id occurs twice.
    """
    found: dict[str, Promise] = {}
    for path in sorted(folder.glob("*.md")):
        for promise in _of_file(path):
            if promise.id in found:
                raise SpecError(f"{promise.where}: {promise.id} is also at {found[promise.id].where}")
            found[promise.id] = promise
    return found


def _of_file(path: Path) -> Iterator[Promise]:
    if path.name == "README.md":
        return  # it shows the form of a promise and holds none
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        where = f"{path.name}:{number}"
        match = _BULLET.fullmatch(line)
        if match is not None:
            rest = " ".join([match[3], *_continuation(lines[number:])])
            yield Promise(id=match[1], origin=match[2], text=rest, where=where)
        elif _LIKE_A_BULLET.match(line):
            raise SpecError(f"{where}: a promise starts with '- ABC-01 [seed] ' or '- ABC-01 [beyond] '")


def _continuation(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if not line.startswith("  "):
            return
        yield line.strip()


def marked(folder: Path = TESTS) -> dict[str, list[Proof]]:
    """Return the marks of all tests under `folder`, by id.

    Raises:
        SpecError: A mark has an argument that is not a literal text, or stands where pytest collects nothing.
    """
    found: dict[str, list[Proof]] = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        for proof in _marks(path, folder):
            found[proof.id].append(proof)
    return dict(found)


def _marks(path: Path, folder: Path) -> Iterator[Proof]:
    source = path.read_text(encoding="utf-8")
    if "mark.req" not in source:
        return
    for node in ast.walk(ast.parse(source, filename=str(path))):
        if not _is_req(node):
            continue
        where = f"{path.relative_to(folder.parent).as_posix()}:{node.lineno}"
        if not path.name.startswith("test_"):
            raise SpecError(f"{where}: a req mark outside of a test_*.py file proves nothing")
        for argument in node.args:
            yield Proof(id=_literal(argument, where), where=where)


def _is_req(node: ast.AST) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "req"
        and isinstance(node.func.value, ast.Attribute)
        and node.func.value.attr == "mark"
    )


def benched(folder: Path = BENCH) -> dict[str, list[Proof]]:
    """Return the ids that the `REQ` tuples of the benchmark scripts name.

    Raises:
        SpecError: A `REQ` is not a tuple of literal texts.
    """
    found: dict[str, list[Proof]] = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8"), filename=str(path)).body:
            value = _req_value(node)
            if value is None:
                continue
            where = f"{path.relative_to(folder.parent).as_posix()}:{node.lineno}"
            if not isinstance(value, ast.Tuple):
                raise SpecError(f"{where}: REQ is a tuple of ids")
            for element in value.elts:
                found[_literal(element, where)].append(Proof(id=_literal(element, where), where=where))
    return dict(found)


def _req_value(node: ast.stmt) -> ast.expr | None:
    match node:
        case ast.Assign(targets=[ast.Name(id="REQ")], value=value):
            return value
        case ast.AnnAssign(target=ast.Name(id="REQ"), value=value):
            return value
        case _:
            return None


def _literal(node: ast.expr, where: str) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise SpecError(f"{where}: ids are written out, so that they can be found: {ast.unparse(node)}")


def merged(*groups: Mapping[str, str]) -> dict[str, str]:
    """Return all groups as one table.

    Raises:
        SpecError: An id is in two groups.
    """
    table: dict[str, str] = {}
    for group in groups:
        for key, reason in group.items():
            if key in table:
                raise SpecError(f"{key} is a gap twice: {table[key]!r} and {reason!r}")
            table[key] = reason
    return table


def span(prefix: str, first: int, last: int, reason: str) -> dict[str, str]:
    """Return `reason` for each promise from `first` to `last` that the spec has under `prefix`.

    Raises:
        SpecError: There is none.
    """
    numbers = range(first, last + 1)
    found = {key: reason for key in _known() if _number(key, prefix) in numbers}
    if not found:
        raise SpecError(f"the spec has no promise between {prefix}-{first:02} and {prefix}-{last:02}")
    return found


@cache
def _known() -> tuple[str, ...]:
    return tuple(promises())


def _number(key: str, prefix: str) -> int:
    letters, _, digits = key.partition("-")
    return int(digits) if letters == prefix else -1
