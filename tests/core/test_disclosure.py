"""How much of the tools is listed is decided by what the full list would cost."""

import pytest

from hilt.core.disclosure import DisclosureSetup, Size, Tier, choose_tier, size_of, spec_tokens
from hilt.core.errors import ConfigError
from hilt.core.tool import ToolSpec

AUTO = DisclosureSetup(mode="auto", window_tokens=100_000, tools_max=128)
SEARCHED = Size(10, 500)


def tier(setup: DisclosureSetup, full: Size, light: Size) -> Tier:
    return choose_tier(setup, full=full, light=light, searched=SEARCHED)


@pytest.mark.req("SRC-06", "SRC-07")
@pytest.mark.parametrize(
    ("full", "light", "expected"),
    [
        (Size(100, 10_000), Size(100, 2_000), Tier.FULL),
        (Size(100, 10_001), Size(101, 5_000), Tier.LIGHT),
        (Size(100, 10_001), Size(101, 5_001), Tier.SEARCH),
        (Size(128, 100), Size(128, 50), Tier.FULL),
        (Size(129, 100), Size(128, 50), Tier.LIGHT),
        (Size(129, 100), Size(130, 50), Tier.SEARCH),
    ],
)
def test_auto_goes_by_the_share_of_the_window_and_the_providers_number(full: Size, light: Size, expected: Tier) -> None:
    assert tier(AUTO, full, light) is expected


@pytest.mark.req("SRC-06")
def test_on_and_off_are_what_they_say_and_the_share_can_be_set() -> None:
    small = Size(3, 30)
    assert tier(DisclosureSetup(mode="on"), small, small) is Tier.LIGHT
    assert tier(DisclosureSetup(mode="off"), Size(900, 10**6), small) is Tier.FULL
    wide = DisclosureSetup(mode="auto", window_share=0.5, window_tokens=100_000)
    assert tier(wide, Size(900, 50_000), small) is Tier.FULL
    assert DisclosureSetup().window_tokens == 128_000


@pytest.mark.req("PRV-27")
@pytest.mark.parametrize("mode", ["off", "on", "auto"])
def test_a_list_that_cannot_fit_is_an_error_with_both_numbers(mode: str) -> None:
    setup = DisclosureSetup(mode=mode, tools_max=20)  # type: ignore[arg-type]  # one of its own words
    many = Size(30, 10)
    with pytest.raises(ConfigError, match=r"30 tools .* takes 20"):
        choose_tier(setup, full=many, light=many, searched=many)


@pytest.mark.req("SRC-46")
def test_tokens_are_bytes_by_four() -> None:
    spec = ToolSpec("Read", "Über alles", {"type": "object"})
    assert spec_tokens(spec) == (4 + 11 + len('{"type":"object"}')) // 4
    assert size_of([spec, spec]) == Size(2, 2 * spec_tokens(spec))
