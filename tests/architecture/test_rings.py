"""What the rings promise beyond imports: core never waits, ports have no bodies, one funnel."""

import ast

import pytest

from tests.architecture.source import PACKAGE, modules

WAITS = ast.Await | ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith

# The one stage that runs tools, and adapters whose cursor or connection has a method of that name. The fault kit's
# servers have tools of their own and know none of hilt's.
RUNS_TOOLS = {"engine/dispatch.py"}
RUNS_STATEMENTS = {"adapters/store_sql.py", "adapters/memory_sqlite.py"}


def test_every_ring_says_what_it_is_for() -> None:
    bare = [name for name, tree in modules() if ast.get_docstring(tree) is None]
    assert bare == []


def test_core_never_waits() -> None:
    waiting = [
        f"core/{name.partition('/')[2]}:{node.lineno}"
        for name, tree in modules("core")
        for node in ast.walk(tree)
        if isinstance(node, WAITS)
    ]
    assert waiting == []


def _is_protocol(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).split("[")[0] in ("Protocol", "typing.Protocol") for base in node.bases)


def _has_body(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(
        not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)) and not isinstance(line, ast.Pass)
        for line in method.body
    )


def test_protocols_of_ports_are_contracts_without_bodies() -> None:
    bodies = [
        f"{name}:{method.lineno} {node.name}.{method.name}"
        for name, tree in modules("ports")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and _is_protocol(node)
        for method in node.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and _has_body(method)
    ]
    assert bodies == []


def test_public_protocols_and_their_methods_have_docstrings() -> None:
    bare = [
        f"{name}:{part.lineno} {part.name}"
        for name, tree in modules("ports")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and _is_protocol(node)
        for part in (node, *node.body)
        if isinstance(part, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and not part.name.startswith("__")
        and ast.get_docstring(part) is None
    ]
    assert bare == []


def _execute_calls(tree: ast.Module) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "execute"
    ]


@pytest.mark.req("DSP-04")
def test_a_tool_is_executed_by_the_dispatcher_alone() -> None:
    elsewhere = [
        f"{name}:{line}"
        for name, tree in modules()
        if name not in RUNS_TOOLS | RUNS_STATEMENTS and not name.startswith("faults/")
        for line in _execute_calls(tree)
    ]
    assert elsewhere == []


def test_the_dispatcher_executes_tools_in_one_place() -> None:
    calls = [line for name, tree in modules("engine") if name in RUNS_TOOLS for line in _execute_calls(tree)]
    assert len(calls) == (PACKAGE / "engine" / "dispatch.py").exists()
