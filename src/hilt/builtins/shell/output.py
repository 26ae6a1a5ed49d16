"""What a command wrote as text: whole characters, and a mark where bytes were not kept."""

from dataclasses import dataclass
from typing import Final

_PARTIAL_MAX_BYTES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamText:
    """A stream as text; `lossy` says that bytes were no UTF-8, `dropped` counts bytes that nobody kept."""

    text: str
    lossy: bool = False
    dropped: int = 0


def decode(content: bytes, dropped: int) -> StreamText:
    """Decode a stream; where bytes were dropped the gap is in the middle and gets a mark of its own."""
    if not dropped:
        text, lossy = _decoded(content)
        return StreamText(text=text, lossy=lossy)
    half = len(content) // 2
    head, tail = _without_partial_end(content[:half]), _without_partial_start(content[half:])
    lost = dropped + len(content) - len(head) - len(tail)
    first, first_lossy = _decoded(head)
    last, last_lossy = _decoded(tail)
    text = f"{first}\n[... {lost} bytes were not kept ...]\n{last}"
    return StreamText(text=text, lossy=first_lossy or last_lossy, dropped=lost)


def _decoded(content: bytes) -> tuple[str, bool]:
    try:
        return content.decode(), False
    except UnicodeDecodeError:
        return content.decode(errors="replace"), True


def _without_partial_end(head: bytes) -> bytes:
    for back in range(1, min(_PARTIAL_MAX_BYTES, len(head)) + 1):
        byte = head[-back]
        if byte & 0xC0 != 0x80:
            needs = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return head[:-back] if needs > back else head
    return head


def _without_partial_start(tail: bytes) -> bytes:
    start = 0
    while start < min(_PARTIAL_MAX_BYTES, len(tail)) and tail[start] & 0xC0 == 0x80:
        start += 1
    return tail[start:]
