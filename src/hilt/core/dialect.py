"""What each model provider admits in a tool's name, and the reversible repair of names that do not fit.

Canonical is the catalog's name, wire is what a provider is sent (providers.md section 2).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from hilt.core.frozen import frozen

WIRE_NAME_MAX_CHARACTERS = 64
HASH_DIGITS = 8
CUT_CHARACTERS = WIRE_NAME_MAX_CHARACTERS - HASH_DIGITS - 1
TAIL_CHARACTERS = CUT_CHARACTERS // 3
HEAD_CHARACTERS = CUT_CHARACTERS - TAIL_CHARACTERS - 1
GENERIC = "generic"


@frozen
class NameRule:
    """The characters that a profile takes in a name: patterns of the first one and of the others."""

    first: re.Pattern[str]
    other: re.Pattern[str]
    whole: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        whole = f"{self.first.pattern}{self.other.pattern}{{0,{WIRE_NAME_MAX_CHARACTERS - 1}}}"
        object.__setattr__(self, "whole", re.compile(whole))


_PLAIN = re.compile(r"[A-Za-z0-9_-]")
_LETTER = re.compile(r"[A-Za-z_]")
_WIDE = re.compile(r"[A-Za-z0-9_.:-]")
_ANY_FIRST = NameRule(first=_PLAIN, other=_PLAIN)
_GEMINI = NameRule(first=_LETTER, other=_WIDE)

NAME_RULES: Mapping[str, NameRule] = {
    "openai": _ANY_FIRST,
    "openai-strict": _ANY_FIRST,
    "anthropic": _ANY_FIRST,
    "gemini": _GEMINI,
    "gemini-json": _GEMINI,
    "bedrock": _ANY_FIRST,
    GENERIC: NameRule(first=_LETTER, other=_PLAIN),
}


TOOLS_MAX: Mapping[str, int] = {"openai": 128, "openai-strict": 128, "anthropic": 10_000, GENERIC: 128}
_UNLIMITED = frozenset({"gemini", "gemini-json", "bedrock"})


def tools_max(profile: str) -> int | None:
    """Return how many tools a request of the profile takes, None without a limit; an unknown profile is `generic`."""
    return None if profile in _UNLIMITED else TOOLS_MAX.get(profile, TOOLS_MAX[GENERIC])


def wire_name(name: str, profile: str) -> str:
    """Return the name that a provider of `profile` is sent; an unknown profile is `generic`.

    A name that fits is returned unchanged; any other is repaired and ends with a digest of itself, so that
    the answer depends on name and profile alone.
    """
    rule = NAME_RULES.get(profile, NAME_RULES[GENERIC])
    if rule.whole.fullmatch(name):
        return name
    repaired = "".join(
        char if (rule.other if at else rule.first).fullmatch(char) else "_" for at, char in enumerate(name)
    )
    if len(repaired) > CUT_CHARACTERS:
        repaired = f"{repaired[:HEAD_CHARACTERS]}_{repaired[-TAIL_CHARACTERS:]}"
    return f"{repaired}_{digest(name)}"


def digest(text: str) -> str:
    """Return the digits that tell what was repaired from what is repaired to the same; few names need any."""
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]


@frozen
class WireNames:
    """The names of one list of tools in both directions; `withheld` holds canonical ones not to be sent."""

    profile: str
    to_wire: Mapping[str, str] = field(default_factory=dict)
    to_canonical: Mapping[str, str] = field(default_factory=dict)
    withheld: frozenset[str] = frozenset()

    def canonical(self, name: str) -> str:
        """Return the canonical name that a call's name stands for; any other name comes back unchanged."""
        return self.to_canonical.get(name, name)

    def wire(self, name: str) -> str:
        """Return the wire name of a canonical name, listed or not."""
        return self.to_wire.get(name) or wire_name(name, self.profile)


def wire_names(names: Iterable[str], profile: str) -> WireNames:
    """Return the wire names of a session's tools, in whatever order they come.

    Where two are the same, the later canonical name is withheld, and one that fits comes before all that do
    not.
    """
    to_wire: dict[str, str] = {}
    to_canonical: dict[str, str] = {}
    withheld = set()
    wanted = sorted((wire_name(name, profile) != name, name) for name in set(names))
    for _, name in wanted:
        sent = wire_name(name, profile)
        if sent in to_canonical:
            withheld.add(name)
        else:
            to_wire[name] = sent
            to_canonical[sent] = name
    return WireNames(profile=profile, to_wire=to_wire, to_canonical=to_canonical, withheld=frozenset(withheld))
