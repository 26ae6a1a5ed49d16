"""Texts of a server's definitions, made fit to be read by a model: what nobody can see is taken out."""

import unicodedata
from collections.abc import Mapping
from typing import Final

TOO_DEEP: Final = "[nested too deeply to be read]"
"""Stands in a server's JSON where a value was nested too deeply to be read."""

_KEPT: Final = frozenset("\n\t")
_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_DATA_KEYS: Final = frozenset({"default", "const", "enum", "examples", "required"})
_TEXT_KEYS: Final = frozenset({"description", "title", "$comment"})
_NAMED_KEYS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


def _hidden(char: str) -> bool:
    if char in _KEPT:
        return False
    return char in _BIDI or 0xE0000 <= ord(char) <= 0xE007F or unicodedata.category(char) == "Cc"


def clean_text(text: str) -> str:
    """Return the text without control, bidirectional and Unicode tag characters; newline and tab stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char for char in text if not _hidden(char))


def clean_schema(schema: Mapping[str, object]) -> dict[str, object]:
    """Return a copy of a JSON Schema with clean titles and descriptions; names and data stay."""
    out: dict[str, object] = {}
    for key, value in schema.items():
        if key in _DATA_KEYS:
            out[key] = value
        elif key in _TEXT_KEYS and isinstance(value, str):
            out[key] = clean_text(value)
        elif key in _NAMED_KEYS and isinstance(value, Mapping):
            out[key] = {name: _clean(inner) for name, inner in value.items()}
        else:
            out[key] = _clean(value)
    return out


def _clean(value: object) -> object:
    if isinstance(value, Mapping):
        return clean_schema(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
