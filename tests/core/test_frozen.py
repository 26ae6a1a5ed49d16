"""A value does what the standard library's frozen dataclass of the same fields does (core/frozen.py)."""

import copy
import inspect
import pickle
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import pytest

from hilt.core.frozen import frozen


@frozen
class Seat:
    """A seat in a hall."""

    kind: ClassVar[str] = "seat"
    row: int
    hall: str = "main"
    tags: list[str] = field(default_factory=list, compare=False)
    note: str = field(default="", repr=False)

    def __lt__(self, other: "Seat") -> bool:
        return self.row < other.row


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrarySeat:
    """A seat in a hall."""

    kind: ClassVar[str] = "seat"
    row: int
    hall: str = "main"
    tags: list[str] = field(default_factory=list, compare=False)
    note: str = field(default="", repr=False)

    def __lt__(self, other: "LibrarySeat") -> bool:
        return self.row < other.row


@frozen(kw_only=False)
class Pair:
    """Two fields in order."""

    left: int
    right: int = 0


@frozen
class Nothing:
    """No fields at all."""


@frozen
class Doubled:
    """A field that follows from another."""

    one: int
    two: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "two", self.one * 2)

    def __repr__(self) -> str:
        return f"{self.one} and {self.two}"


@frozen
class Ring:
    """A value that may hold itself."""

    parts: list[object]


def of_both(act: Callable[[type[Any]], object]) -> tuple[object, object]:
    return act(Seat), act(LibrarySeat)


def _told(act: Callable[[], object]) -> tuple[type[BaseException], str]:
    with pytest.raises((TypeError, AttributeError)) as caught:
        act()
    return caught.type, str(caught.value).replace("LibrarySeat", "Seat")


@pytest.mark.parametrize(
    "act",
    [
        lambda seat: seat(row=1).hall,
        lambda seat: seat(row=1).tags,
        lambda seat: seat(row=1, tags=["a"]) == seat(row=1),
        lambda seat: seat(row=1) == seat(row=2),
        lambda seat: seat(row=1) == seat(row=1, note="a"),
        lambda seat: seat(row=1) == 1,
        lambda seat: hash(seat(row=1, tags=["a"])) == hash(seat(row=1)),
        lambda seat: {seat(row=1): "a"}[seat(row=1)],
        lambda seat: repr(seat(row=1, tags=["a"])).removeprefix("Library"),
        lambda seat: asdict(seat(row=1)),
        lambda seat: asdict(replace(seat(row=1, note="a"), row=2)),
        lambda seat: [(item.name, item.type, item.kw_only, item.compare, item.repr) for item in fields(seat)],
        is_dataclass,
        lambda seat: asdict(copy.copy(seat(row=1))),
        lambda seat: asdict(copy.deepcopy(seat(row=1, tags=["a"]))),
        lambda seat: asdict(pickle.loads(pickle.dumps(seat(row=1, tags=["a"])))),
        lambda seat: seat(row=1) < seat(row=2),
        lambda seat: (seat.kind, seat.__slots__, seat.__match_args__, seat.__doc__, seat.__module__),
        lambda seat: hasattr(seat(row=1), "__dict__"),
        lambda seat: [(item.name, item.kind) for item in inspect.signature(seat).parameters.values()],
        lambda seat: inspect.signature(seat).parameters["hall"].default,
        lambda seat: seat.__init__.__annotations__,
    ],
)
def test_a_value_gives_what_the_librarys_gives(act: Callable[[type[Any]], object]) -> None:
    ours, theirs = of_both(act)
    assert ours == theirs


@pytest.mark.parametrize(
    "act",
    [
        lambda seat: seat(),
        lambda seat: seat(1),
        lambda seat: seat(row=1, colour="red"),
        lambda seat: replace(seat(row=1), colour="red"),
        lambda seat: setattr(seat(row=1), "row", 2),
        lambda seat: delattr(seat(row=1), "row"),
        lambda seat: seat(row=1) < 1,
        lambda seat: dataclass(type("Child", (seat,), {})),
    ],
)
def test_a_value_refuses_what_the_librarys_refuses_in_the_same_words(act: Callable[[type[Any]], object]) -> None:
    ours, theirs = (_told(lambda seat=seat: act(seat)) for seat in (Seat, LibrarySeat))  # type: ignore[misc]  # a lambda has no types
    assert ours == theirs


def test_nothing_can_be_added_to_a_value() -> None:
    seat: Any = Seat(row=1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'colour'"):
        seat.colour = "red"


def test_each_value_has_a_default_of_its_own() -> None:
    assert Seat(row=1).tags is not Seat(row=1).tags


def test_a_value_is_matched_by_its_fields() -> None:
    match Seat(row=3, hall="small"):
        case Seat(hall="main"):
            pytest.fail("the hall is another")
        case Seat(row=row):
            assert row == 3


def test_a_value_may_take_its_fields_in_order() -> None:
    assert Pair(1, 2) == Pair(right=2, left=1) != Pair(1)
    match Pair(3):
        case Pair(left, right):
            assert (left, right) == (3, 0)
    with pytest.raises(TypeError, match=r"Pair.__init__\(\) missing 1 required positional argument: 'left'"):
        Pair()  # type: ignore[call-arg]  # what is refused


def test_values_without_fields_are_equal() -> None:
    assert (Nothing(), hash(Nothing()), repr(Nothing())) == (Nothing(), hash(Nothing()), "Nothing()")
    other: object = Seat(row=1)
    assert Nothing() != other


def test_what_a_class_writes_itself_is_kept() -> None:
    assert repr(Doubled(one=2)) == "2 and 4"
    assert copy.copy(Doubled(one=2)) == Doubled(one=2)


def test_a_value_that_holds_itself_can_be_shown() -> None:
    ring = Ring(parts=[])
    ring.parts.append(ring)
    assert repr(ring) == "Ring(parts=[...])"


def test_a_frozen_dataclass_may_derive_from_a_value() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Balcony(Seat):
        height_m: float

    assert Balcony(row=1, height_m=2.5) == Balcony(row=1, height_m=2.5)
    assert Balcony(row=1, height_m=2.5) != Seat(row=1)
    assert replace(Balcony(row=1, height_m=2.5), row=2).row == 2


def test_a_field_must_not_share_its_default() -> None:
    shared: Sequence[object] = []
    with pytest.raises(ValueError, match="mutable default"):
        frozen(type("Shared", (), {"__annotations__": {"items": list}, "items": shared}))
