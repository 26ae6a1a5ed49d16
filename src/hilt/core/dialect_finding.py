"""What was done to a tool to make it fit a provider."""

from typing import Literal

from hilt.core.frozen import frozen

FindingKind = Literal["repaired", "told", "withheld"]


@frozen(kw_only=False)
class Repair:
    """One change: where (a JSON pointer into the canonical schema), what kind, by which rule, in one sentence."""

    pointer: str
    rule: str
    kind: FindingKind
    text: str


class StrictLostError(Exception):
    """The schema has something that strict mode cannot say; the tool is sent without it."""


def pointer(at: str, *steps: str | int) -> str:
    """Return the JSON pointer of a place below another."""
    return at + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)
