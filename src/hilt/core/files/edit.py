"""Replacing text in the bytes of a file, with every byte outside the replaced stretch kept."""

from bisect import bisect_left
from dataclasses import dataclass

from hilt.core.errors import ToolError

EDITED_MAX_BYTES = 10 << 20
"""No file grows past this by an edit."""

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """The new content and the number of replacements."""

    content: bytes
    count: int


def check_edit(old: str, new: str) -> None:
    """Check what can be checked without the file.

    Raises:
        ToolError: `old` is empty or equal to `new`.
    """
    if not old:
        raise ToolError.execution_failed("old_string is empty; give the text to replace")
    if old == new:
        raise ToolError.execution_failed("old_string and new_string are equal; nothing would change")


def edit(content: bytes, old: str, new: str, *, replace_all: bool = False) -> Edited:
    """Replace `old`, taken as plain text, which must occur exactly once, or everywhere with `replace_all`.

    Where most lines end in CRLF, LF in `old` matches either line end and line ends in `new` become CRLF; what
    `old` and `new` have in common at their ends is not touched, and so keeps its own line ends.

    Raises:
        ToolError: It occurs not at all, or several times; the content is not text in UTF-8; the file would
            grow past `EDITED_MAX_BYTES`.
    """
    check_edit(old, new)
    if content.startswith(_UTF16_MARKS) or b"\0" in content:
        raise ToolError.execution_failed("the file is UTF-16 or binary, not UTF-8 text; it was not changed")
    old_bytes, new_bytes = old.encode(), new.encode()
    windows = _ends_in_crlf(content)
    returns = _returns(content) if b"\r\n" in content else []
    if returns:
        old_bytes = old_bytes.replace(b"\r\n", b"\n")
    if windows:
        new_bytes = new_bytes.replace(b"\r\n", b"\n")
    plain = content.replace(b"\r\n", b"\n") if returns else content
    starts = _starts(plain, old_bytes, replace_all=replace_all)
    size = len(content) + len(starts) * (len(new_bytes) - len(old_bytes))
    if size > max(EDITED_MAX_BYTES, len(content)):
        raise ToolError.execution_failed(f"the file would have {size} bytes, more than {EDITED_MAX_BYTES}")
    left, right = _shared_ends(old_bytes, new_bytes)
    middle = new_bytes[left : len(new_bytes) - right]
    if windows:
        middle = middle.replace(b"\n", b"\r\n")
    out: list[bytes] = []
    done = 0
    for start in starts:
        first, last = start + left, start + len(old_bytes) - right
        first, last = first + bisect_left(returns, first), last + bisect_left(returns, last)
        out += (content[done:first], middle)
        done = last
    out.append(content[done:])
    return Edited(content=b"".join(out), count=len(starts))


def _ends_in_crlf(content: bytes) -> bool:
    return content.count(b"\r\n") * 2 > content.count(b"\n")


def _returns(content: bytes) -> list[int]:
    """Return where, in the content with LF alone, the line ends are that are CRLF in the content."""
    places: list[int] = []
    at = content.find(b"\r\n")
    while at >= 0:
        places.append(at - len(places))
        at = content.find(b"\r\n", at + 2)
    return places


def _starts(content: bytes, old: bytes, *, replace_all: bool) -> list[int]:
    """Return where `old` begins: without overlaps to replace all, else the only place."""
    at = content.find(old)
    if at < 0:
        raise ToolError.execution_failed(
            "old_string does not occur in the file; read it again and copy the text exactly"
        )
    if not replace_all and content.find(old, at + 1) >= 0:
        count = max(2, content.count(old))
        raise ToolError.execution_failed(f"old_string occurs {count} times; add lines around it, or set replace_all")
    starts: list[int] = []
    while at >= 0:
        starts.append(at)
        at = content.find(old, at + len(old)) if replace_all else -1
    return starts


def _shared_ends(old: bytes, new: bytes) -> tuple[int, int]:
    """Return how many bytes both begin with and, of the rest, both end with."""
    longest = min(len(old), len(new))
    left = next((i for i in range(longest) if old[i] != new[i]), longest)
    longest -= left
    right = next((i for i in range(longest) if old[-1 - i] != new[-1 - i]), longest)
    return left, right
