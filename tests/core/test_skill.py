"""Names of skills and assets, and descriptions: what is a good one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hilt
from hilt.core.skill import SkillMeta, asset_name_fault, description_fault, meta_fault, name_fault, valid_asset_name

SEPARATORS = ["\u0000", "\n", "\r", "\t", "\u001f", "\u007f", "\u0085", "\u2028", "\u2029"]


@pytest.mark.req("SKL-03")
@pytest.mark.parametrize("name", ["a", "7", "review-sql", "a_b-c9", "a" * 64, "a__b"])
def test_a_good_name_has_no_fault(name: str) -> None:
    assert name_fault(name) == ""


@pytest.mark.req("SKL-03")
@pytest.mark.parametrize("name", ["", "a" * 65, "A", "-a", "a-", "_a", "a_", "a--b", "a b", "a.b", "ä", "a/b", "a\n"])
def test_another_name_is_told_with_its_rule(name: str) -> None:
    assert name_fault(name).startswith("name: ")


@pytest.mark.req("SKL-04")
def test_a_description_is_one_line_of_up_to_1024_characters() -> None:
    assert [description_fault(text) for text in ("x", "é" * 1024)] == ["", ""]
    assert all(description_fault(text) for text in ("", "  ", "x" * 1025, "a\nb", "a\u2028b", "a\rb"))


@pytest.mark.req("SKL-05")
def test_compatibility_has_up_to_500_characters() -> None:
    assert meta_fault(SkillMeta(name="a", description="x", compatibility="c" * 500)) == ""
    assert meta_fault(SkillMeta(name="a", description="x", compatibility="c" * 501)).startswith("compatibility: ")


@pytest.mark.req("SKL-37", "SKL-38")
@pytest.mark.parametrize("name", ["a", "a/b.md", ".hidden", "a b/ü.md", "..a", "a..", "a" * 512, "SKILL.md"])
def test_a_relative_name_in_parts_is_one_of_an_asset(name: str) -> None:
    assert valid_asset_name(name)
    assert asset_name_fault(name) == ""


@pytest.mark.req("SKL-37", "SKL-38")
@pytest.mark.parametrize(
    "name",
    ["", "/a", "a/", "a//b", "..", "a/../b", "../a", ".", "./a", "a/.", "a\\b", "a" * 513, "é" * 257, "\ud800"]
    + [f"a{char}b" for char in SEPARATORS],
)
def test_any_other_name_is_none(name: str) -> None:
    assert not valid_asset_name(name)
    assert asset_name_fault(name)


@pytest.mark.req("SKL-39")
@given(st.text(max_size=40))
def test_the_public_check_is_the_same_one(name: str) -> None:
    assert hilt.valid_asset_name(name) == (asset_name_fault(name) == "")
