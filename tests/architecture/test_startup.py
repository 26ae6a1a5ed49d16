"""What a start loads: the command line comes up without any heavy library, a first call without what it leaves out."""

import json
import subprocess
import sys

import pytest

from bench.startup import FIRST_CALL
from tests.architecture.source import PACKAGE

HEAVY = {
    "mcp",
    "mcp_types",
    "starlette",
    "httpx2",
    "pydantic",
    "anyio",
    "pydantic_ai",
    "jsonschema_rs",
    "rich",
}
# What hilt reads schemas, addresses and large results with: a plain first call has none of them.
UNUSED = {"idna", "hilt.core.address", "hilt.core.schema", "hilt.core.structured"}

_LOADED = "import json, sys; {}; print(json.dumps(sorted(sys.modules)))"
_AFTER = """
import atexit, json, sys
sys.argv = ["hilt", {argument!r}]
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from hilt.cli.main import main
main()
"""


def _heavy(names: list[str]) -> set[str]:
    return HEAVY & {name.split(".")[0] for name in names}


def _has_command_line() -> bool:
    return (PACKAGE / "cli" / "main.py").exists()


def test_importing_hilt_loads_nothing_heavy_and_nothing_of_the_inner_rings() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", _LOADED.format("import hilt")], check=True, capture_output=True, text=True
    )
    names = json.loads(loaded.stdout)
    assert _heavy(names) == set()
    assert [name for name in names if name.startswith("hilt.")] == []


def test_importing_the_command_line_loads_nothing_heavy() -> None:
    module = "hilt.cli.main" if _has_command_line() else "hilt.cli"
    loaded = subprocess.run(
        [sys.executable, "-c", _LOADED.format(f"import {module}")], check=True, capture_output=True, text=True
    )
    assert _heavy(json.loads(loaded.stdout)) == set()


@pytest.mark.parametrize("argument", ["version", "--help"])
def test_version_and_help_run_without_anything_heavy(argument: str) -> None:
    program = _AFTER.format(argument=argument) if _has_command_line() else _LOADED.format("import hilt")
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    *_, last = (ran.stdout + ran.stderr).splitlines()
    assert _heavy(json.loads(last)) == set()


@pytest.mark.req("CLI-03")
def test_a_first_call_loads_nothing_that_it_does_not_use() -> None:
    program = f"import json, sys\n{FIRST_CALL}\nprint(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    names = json.loads(ran.stdout)
    assert "anyio" in names
    assert _heavy(names) == {"anyio"}
    assert UNUSED.intersection(names) == set()
