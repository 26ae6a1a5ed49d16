"""The public names: sorted, importable, described."""

import inspect
import types

import hilt


def _names() -> list[str]:
    return list(getattr(hilt, "__all__", []))


def _lacks_docstring(name: str) -> bool:
    value = getattr(hilt, name)
    if not isinstance(value, type | types.FunctionType):
        return False  # a constant, or the name of a union
    written = value.__doc__ or ""
    return not written.strip() or written.startswith(f"{name}(")  # what a dataclass writes by itself


def test_public_names_are_sorted_and_once_each() -> None:
    assert _names() == sorted(set(_names()))


def test_public_names_can_be_imported_and_are_described() -> None:
    assert [name for name in _names() if _lacks_docstring(name)] == []


def test_public_names_are_defined_in_hilt() -> None:
    modules = {name: inspect.getmodule(getattr(hilt, name)) for name in _names()}
    foreign = {name: module for name, module in modules.items() if module and not module.__name__.startswith("hilt")}
    assert {name for name in foreign if inspect.isclass(getattr(hilt, name))} == set()


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    assert not hasattr(hilt, "no_such_name")


def test_dir_shows_the_public_names() -> None:
    assert set(_names()) <= set(dir(hilt))
