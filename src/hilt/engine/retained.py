"""Keeps results that were too long to be shown, for ReadResult: in memory, under unguessable handles.

A handle proves by two keyed digests that this process made it and that this session did, so that one whose
result is gone, one of another session and one that nobody made are told apart without a memory of them.
"""

import hashlib
import hmac
import secrets
from collections import OrderedDict
from typing import Final

from hilt.ports.results import RetainedText

RESULTS_MAX: Final = 32
ALL_MAX_BYTES: Final = 64 * 1024 * 1024
RESULT_MAX_BYTES: Final = 20 * 1024 * 1024

_PROCESS_KEY: Final = secrets.token_bytes(16)


class Retained:
    """See `RetainedResults`: at most 32 results and 64 MiB of text, 20 MiB each; the oldest go first."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)
        self._results: OrderedDict[str, tuple[RetainedText, int]] = OrderedDict()
        self._bytes = 0
        self._made = 0

    def keep(self, text: str, *, structured: str | None = None) -> str:
        """See `RetainedResults.keep`."""
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > RESULT_MAX_BYTES:
            return ""
        if structured is not None and structured is not text:
            more = len(structured.encode("utf-8", "surrogatepass"))
            structured = structured if more <= RESULT_MAX_BYTES else None
            size += 0 if structured is None else more
        self._made += 1
        number = f"r{self._made}"
        mine = _digest(self._key, number)
        handle = f"{number}-{mine}{_digest(_PROCESS_KEY, number + mine)}"
        self._results[handle] = (RetainedText(text=text, structured=structured), size)
        self._bytes += size
        while len(self._results) > RESULTS_MAX or self._bytes > ALL_MAX_BYTES:
            _, (_, dropped) = self._results.popitem(last=False)
            self._bytes -= dropped
        return handle

    def get(self, handle: str) -> RetainedText:
        """See `RetainedResults.get`."""
        found = self._results.get(handle)
        if found is not None:
            return found[0]
        number, _, digests = handle.partition("-")
        mine, made_here = digests[:16], digests[16:]
        if not _same(made_here, _digest(_PROCESS_KEY, number + mine)):
            raise LookupError(f"the handle {handle[:80]!r} is unknown: no result was kept under it")
        if not _same(mine, _digest(self._key, number)):
            raise LookupError(f"the handle {handle!r} is of another session")
        raise LookupError(f"the result of handle {handle!r} has expired and is gone; run the call again")

    def clear(self) -> None:
        """Free every result; their handles say from then on that it is gone."""
        self._results.clear()
        self._bytes = 0


def _digest(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:16]


def _same(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), right.encode())
