"""What import-linter cannot say about imports: where they stand, and exact lists for adapters and faults."""

import ast
import importlib
import pkgutil
import sys
import tomllib
from typing import TypeGuard

import hilt
from tests.architecture.source import PACKAGE, ROOT, imported, modules

# They load what is heavy, or what one command alone needs, at the moment it is needed.
ON_DEMAND = {
    "__init__.py",
    "cli/main.py",
    "app/build.py",
    "app/enabled.py",
    "app/load_model.py",
    "core/args.py",
    "core/check.py",
    "core/dialect.py",
    "core/schema.py",
    "core/shaping.py",
}

SHARED_BY_ADAPTERS = ("_files", "_process", "_http")


def _loads(node: ast.AST) -> TypeGuard[ast.Call | ast.Import | ast.ImportFrom]:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("__import__", "import_module", "importlib.import_module")
    return isinstance(node, ast.Import | ast.ImportFrom)


def _late_imports(tree: ast.Module) -> set[int]:
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    return {node.lineno for function in functions for node in ast.walk(function) if _loads(node)}


def test_imports_on_demand_occur_in_named_files_alone() -> None:
    late = [f"{name}:{line}" for name, tree in modules() if name not in ON_DEMAND for line in _late_imports(tree)]
    assert late == []


def test_no_block_hides_a_cycle_from_the_interpreter() -> None:
    hidden = [
        name
        for name, tree in modules()
        if name != "__init__.py"  # there the type checker learns of names that are loaded on demand
        for _, imported_name in imported(tree)
        if imported_name == "typing.TYPE_CHECKING"
    ]
    assert hidden == []


def _adapter(name: str) -> str:
    return name.split("/")[1].removesuffix(".py")


def test_adapters_import_one_another_only_where_the_design_says() -> None:
    wrong = []
    for name, tree in modules("adapters"):
        importer = _adapter(name)
        for line, target in imported(tree):
            if not target.startswith("hilt.adapters."):
                continue
            adapter = target.split(".")[2]
            both_mcp = importer.startswith("mcp_") and adapter.startswith("mcp_")
            if adapter != importer and adapter not in SHARED_BY_ADAPTERS and not both_mcp:
                wrong.append(f"{name}:{line} {target}")
    assert wrong == []


def test_the_mcp_sdk_has_two_doors() -> None:
    wrong = [
        f"{name}:{line} {target}"
        for name, tree in modules()
        if not name.startswith(("adapters/mcp_", "gateway/"))
        for line, target in imported(tree)
        if target.split(".")[0] in ("mcp", "mcp_types")
    ]
    assert wrong == []


def test_the_fault_kit_needs_the_standard_library_alone() -> None:
    wrong = [
        f"{name}:{line} {target}"
        for name, tree in modules("faults")
        for line, target in imported(tree)
        if target.split(".")[0] not in sys.stdlib_module_names and not target.startswith("hilt.faults")
    ]
    assert wrong == []


def _contracts() -> dict[str, dict[str, list[str]]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["id"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


def test_the_contracts_name_every_package_that_exists() -> None:
    outer = {"adapters", "builtins", "mcp", "api", "gateway"}
    existing = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    named = {module.removeprefix("hilt.") for module in _contracts()["outside-in"]["protected_modules"]}
    assert named == outer & existing


def test_the_contracts_name_every_mcp_adapter() -> None:
    existing = {f"hilt.adapters.{path.stem}" for path in (PACKAGE / "adapters").glob("mcp_*.py")}
    for contract in ("two-doors", "adapter-siblings"):
        named = {line.split(" -> ")[0] for line in _contracts()[contract]["ignore_imports"]}
        assert existing - named == set()


def test_every_module_can_be_imported() -> None:
    names = [module.name for module in pkgutil.walk_packages(hilt.__path__, "hilt.")]
    loaded = [importlib.import_module(name).__name__ for name in names if not name.endswith("__main__")]
    assert len(loaded) >= len(names) - 2
