"""What each model provider takes in a schema, as data: the tables of providers.md section 1."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from hilt.core.frozen import frozen


class Act(StrEnum):
    """What is done with a keyword.

    `tell`: dropped and said in the description; `drop`: it means nothing to a model; `strict`: the tool is sent
    without the strict flag. The rest are rewritten with the same meaning.
    """

    KEEP = "keep"
    TELL = "tell"
    DROP = "drop"
    STRICT = "strict"
    PLACE = "place"
    ALONE = "alone"
    ANY = "any"
    MERGE = "merge"
    ENUM = "enum"
    NULLABLE = "nullable"
    CLOSED = "closed"
    OPEN = "open"
    KNOWN = "known"


PROFILES: Final = ("openai", "openai-strict", "anthropic", "gemini", "gemini-json", "bedrock", "generic")

_K, _T, _D, _S = Act.KEEP, Act.TELL, Act.DROP, Act.STRICT
_NUMBERS = "exclusiveMinimum exclusiveMaximum multipleOf"
_COUNTS = "uniqueItems contains minContains maxContains minProperties maxProperties prefixItems"
_KEYS = "patternProperties propertyNames unevaluatedProperties unevaluatedItems"
_CONDITIONS = "not if then else dependentRequired dependentSchemas dependencies"

# Keywords, then one act for each profile in the order of PROFILES.
_ROWS: Final[Mapping[str, tuple[Act, ...]]] = {
    "$schema $id id $comment $anchor $dynamicAnchor $recursiveAnchor $vocabulary": (_D,) * 7,
    "$ref": (_K, Act.ALONE, _K, Act.PLACE, Act.ALONE, _K, Act.PLACE),
    "oneOf": (_K, Act.ANY, _K, Act.ANY, _K, _K, Act.ANY),
    "allOf": (_K, Act.MERGE, _K, Act.MERGE, Act.MERGE, _K, Act.MERGE),
    "anyOf": (_K,) * 7,
    "const": (_K, _K, _K, Act.ENUM, Act.ENUM, _K, Act.ENUM),
    "type": (_K, _K, _K, Act.NULLABLE, _K, _K, Act.ANY),
    "properties": (_K, _K, _K, _D, _K, _K, _D),  # beside a type that is no object
    "enum": (_K, _K, _K, _T, _K, _K, _T),  # one that is not of texts alone
    "additionalProperties": (_K, Act.CLOSED, _K, Act.OPEN, _K, _K, Act.OPEN),
    "minLength maxLength": (_K, _T, _K, _K, _T, _K, _T),
    "pattern": (_K, Act.KNOWN, _K, _K, _T, _K, _T),
    "format": (_K, Act.KNOWN, _K, _T, _K, _K, _T),
    "minimum maximum minItems maxItems": (_K,) * 7,
    _NUMBERS: (_K, _K, _K, _T, _T, _K, _T),
    _COUNTS: (_K, _T, _K, _T, _T, _K, _T),
    _KEYS: (_K, _S, _K, _T, _T, _K, _T),
    _CONDITIONS: (_K, _S, _K, _T, _T, _K, _T),
    "default": (_K, _T, _K, _T, _T, _K, _T),
    "title": (_K, _D, _K, _D, _K, _K, _D),
    "examples example": (_K, _D, _K, _D, _D, _K, _D),
    "description items required": (_K,) * 7,
}
# What no table names, such as `deprecated` or `x-order`.
_OTHERS: Final = (_K, _D, _K, _D, _D, _K, _D)

FORMATS_KNOWN: Final = frozenset(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"])
LOOK_AROUND: Final = re.compile(r"\(\?<?[=!]")
PROPERTY_KEY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@frozen
class Dialect:
    """One profile. `acts` is by keyword, `others` for every other; `keys`: property keys have a form to keep to.

    `described`: a description has one character or more; `listed`: the root has `properties`, be it empty.
    """

    name: str
    acts: Mapping[str, Act]
    others: Act
    keys: bool
    described: bool
    listed: bool

    def act(self, keyword: str) -> Act:
        """Return what is done with a keyword."""
        return self.acts.get(keyword, self.others)

    @property
    def strict(self) -> bool:
        """Whether tools are sent with the strict flag."""
        return self.name == "openai-strict"


def _dialect(name: str, place: int) -> Dialect:
    return Dialect(
        name=name,
        acts={keyword: acts[place] for row, acts in _ROWS.items() for keyword in row.split()},
        others=_OTHERS[place],
        keys=name in ("anthropic", "generic"),
        described=name in ("bedrock", "generic"),
        listed=name in ("openai", "openai-strict", "generic"),
    )


DIALECTS: Final[Mapping[str, Dialect]] = {name: _dialect(name, place) for place, name in enumerate(PROFILES)}


def dialect_of(profile: str) -> Dialect:
    """Return the profile's dialect; an unknown profile is `generic`."""
    return DIALECTS.get(profile, DIALECTS["generic"])
