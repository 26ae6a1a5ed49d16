"""The ends of pipes as byte streams, read and written without a task in the background."""

import os
from typing import Final

import anyio
import anyio.abc
import anyio.lowlevel

_CHUNK_BYTES: Final = 65_536


class PipeReader(anyio.abc.ByteReceiveStream):
    """The read end of a pipe."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd

    async def receive(self, max_bytes: int = _CHUNK_BYTES) -> bytes:
        """Return the bytes that are there, waiting for the first one."""
        await anyio.lowlevel.checkpoint()
        while True:
            if self._fd < 0:
                raise anyio.ClosedResourceError
            try:
                chunk = os.read(self._fd, max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._fd)
                continue
            if not chunk:
                raise anyio.EndOfStream
            return chunk

    def close(self) -> None:
        """Close at once; a waiting receiver gets `ClosedResourceError`."""
        self._fd = _close(self._fd)

    async def aclose(self) -> None:
        """See `close`."""
        self.close()


class PipeWriter(anyio.abc.ByteSendStream):
    """The write end of a pipe."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd

    async def send(self, item: bytes) -> None:
        """Write all of `item`; `BrokenResourceError` when nobody reads any more."""
        await anyio.lowlevel.checkpoint()
        rest = memoryview(item)
        while rest:
            if self._fd < 0:
                raise anyio.ClosedResourceError
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._fd)
            except OSError as exc:
                raise anyio.BrokenResourceError from exc

    def close(self) -> None:
        """Close at once: the reader sees the end of its input."""
        self._fd = _close(self._fd)

    async def aclose(self) -> None:
        """See `close`."""
        self.close()


def _close(fd: int) -> int:
    if fd >= 0:
        anyio.notify_closing(fd)
        os.close(fd)
    return -1
