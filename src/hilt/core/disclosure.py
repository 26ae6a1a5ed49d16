"""How much of the tools a model request lists: decided once for a session, by what the full list would cost."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, NamedTuple

from hilt.core.errors import ConfigError
from hilt.core.frozen import frozen
from hilt.core.tool import ToolSpec

BYTES_PER_TOKEN = 4

DisclosureMode = Literal["auto", "on", "off"]


class Tier(StrEnum):
    """What is listed: every tool in full, disclosable ones in short, or those not at all."""

    FULL = "full"
    LIGHT = "light"
    SEARCH = "search"


@frozen
class DisclosureSetup:
    """When tools are not listed in full.

    `window_share` is the share of the model's window that the full list may take in mode `auto`; `window_tokens` is
    that window, `tools_max` the number of tools that the provider takes, None without a limit.
    """

    mode: DisclosureMode = "off"
    window_share: float = 0.10
    window_tokens: int = 128_000
    tools_max: int | None = None


class Size(NamedTuple):
    """What a tool list comes to."""

    tools: int
    tokens: int


def spec_tokens(spec: ToolSpec) -> int:
    """Return an estimate of the tokens of a definition: the bytes of its texts divided by 4."""
    size = len(spec.name) + len(spec.description.encode("utf-8", "replace"))
    return (size + len(spec.schema_json.encode("utf-8", "replace"))) // BYTES_PER_TOKEN


def size_of(specs: Sequence[ToolSpec]) -> Size:
    """Return number and tokens of a list."""
    return Size(len(specs), sum(map(spec_tokens, specs)))


def choose_tier(setup: DisclosureSetup, *, full: Size, light: Size, searched: Size) -> Tier:
    """Return the tier of a session from what each tier's list would come to.

    Raises:
        ConfigError: No tier that the mode allows fits into the provider's number of tools; names both numbers.
    """
    budget = setup.window_share * setup.window_tokens
    if setup.mode == "off" or (setup.mode == "auto" and full.tokens <= budget and _fits(full, setup)):
        tier, size = Tier.FULL, full
    elif light.tokens <= budget / 2 and _fits(light, setup):
        tier, size = Tier.LIGHT, light
    else:
        tier, size = Tier.SEARCH, searched
    if not _fits(size, setup):
        raise ConfigError(
            f"{size.tools} tools would be listed and the model's provider takes {setup.tools_max}; "
            "filter tools out, or set disclosure.mode to 'auto'",
            key="disclosure.mode",
        )
    return tier


def _fits(size: Size, setup: DisclosureSetup) -> bool:
    return setup.tools_max is None or size.tools <= setup.tools_max
