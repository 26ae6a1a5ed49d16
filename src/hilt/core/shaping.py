"""Fits a result to the model: repairs its text, leaves out parts that are too large, cuts what is too long.

Only plain text is cut. A structured result over the cap fails closed: `structured.py` has what is said instead.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from hilt.core.content import (
    AudioPart,
    EmbeddedResourcePart,
    ImagePart,
    Part,
    StructuredPart,
    TextPart,
    base64_size,
)
from hilt.core.errors import ErrorCode
from hilt.core.frozen import frozen
from hilt.core.origin import HEAVY, Origin, outweighs
from hilt.core.tool import ToolResult, canonical_json

CAP_BYTES: Final = 25_000
TEXT_PART_MAX_BYTES: Final = 25_600
MEDIA_PART_MAX_BYTES: Final = 10 * 1024 * 1024
ALL_PARTS_MAX_BYTES: Final = 20 * 1024 * 1024
PAGE_MAX_BYTES: Final = 24_000

_LINE_END_BYTES: Final = 200
_HEAD_SHARE: Final = 0.6
_NOTES_MAX: Final = 10
_MIME_MAX_CHARS: Final = 80

PLAIN: Final = Origin()


class Keep(Protocol):
    """Keeps an uncut text and, where it is structured, its JSON text; returns a handle, "" when it is too large."""

    def __call__(self, text: str, *, structured: str | None = None) -> str:
        """Keep it."""
        ...


@frozen
class Shaped:
    """A result as the model gets it.

    `notes` say what was changed, for the record; `handle` is where the uncut text is kept, "" if nowhere;
    `code` is the error code of a result that failed closed, "" otherwise.
    """

    result: ToolResult
    notes: tuple[str, ...] = ()
    handle: str = ""
    code: str = ""


def shape(result: ToolResult, *, keep: Keep, cap_bytes: int = CAP_BYTES, origin: Origin = PLAIN) -> Shaped:
    """Return the result with a text of at most `cap_bytes` bytes of valid UTF-8, its notes included.

    Of plain text over the cap the head (60 %) and the tail (40 %) stay, and `keep` takes the whole. A structured
    result over the cap becomes an error that outlines it, unless it is an error already. Room is left for the
    lines that `gate_media` may add.
    """
    text = result.content
    if not result.parts and text.isascii() and len(text) <= cap_bytes:
        return Shaped(result=result)
    notes: list[str] = []
    text, repaired = _valid(text)
    if repaired:
        notes.append("invalid UTF-8 in the text was replaced")
    valid = tuple(map(_valid_part, result.parts))
    if valid != result.parts:
        notes.append("invalid UTF-8 in a part was replaced")
    parts, left_out = _fitting(valid)
    for part in left_out:
        if isinstance(part, TextPart) and part.text not in text:
            text = f"{text}\n{part.text}" if text else part.text
    lines = _note_lines([f"{_described(part)}: left out, too large" for part in left_out])
    notes += lines
    raw = text.encode("utf-8")
    tail = "".join(f"\n{line}" for line in lines)
    reserve = len(tail.encode("utf-8")) + sum(len(line.encode()) + 1 for line in _media_lines(parts))
    handle = ""
    if len(raw) > cap_bytes - reserve:
        whole = replace(result, content=text, parts=valid)
        withheld = _withheld(whole, parts, keep=keep, cap_bytes=cap_bytes, origin=origin, notes=notes)
        if withheld is not None:
            return withheld
        handle = keep(text)
        text = _cut(raw, max(cap_bytes - reserve, 0), handle)
        notes.append(f"text of {len(raw)} bytes was cut")
    if not notes:
        return Shaped(result=result)
    shown = (text + tail).removeprefix("\n")
    return Shaped(result=replace(result, content=shown, parts=parts), notes=tuple(notes), handle=handle)


def _withheld(
    result: ToolResult, parts: Sequence[Part], *, keep: Keep, cap_bytes: int, origin: Origin, notes: list[str]
) -> Shaped | None:
    """Return the error in place of a structured result, None for any other; of `parts` stay those without text."""
    from hilt.core.structured import find_json, too_large

    found = None if result.is_error else find_json(result, origin)
    if found is None:
        return None
    size = len(result.content.encode("utf-8"))
    handle = keep(result.content, structured=found.text)
    error = too_large(size, cap_bytes, found, handle, origin)
    content = error.content(origin.tool)
    kept = tuple(part for part in parts if _holds_no_text(part))
    reserve = sum(len(line.encode()) + 1 for line in _media_lines(kept))
    if len(content.encode("utf-8", "replace")) > cap_bytes - reserve:
        content = content.encode("utf-8", "replace")[: max(cap_bytes - reserve, 0)].decode("utf-8", "ignore")
    return Shaped(
        result=replace(result, content=content, is_error=True, parts=kept),
        notes=(*notes, f"JSON of {size} bytes was withheld"),
        handle=handle,
        code=str(ErrorCode.RESULT_TOO_LARGE),
    )


def _holds_no_text(part: Part) -> bool:
    match part:
        case TextPart() | StructuredPart():
            return False
        case EmbeddedResourcePart():
            return part.text is None
        case _:
            return True


def gate_media(result: ToolResult, *, images: bool, audio: bool) -> ToolResult:
    """Return the result without parts that the model cannot take; each is one line of the text instead."""
    held = [part for part in result.parts if not _accepted(part, images=images, audio=audio)]
    if not held:
        return result
    lines = "\n".join(_media_lines(held))
    content = f"{result.content}\n{lines}" if result.content else lines
    passed = tuple(part for part in result.parts if _accepted(part, images=images, audio=audio))
    return replace(result, content=content, parts=passed)


def _accepted(part: Part, *, images: bool, audio: bool) -> bool:
    match part:
        case ImagePart():
            return images
        case AudioPart():
            return audio
        case _:
            return True


def _media_lines(parts: tuple[Part, ...] | list[Part]) -> list[str]:
    media = [part for part in parts if isinstance(part, ImagePart | AudioPart)]
    return _note_lines([f"{_described(part)}: not shown, this model cannot take it" for part in media])


def _note_lines(notes: list[str]) -> list[str]:
    lines = [f"[{note}]" for note in notes[:_NOTES_MAX]]
    if len(notes) > _NOTES_MAX:
        lines.append(f"[and {len(notes) - _NOTES_MAX} more parts likewise]")
    return lines


def _described(part: Part) -> str:
    mime = getattr(part, "mime_type", "")
    printable = "".join(c for c in mime[:_MIME_MAX_CHARS] if c.isprintable())
    size = _size(part)
    told = f"of more than {HEAVY} bytes" if isinstance(part, StructuredPart) and size > HEAVY else f"of {size} bytes"
    return " ".join(word for word in (part.kind, printable, told) if word)


def _size(part: Part) -> int:
    """Return a part's size in bytes; of media from the length of the base64 alone."""
    match part:
        case ImagePart() | AudioPart():
            return base64_size(part.data)
        case EmbeddedResourcePart(blob=str(blob)):
            return base64_size(blob)
        case EmbeddedResourcePart():
            return len((part.text or "").encode("utf-8", "surrogatepass"))
        case TextPart():
            return len(part.text.encode("utf-8", "surrogatepass"))
        case StructuredPart() if outweighs(part.value, HEAVY):
            return HEAVY + 1  # at least so much, and far over the limit: that is known without writing it out
        case StructuredPart():
            try:
                return len(canonical_json(part.value).encode("utf-8", "surrogatepass"))
            except RecursionError:  # nested too deeply to be stored or sent
                return TEXT_PART_MAX_BYTES + 1
        case _:
            return 0


def _limit(part: Part) -> int:
    match part:
        case ImagePart() | AudioPart():
            return MEDIA_PART_MAX_BYTES
        case EmbeddedResourcePart() if part.blob is not None:
            return MEDIA_PART_MAX_BYTES
        case _:
            return TEXT_PART_MAX_BYTES


def _fitting(parts: tuple[Part, ...]) -> tuple[tuple[Part, ...], list[Part]]:
    """Return the parts within their limits, in order, and those left out."""
    kept: list[Part] = []
    left_out: list[Part] = []
    room = ALL_PARTS_MAX_BYTES
    for part in parts:
        size = _size(part)
        if size > _limit(part) or size > room:
            left_out.append(part)
        else:
            kept.append(part)
            room -= size
    return tuple(kept), left_out


def _valid(text: str) -> tuple[str, bool]:
    """Return the text without lone surrogates, and whether it had any."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), True
    return text, False


def _valid_part(part: Part) -> Part:
    if isinstance(part, TextPart | EmbeddedResourcePart) and part.text is not None:
        text, repaired = _valid(part.text)
        return replace(part, text=text) if repaired else part
    return part


def _cut(raw: bytes, cap: int, handle: str) -> str:
    """Return head, marker and tail of the text in at most `cap` bytes."""
    room = cap - len(_marker(len(raw), len(raw), len(raw), handle).encode()) - 2
    if room <= 0:
        return raw[:cap].decode("utf-8", "ignore")
    head = _head_end(raw, int(room * _HEAD_SHARE))
    start = _tail_start(raw, len(raw) - (room - int(room * _HEAD_SHARE)))
    before = raw[:head].decode("utf-8")
    joint = "" if before.endswith("\n") else "\n"
    marker = _marker(start - head, len(raw), head, handle)
    return f"{before}{joint}{marker}\n{raw[start:].decode('utf-8')}"


def _marker(missing: int, total: int, offset: int, handle: str) -> str:
    counts = f"{missing} of {total} bytes are missing here"
    if not handle:
        return f"[{counts}: the result was too large to keep]"
    call = f'{{"handle": "{handle}", "offset": {offset}, "limit": {min(missing, PAGE_MAX_BYTES)}}}'
    return f"[{counts}; to see them call ReadResult {call}]"


def _head_end(raw: bytes, target: int) -> int:
    """Return the last line end at most 200 bytes before the target, else the nearest start of a character."""
    line_end = raw.rfind(b"\n", max(target - _LINE_END_BYTES, 0), target)
    return line_end + 1 if line_end >= 0 else character_start(raw, target)


def _tail_start(raw: bytes, target: int) -> int:
    """Return the start of a line at most 200 bytes behind the target, else the next start of a character."""
    line_end = raw.find(b"\n", max(target - 1, 0), target + _LINE_END_BYTES)
    if line_end >= 0:
        return line_end + 1
    return character_end(raw, target)


def character_start(raw: bytes, offset: int) -> int:
    """Return the start of the character of UTF-8 that holds the byte at `offset`; the end stays the end."""
    while 0 < offset < len(raw) and raw[offset] & 0xC0 == 0x80:
        offset -= 1
    return offset


def character_end(raw: bytes, offset: int) -> int:
    """Return the first start of a character at or behind `offset`; the end stays the end."""
    while offset < len(raw) and raw[offset] & 0xC0 == 0x80:
        offset += 1
    return offset
