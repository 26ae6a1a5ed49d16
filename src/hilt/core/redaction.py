"""Masks known secret values, and their usual encodings, in whatever leaves the process.

Built once from exact values and handed to every sink; a value that nobody named is not looked for.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, quote_plus

import ahocorasick

MASK: Final = "[masked]"
SECRET_MIN_CHARS: Final = 6


class Redactor:
    """Masks a fixed set of secrets. Without secrets it is false and returns what it gets.

    Values of fewer than `SECRET_MIN_CHARS` characters are not masked: they would match everywhere.
    """

    __slots__ = ("_automaton",)

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._automaton: ahocorasick.Automaton | None = None
        patterns: set[str] = set()
        for secret in secrets:
            for value in {secret, secret.strip()}:
                if len(value) >= SECRET_MIN_CHARS:
                    patterns |= _forms(value)
        if patterns:
            self._automaton = ahocorasick.Automaton()
            for pattern in patterns:
                self._automaton.add_word(pattern, len(pattern))
            self._automaton.make_automaton()

    def __bool__(self) -> bool:
        return self._automaton is not None

    def holds(self, text: str) -> bool:
        """Whether a secret, or an encoding of one, occurs in the text."""
        return self._automaton is not None and next(self._automaton.iter(text), None) is not None

    def redact(self, text: str) -> str:
        """Return the text with every occurrence replaced by `MASK`; the same object when there is none."""
        if self._automaton is None:
            return text
        spans = _merged((end + 1 - length, end + 1) for end, length in self._automaton.iter(text))
        if not spans:
            return text
        pieces: list[str] = []
        done = 0
        for start, end in spans:
            pieces += (text[done:start], MASK)
            done = end
        pieces.append(text[done:])
        return "".join(pieces)

    def redact_value(self, value: object) -> object:
        """Return a JSON value with every string in it redacted, keys included; sequences become lists."""
        if self._automaton is None:
            return value
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, Mapping):
            out: dict[object, object] = {}
            for key, item in value.items():
                out[self.redact(key) if isinstance(key, str) else key] = self.redact_value(item)
            return out
        if isinstance(value, list | tuple):
            # A loop: a comprehension has a frame of its own in Python 3.11, and values may be deep.
            items: list[object] = []
            for item in value:
                items.append(self.redact_value(item))
            return items
        return value


def _merged(found: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join overlapping spans, in order, so that no piece of a secret stays between two masks."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if spans and start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans


def _forms(secret: str) -> set[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    forms = {secret, raw.hex(), raw.hex().upper()}
    for escaped in (quote(raw, safe=""), quote(raw, safe="/"), quote_plus(raw)):
        forms |= {escaped, _lower_percent(escaped)}
    for offset in range(3):
        forms |= _base64_forms(raw, offset)
    # A form may stand in JSON text, and that text in a string of another JSON text.
    for _ in range(2):
        forms |= {escaped for form in forms for escaped in _json_escapes(form)}
    return forms


def _lower_percent(text: str) -> str:
    head, *rest = text.split("%")
    return head + "".join("%" + piece[:2].lower() + piece[2:] for piece in rest)


def _base64_forms(raw: bytes, offset: int) -> set[str]:
    """Return the characters of base64 that the secret alone decides, `offset` bytes into a group of three."""
    start, end = -(-8 * offset // 6), 8 * (offset + len(raw)) // 6
    padded = bytes(offset) + raw
    whole = {base64.b64encode(padded).decode(), base64.urlsafe_b64encode(padded).decode()}
    inner = {text[start:end] for text in whole}
    return inner if offset else inner | whole


def _json_escapes(text: str) -> set[str]:
    plain = json.dumps(text, ensure_ascii=False)[1:-1]
    ascii_only = json.dumps(text)[1:-1]
    return {form.replace("/", slash) for form in (plain, ascii_only) for slash in ("/", "\\/")}
