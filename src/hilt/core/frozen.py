"""Values: frozen dataclasses with slots that take little time to define.

`dataclass(frozen=True, slots=True, kw_only=True)` writes and compiles six methods for each class, and the hundred
classes of a first call made that a fifth of its time. Here `__init__` alone is compiled; the other methods are
closures over the names of the fields. Fields, `replace`, `asdict` and `match` are those of the standard library.
"""

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

T = TypeVar("T")
Method = Callable[..., object]


@overload
def frozen(cls: type[T], /) -> type[T]: ...


@overload
def frozen(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[T] | None = None, /, *, kw_only: bool = True) -> type[T] | Callable[[type[T]], type[T]]:
    """Return the class as `dataclass(frozen=True, slots=True, kw_only=True)` does; `kw_only` may be turned off.

    A value has no values among its bases. What a field says of `init`, `repr` and `compare` holds; one that is
    not given to `__init__` is left to `__post_init__`.
    """
    return partial(_value, kw_only=kw_only) if cls is None else _value(cls, kw_only=kw_only)


def _value(cls: type[T], *, kw_only: bool) -> type[T]:
    made = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    vars(made)["__dataclass_params__"].frozen = True  # the library asks for it where a class derives from this one
    parts = fields(made)  # type: ignore[arg-type]  # the line above made it a dataclass
    equals, hashed = _by_what_is_compared([part.name for part in parts if part.compare])
    methods = {
        "__init__": _init(made, parts, kw_only=kw_only),
        "__repr__": _repr([part.name for part in parts if part.repr]),
        "__eq__": equals,
        "__hash__": hashed,
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
        "__getstate__": _state,
        "__setstate__": _restore,
    }
    for name, method in methods.items():
        if name not in vars(cls):
            setattr(made, name, method)
    return made


def _init(cls: type, parts: Sequence[Field[Any]], *, kw_only: bool) -> Method:
    """Return what takes the fields, sets the slots and calls `__post_init__` where there is one."""
    known: dict[str, Any] = {"MISSING": MISSING}
    parameters: list[str] = []
    lines: list[str] = []
    taken = [part for part in parts if part.init]
    for part in taken:
        name, default = part.name, ""
        known[f"set_{name}"] = getattr(cls, name).__set__
        if part.default is not MISSING:
            known[f"default_{name}"] = part.default
            default = f"=default_{name}"
        elif part.default_factory is not MISSING:
            known[f"make_{name}"] = part.default_factory
            default = "=MISSING"
            lines.append(f"if {name} is MISSING: {name} = make_{name}()")
        parameters.append(f"{name}{default}")
        lines.append(f"set_{name}(self, {name})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    head = ", ".join(["self", *(["*"] if parameters and kw_only else []), *parameters])
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__({head}):\n {body}", known)  # noqa: S102 - made of names of fields alone
    made: Method = known["__init__"]
    made.__module__ = cls.__module__
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {**{part.name: part.type for part in taken}, "return": None}
    return made


def _repr(names: Sequence[str]) -> Method:
    @recursive_repr()
    def written(self: object) -> str:
        shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{type(self).__qualname__}({shown})"

    return written


def _by_what_is_compared(names: Sequence[str]) -> tuple[Method, Method]:
    key: Callable[[object], object] = attrgetter(*names) if names else type

    def equals(self: object, other: object) -> object:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: object) -> int:
        return hash(key(self))

    return equals, hashed


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: object) -> list[object]:
    return [getattr(self, name) for name in _names(self)]


def _restore(self: object, state: Sequence[object]) -> None:
    for name, value in zip(_names(self), state, strict=True):
        object.__setattr__(self, name, value)


def _names(self: object) -> list[str]:
    return [part.name for part in fields(self)]  # type: ignore[arg-type]  # nothing else has these methods
