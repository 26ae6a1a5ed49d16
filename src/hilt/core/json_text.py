"""Fits texts into a JSON result of limited size: whole characters, head and tail, a mark between them."""

import json
from collections.abc import Callable, Sequence
from typing import Final

Keep = Callable[[str], str]

_HEAD_SHARE: Final = 0.6


def json_bytes(text: str) -> int:
    """Return how many bytes the text takes inside a JSON string."""
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2


def fit(stdout: str, stderr: str, *, budget_bytes: int, keep: Keep | None = None) -> tuple[str, str]:
    """Return both texts so that together they take at most `budget_bytes` inside JSON strings.

    A short stream leaves its share to the other. `keep` is given each text that is cut and returns the handle
    under which ReadResult shows it, "" for none.
    """
    out, err = json_bytes(stdout), json_bytes(stderr)
    if out + err <= budget_bytes:
        return stdout, stderr
    half = budget_bytes // 2
    out_share = max(half, budget_bytes - err)
    err_share = budget_bytes - min(out, out_share)
    return cut(stdout, out_share, keep=keep), cut(stderr, err_share, keep=keep)


def cut(text: str, budget_bytes: int, *, keep: Keep | None = None) -> str:
    """Return the text, or its head and tail around a mark, in at most `budget_bytes` inside a JSON string."""
    if json_bytes(text) <= budget_bytes:
        return text
    total = len(text.encode())
    handle = keep(text) if keep is not None else ""
    room = max(0, budget_bytes - json_bytes(_mark(total, total, handle, total)))
    head = _prefix(text, int(room * _HEAD_SHARE))
    tail = _prefix(text[::-1], room - json_bytes(head))[::-1]
    shown = len(head.encode())
    return head + _mark(total - shown - len(tail.encode()), total, handle, shown) + tail


def _mark(missing: int, total: int, handle: str, offset: int) -> str:
    way = f"; ReadResult(handle='{handle}', offset={offset}) shows them" if handle else ""
    return f"\n[... {missing} of {total} bytes left out{way} ...]\n"


def _prefix(text: str, budget_bytes: int) -> str:
    """Return the longest start of the text that takes at most `budget_bytes` inside a JSON string."""
    low, high = 0, min(len(text), budget_bytes)
    while low < high:
        middle = (low + high + 1) // 2
        if json_bytes(text[:middle]) <= budget_bytes:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def shares(texts: Sequence[str], *, budget_bytes: int) -> list[int]:
    """Return how many bytes inside JSON strings each text gets of a budget: what short ones leave is the others'."""
    sizes = [json_bytes(text) for text in texts]
    out = [0] * len(sizes)
    left = max(budget_bytes, 0)
    for done, place in enumerate(sorted(range(len(sizes)), key=lambda at: sizes[at])):
        out[place] = min(sizes[place], left // (len(sizes) - done))
        left -= out[place]
    return out
