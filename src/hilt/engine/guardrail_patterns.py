"""The built-in reviewer: finds what looks like a credential, and in results an order to the model.

It is a net with wide meshes: patterns of well-known credential forms and of the commonest injected sentences.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import re2

from hilt.core.content import EmbeddedResourcePart, StructuredPart, TextPart
from hilt.core.errors import ConfigError
from hilt.core.guardrail import Direction, Payload
from hilt.core.secret_text import CREDENTIALS
from hilt.core.tool import ToolResult, canonical_json

_ORDERS: Final[Mapping[str, str]] = {
    "an order to drop earlier instructions": (
        r"(?i)\b(?:ignore|disregard|forget|override)\s+(?:\w+\s+){0,3}?"
        r"(?:previous|prior|above|earlier|preceding|your)\s+(?:\w+\s+){0,2}?(?:instructions?|prompts?|rules|orders)"
    ),
    "an order to keep something from the user": (
        r"(?i)\b(?:do\s+not|don't|never)\s+(?:tell|inform|mention|reveal|show)\s+(?:\w+\s+){0,3}?user\b"
    ),
    "a forged system message": (
        r"(?i)(?:<\s*/?\s*(?:system|system-prompt|system-reminder|important)\s*>|\[/?INST\]|<\|im_start\|>)"
    ),
}


class PatternReviewer:
    """Reviews by patterns that take time linear in the text; see `Reviewer`."""

    def __init__(self, further: Sequence[str] = ()) -> None:
        """Take further patterns, in RE2's syntax, that object wherever they match.

        Raises:
            ConfigError: A pattern cannot be compiled.
        """
        self._further = tuple(further)
        for pattern in self._further:
            try:
                _compiled(pattern)
            except re2.error as exc:
                raise ConfigError(f"{pattern!r} is no pattern: {exc}", key="guardrails") from exc

    async def review(self, direction: Direction, tool: str, payload: Payload) -> str | None:
        """See `Reviewer.review`; `tool` makes no difference."""
        text = _visible(_text(payload))
        tables = (CREDENTIALS,) if direction == "in" else (CREDENTIALS, _ORDERS)
        for table in tables:
            for what, pattern in table.items():
                if _compiled(pattern).search(text) is not None:
                    return f"{_where(direction)} {what}"
        for number, pattern in enumerate(self._further, start=1):
            if _compiled(pattern).search(text) is not None:
                return f"{_where(direction)} what pattern {number} of its settings matches"
        return None


def _where(direction: Direction) -> str:
    return "the arguments hold" if direction == "in" else "the result holds"


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> "re2._Regexp[str]":
    return re2.compile(pattern)


def _text(payload: Payload) -> str:
    if not isinstance(payload, ToolResult):
        return canonical_json(payload)
    texts = [payload.content]
    for part in payload.parts:
        match part:
            case TextPart(text=text):
                texts.append(text)
            case EmbeddedResourcePart(text=str(text)):
                texts.append(text)
            case StructuredPart(value=value):
                texts.append(canonical_json(value))
            case _:
                continue
    return "\n".join(texts)


def _visible(text: str) -> str:
    """Return the text without what hides it from patterns: look-alike forms and invisible characters."""
    normal = unicodedata.normalize("NFKC", text)
    return "".join(char for char in normal if char.isascii() or unicodedata.category(char) != "Cf")
