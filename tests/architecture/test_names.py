"""Names and sizes: what a file is called, how long it is, and how many things lie at the top."""

import ast
import re
from collections import Counter
from pathlib import Path

from tests.architecture.source import PACKAGE, code, repository_files

# First word of an adapter's name → the port that it offers. A new adapter of a new port is a line here.
PORT_OF: dict[str, str] = {
    "child": "child",
    "clock": "clock",
    "command": "skill",
    "credentials": "credentials",
    "embedder": "search",
    "execution": "execution",
    "hook": "hook",
    "mcp": "mcp",
    "memory": "memory",
    "model": "model",
    "peer": "peer",
    "permission": "permission",
    "runner": "runner",
    "skill": "skill",
    "store": "store",
    "task": "task",
    "workspace": "workspace",
}
SHARED = {"__init__", "_files", "_process", "_http", "_supervisor"}
SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager", "data", "info"}
ALLOWED_NAMES = {"src/hilt/mcp/manager.py"}  # the noun is McpManager

LINES_MAX = 400
PURE_TABLES = {"src/hilt/core/dialect.py"}
TOP_LEVEL_MAX = 15


def test_an_adapter_is_named_after_its_port_and_technology() -> None:
    wrong = []
    for path in (PACKAGE / "adapters").glob("*.py"):
        port, _, technology = path.stem.partition("_")
        if path.stem not in SHARED and not (technology and PORT_OF.get(port) in _ports()):
            wrong.append(path.name)
    assert wrong == []


def _ports() -> set[str]:
    return {path.stem for path in (PACKAGE / "ports").glob("*.py")}


def test_an_adapter_in_memory_has_the_name_of_its_port() -> None:
    files = {path.stem for path in (PACKAGE / "adapters" / "inmemory").glob("*.py")} - {"__init__"}
    assert files - _ports() == set()


def test_no_file_has_a_name_that_says_nothing() -> None:
    wrong = [
        name
        for name, _ in code()
        if SAY_NOTHING & {part.removesuffix(".py").strip("_") for part in Path(name).parts}
        if name not in ALLOWED_NAMES
    ]
    assert wrong == []


def test_no_file_is_longer_than_its_one_idea() -> None:
    lengths = {name: text.count("\n") for name, text in code() if name not in PURE_TABLES}
    assert {name: length for name, length in lengths.items() if length > LINES_MAX} == {}


def test_the_top_of_the_repository_stays_small() -> None:
    top = {name.split("/")[0] for name in repository_files()}
    assert len(top) <= TOP_LEVEL_MAX, sorted(top)


def test_decisions_are_numbered_once_each() -> None:
    names = [Path(name).name for name in repository_files() if name.startswith("docs/decisions/")]
    named_wrong = [name for name in names if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name)]
    twice = [number for number, count in Counter(name[:4] for name in names).items() if count > 1]
    assert (named_wrong, twice) == ([], [])


def test_tests_are_plain_functions_with_a_sentence_for_a_name() -> None:
    wrong = []
    for name, text in code():
        if not (name.startswith("tests/") and Path(name).name.startswith("test_")):
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                wrong.append(f"{name}:{node.lineno} {node.name}")
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and re.fullmatch(r"test_[a-z0-9]+", node.name):
                wrong.append(f"{name}:{node.lineno} {node.name}")
    assert wrong == []
