"""A body as it comes, decompressed no further than its limit."""

import zlib
from collections.abc import AsyncIterable
from typing import Final

from hilt.ports.fetch import FetchFailedError

# What servers send unasked: hilt asks for no compression.
_WINDOW_BITS: Final = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class BoundedBody:
    """Collects a body of at most `limit` bytes, counted after decompression.

    `encoding` is the Content-Encoding header, "" without one.

    Raises:
        FetchFailedError: The encoding is unknown or nested.
    """

    def __init__(self, limit: int, encoding: str) -> None:
        self._limit = limit
        self._body = bytearray()
        name = encoding.strip().lower()
        if name not in ("", "identity", *_WINDOW_BITS):
            raise FetchFailedError("the answer is compressed in a way that was not asked for")
        self._unpacker = zlib.decompressobj(_WINDOW_BITS[name]) if name in _WINDOW_BITS else None

    async def read(self, chunks: AsyncIterable[bytes]) -> bytes:
        """Return the whole body.

        Raises:
            FetchFailedError: It is over its limit, or its compressed form is broken.
        """
        async for chunk in chunks:
            if self._unpacker is None:
                self._add(chunk)
            else:
                self._unpack(self._unpacker, chunk)
        if self._unpacker is not None and self._body and not self._unpacker.eof:
            raise FetchFailedError("the compressed answer ends too early")
        return bytes(self._body)

    def _add(self, more: bytes) -> None:
        if len(self._body) + len(more) > self._limit:
            raise FetchFailedError(f"the document is over {self._limit} bytes")
        self._body += more

    def _unpack(self, unpacker: "zlib._Decompress", chunk: bytes) -> None:
        if unpacker.eof:
            return  # what stands behind the end is no part of the document
        try:
            # One byte more than there is room for shows that there would be more.
            self._add(unpacker.decompress(chunk, self._limit - len(self._body) + 1))
        except zlib.error:
            raise FetchFailedError("the compressed answer is broken") from None
