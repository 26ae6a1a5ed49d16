"""Names as providers take them, and back."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.dialect import NAME_RULES, wire_name, wire_names

TAKEN = {
    **dict.fromkeys(("openai", "openai-strict", "anthropic", "bedrock"), r"[A-Za-z0-9_-]{1,64}"),
    **dict.fromkeys(("gemini", "gemini-json"), r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}"),
    "generic": r"[A-Za-z_][A-Za-z0-9_-]{0,63}",
}
NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=120)


def test_every_profile_has_a_rule() -> None:
    assert set(NAME_RULES) == set(TAKEN)


@pytest.mark.req("PRV-03")
@pytest.mark.parametrize("profile", TAKEN)
@given(name=NAMES)
def test_a_wire_name_matches_its_profile(profile: str, name: str) -> None:
    assert re.fullmatch(TAKEN[profile], wire_name(name, profile))


@pytest.mark.req("PRV-04")
@pytest.mark.parametrize("profile", TAKEN)
def test_a_name_that_fits_is_sent_unchanged(profile: str) -> None:
    for name in ("Read", "_", "mcp__git__git-log", "x" * 64):
        assert wire_name(name, profile) == name


@pytest.mark.req("PRV-05")
@pytest.mark.parametrize(
    ("name", "profile", "wire"),
    [
        ("a.b/c", "openai", "a_b_c_fc7cd9c4"),
        ("a.b:c", "gemini", "a.b:c"),
        ("1a", "openai", "1a"),
        ("1a", "generic", "_a_a73fcf33"),
        ("1a", "a profile of tomorrow", "_a_a73fcf33"),
        ("über", "anthropic", "_ber_b51c8541"),
        ("h" * 36 + "m" * 11 + "t" * 18, "bedrock", "h" * 36 + "_" + "t" * 18 + "_716062eb"),
        ("h" * 55 + ".", "openai", "h" * 36 + "_" + "h" * 17 + "_" + "_f0acc2f0"),
        ("h" * 54 + ".", "openai", "h" * 54 + "_" + "_8a7bd742"),
    ],
)
def test_any_other_name_is_repaired_cut_and_marked(name: str, profile: str, wire: str) -> None:
    assert wire_name(name, profile) == wire


@pytest.mark.req("PRV-06")
@given(names=st.lists(NAMES, unique=True, max_size=8), order=st.randoms(use_true_random=False))
def test_a_wire_name_depends_on_name_and_profile_alone(names: list[str], order: object) -> None:
    listed = wire_names(names, "generic")
    assert listed == wire_names(reversed(names), "generic")
    assert all(listed.to_wire[name] == wire_name(name, "generic") for name in names)


@pytest.mark.req("PRV-07")
def test_two_tools_never_share_a_wire_name() -> None:
    first, second = _two_with_one_wire_name()
    for order in ([first, second], [second, first]):
        names = wire_names(order, "openai")
        assert names.withheld == {max(first, second)}
        assert names.canonical(wire_name(first, "openai")) == min(first, second)


def test_a_name_that_fits_is_not_withheld_for_one_that_was_repaired() -> None:
    repaired = wire_name("a b", "openai")
    names = wire_names(["a b", repaired], "openai")
    assert names.withheld == {"a b"}
    assert names.canonical(repaired) == repaired


def _two_with_one_wire_name() -> tuple[str, str]:
    seen: dict[str, str] = {}
    for marks in itertools.product("./", repeat=18):
        name = "".join(marks)
        other = seen.setdefault(wire_name(name, "openai"), name)
        if other != name:
            return other, name
    raise AssertionError("262,144 names with 32 bits have two alike")


def test_names_are_mapped_back_and_unknown_ones_stay() -> None:
    names = wire_names(["a.b", "Read"], "openai")
    assert names.canonical(names.wire("a.b")) == "a.b"
    assert names.canonical("a.b") == "a.b"
    assert names.canonical("nobody") == "nobody"
    assert names.wire("not.listed") == wire_name("not.listed", "openai")
