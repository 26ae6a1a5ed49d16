"""What a value of the settings may be: marks for annotations, and the shape that an annotation stands for.

One set of frozen classes (`app/settings.py`) gives the decoder, the JSON Schema and the defaults.
"""

import math
import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import StrEnum
from functools import cache
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a number; `above` is itself outside."""

    least: float | None = None
    most: float | None = None
    above: float | None = None

    def problem(self, value: float) -> str:
        """Return what the number should be, "" where it fits."""
        if self.above is not None and value <= self.above:
            return f"above {self.above:g}"
        if self.least is not None and value < self.least:
            return f"from {self.least:g}" + ("" if self.most is None else f" to {self.most:g}")
        if self.most is not None and value > self.most:
            return f"at most {self.most:g}"
        return ""

    def schema(self) -> dict[str, object]:
        """Return the keywords of JSON Schema."""
        keywords = {"minimum": self.least, "maximum": self.most, "exclusiveMinimum": self.above}
        return {key: value for key, value in keywords.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Written:
    """How a text is written: each pattern must match it whole; `as_what` says so to people."""

    as_what: str
    patterns: tuple[str, ...]

    def fits(self, text: str) -> bool:
        """Whether every pattern matches the whole text."""
        return all(re.fullmatch(pattern, text) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Mark:
    """A property of a key: `operator` is not taken from a project, `adds` collects all entries."""

    operator: bool = False
    adds: bool = False


OPERATOR = Mark(operator=True)
ADDS = Mark(adds=True)


@dataclass(frozen=True, slots=True)
class TextShape:
    """A text."""

    written: Written | None = None


@dataclass(frozen=True, slots=True)
class FlagShape:
    """true or false."""


@dataclass(frozen=True, slots=True)
class NumberShape:
    """A finite number, `whole` without a fraction."""

    whole: bool
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class ChoiceShape:
    """One of some words; `kind` makes the value of a word."""

    words: tuple[str, ...]
    kind: type[StrEnum] | None = None


@dataclass(frozen=True, slots=True)
class ListShape:
    """A list; absent and null are the empty one."""

    item: "Shape"


@dataclass(frozen=True, slots=True)
class MapShape:
    """A table whose keys are free, or words of a choice."""

    key: TextShape | ChoiceShape
    value: "Shape"


@dataclass(frozen=True, slots=True)
class SectionShape:
    """A table with known keys, which becomes an instance of `kind`.

    `one_of` names keys of which exactly one is given; `needs` pairs a key with one that it goes with.
    """

    kind: type
    keys: Mapping[str, "Key"] = field(default_factory=dict)
    one_of: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NullShape:
    """What may also be null."""

    inner: "Shape"


Shape = TextShape | FlagShape | NumberShape | ChoiceShape | ListShape | MapShape | SectionShape | NullShape


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a section."""

    name: str
    shape: Shape
    required: bool
    operator: bool
    adds: bool


def section(kind: type) -> SectionShape:
    """Return the shape of a settings class; its fields are the keys, in their order."""
    return _section(kind)


@cache
def _section(kind: type) -> SectionShape:
    hints = get_type_hints(kind, include_extras=True)
    keys = {item.name: _key(item, hints[item.name]) for item in fields(kind)}
    one_of: tuple[str, ...] = getattr(kind, "ONE_OF", ())
    needs: Mapping[str, str] = getattr(kind, "NEEDS", {})
    return SectionShape(kind, keys, one_of, needs)


def _key(item: Field[object], hint: object) -> Key:
    marks = [mark for mark in _marks(hint) if isinstance(mark, Mark)]
    return Key(
        name=item.name,
        shape=shape_of(hint),
        required=item.default is MISSING and item.default_factory is MISSING,
        operator=any(mark.operator for mark in marks),
        adds=any(mark.adds for mark in marks),
    )


def _marks(hint: object) -> tuple[object, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def shape_of(hint: object) -> Shape:
    """Return the shape of an annotation.

    Raises:
        TypeError: Settings have no values of this type.
    """
    marks = _marks(hint)
    bare = get_args(hint)[0] if marks else hint
    arguments = get_args(bare)
    match get_origin(bare):
        case None:
            return _plain(bare, marks)
        case origin if origin is Literal:
            return ChoiceShape(tuple(str(word) for word in arguments))
        case origin if origin is tuple:
            return ListShape(shape_of(arguments[0]))
        case origin if origin in (Union, types.UnionType):
            (inner,) = [part for part in arguments if part is not types.NoneType]
            return NullShape(shape_of(Annotated[inner, *marks] if marks else inner))
        case origin if isinstance(origin, type) and issubclass(origin, Mapping):
            key = shape_of(arguments[0])
            if isinstance(key, TextShape | ChoiceShape):
                return MapShape(key, shape_of(arguments[1]))
    raise TypeError(f"settings have no values of type {hint!r}")


def _plain(bare: object, marks: tuple[object, ...]) -> Shape:
    bounds = next((mark for mark in marks if isinstance(mark, Bounds)), None)
    if bare is bool:
        return FlagShape()
    if bare is int:
        return NumberShape(True, bounds or Bounds(least=1))
    if bare is float:
        return NumberShape(False, bounds or Bounds(above=0))
    if bare is str:
        return TextShape(next((mark for mark in marks if isinstance(mark, Written)), None))
    if isinstance(bare, type) and issubclass(bare, StrEnum):
        return ChoiceShape(tuple(word.value for word in bare), bare)
    if isinstance(bare, type) and hasattr(bare, "__dataclass_fields__"):
        return section(bare)
    raise TypeError(f"settings have no values of type {bare!r}")


def number(shape: NumberShape, value: object) -> float | None:
    """Return the number that a value is, None where it is none; `1.0` is a whole number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    if not shape.whole:
        return value
    return int(value) if value == int(value) else None
