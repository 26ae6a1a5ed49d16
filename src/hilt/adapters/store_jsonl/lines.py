"""Values to lines of JSON and back: fast, masked, never over the limit of a line."""

import json
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from hilt.core.redaction import Redactor

LINE_MAX_BYTES: Final = 16 * 1024 * 1024
TRUNCATED: Final = "result_truncated"

# Lengths of strings, in characters, that are tried in turn until a line fits.
_STRING_MAXIMA: Final = (4 << 20, 1 << 20, 1 << 18, 1 << 14, 1 << 10)
_MARK_BYTES: Final = 64
_LEVELS_KEPT: Final = 64

_encoder: Final = msgspec.json.Encoder(enc_hook=str)
_decoder: Final = msgspec.json.Decoder()


def encode(value: object) -> bytes:
    """Return the value as JSON in one line, without its end. Values that JSON lacks become text."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:  # a lone surrogate, which JSON can escape
        return json.dumps(value, separators=(",", ":"), default=str).encode("ascii")


def decode(line: bytes) -> object:
    """Return the value of one line.

    Raises:
        ValueError: It is no JSON.
    """
    try:
        value: object = _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError):
        try:
            value = json.loads(line)
        except RecursionError as exc:
            raise ValueError("nested too deeply") from exc
    return value


def to_line(value: Mapping[str, object], redactor: Redactor, *, limit: int = LINE_MAX_BYTES) -> bytes:
    """Return an object as one line with its end: secrets masked, then cut to `limit` bytes and marked.

    Strings give way first, the longest of them; parts of a result that hold bytes are left out whole. What is
    nested too deeply for the encoder is left out too.
    """
    try:
        return _to_line(value, redactor, limit)
    except RecursionError:
        shallow = {key: _shallow(item, _LEVELS_KEPT) for key, item in value.items()}
        return _to_line({**shallow, TRUNCATED: True}, redactor, limit)


def _to_line(value: Mapping[str, object], redactor: Redactor, limit: int) -> bytes:
    line = encode(value)
    if redactor and redactor.holds(line.decode("utf-8")):
        masked = redactor.redact_value(value)
        value = masked if isinstance(masked, Mapping) else value
        line = encode(value)
    if len(line) >= limit:
        line = _cut(value, limit)
    return line + b"\n"


def _shallow(value: object, levels: int) -> object:
    """Return the value without what lies deeper than `levels`."""
    if isinstance(value, Mapping):
        return {key: _shallow(item, levels - 1) for key, item in value.items()} if levels else {}
    if isinstance(value, list | tuple):
        return [_shallow(item, levels - 1) for item in value] if levels else []
    return value


def _cut(value: Mapping[str, object], limit: int) -> bytes:
    # An escaped character has six bytes: when even that many would not help, no string is cut in vain.
    helps = len(encode(value)) - 6 * _long_strings(value) < limit
    for maximum in _STRING_MAXIMA if helps else ():
        shorter = {key: _shortened(item, maximum) for key, item in value.items()}
        line = encode({**shorter, TRUNCATED: True})
        if len(line) < limit:
            return line
    # It is long by its number of items: beginnings stay.
    return encode({**_beginning_of_object(value, limit - _MARK_BYTES), TRUNCATED: True})


def _long_strings(value: object) -> int:
    """Return how many characters those strings have that the shortest maximum would cut."""
    if isinstance(value, str):
        return len(value) if len(value) > _STRING_MAXIMA[-1] else 0
    if isinstance(value, Mapping):
        return sum(map(_long_strings, value.values()))
    return sum(map(_long_strings, value)) if isinstance(value, list | tuple) else 0


def _beginning(value: object, room: int) -> object:
    """Return what fits of a value into `room` bytes: the first items of a list, the start of a string."""
    if isinstance(value, str):
        return value[: max(room, 0) // 6]
    if isinstance(value, Mapping):
        return _beginning_of_object(value, room)
    if not isinstance(value, list | tuple):
        return value
    items: list[object] = []
    for item in value:
        room -= len(encode(item)) + 1
        if room < 0:
            break
        items.append(item)
    return items


def _beginning_of_object(value: Mapping[str, object], room: int) -> dict[str, object]:
    share = room // max(len(value), 1)
    out: dict[str, object] = {}
    for key, item in value.items():
        name = len(encode(key)) + 2
        kept = _beginning(item, share - name - 2)
        room -= name + len(encode(kept))
        if room < 0:
            break
        out[key] = kept
    return out


def _shortened(value: object, maximum: int) -> object:
    if isinstance(value, str):
        return value if len(value) <= maximum else value[:maximum]
    if isinstance(value, Mapping):
        return {key: _shortened(item, maximum) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(item, maximum) for item in value if not _holds_bytes(item, maximum)]
    return value


def _holds_bytes(value: object, maximum: int) -> bool:
    """Whether the value is a part with base64 over the maximum, of which a piece would be no image at all."""
    if not isinstance(value, Mapping) or "kind" not in value:
        return False
    return any(len(value[key]) > maximum for key in ("data", "blob") if isinstance(value.get(key), str))


def split_lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number, from 1, and text of each line that has one; a last line may lack its end."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line and not line.isspace():
            yield number, line


def read_objects(content: bytes) -> tuple[list[tuple[int, Mapping[str, object]]], list[int]]:
    """Return the objects of a file with their line numbers, and the numbers of bad lines.

    A last line without its end that is no object was being written: it is neither.
    """
    objects: list[tuple[int, Mapping[str, object]]] = []
    bad: list[int] = []
    torn = content.count(b"\n") + 1
    for number, line in split_lines(content):
        try:
            value = decode(line)
        except ValueError:
            value = None
        if isinstance(value, dict):
            objects.append((number, value))
        elif number != torn:
            bad.append(number)
    return objects, bad
