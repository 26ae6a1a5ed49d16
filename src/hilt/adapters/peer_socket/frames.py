"""A frame on a stream: its length in four bytes, big-endian, then itself."""

from typing import Final

from anyio.abc import ByteReceiveStream, ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

LENGTH_BYTES: Final = 4


class FrameTooLargeError(Exception):
    """The length that was announced is over the limit; nothing behind it was read."""


async def write_frame(stream: ByteStream, frame: bytes) -> None:
    """Send one frame."""
    await stream.send(len(frame).to_bytes(LENGTH_BYTES, "big") + frame)


async def read_frame(stream: ByteReceiveStream, *, most: int) -> bytes:
    """Return the next frame, of at most `most` bytes; memory grows with what arrives, not with what is announced.

    Raises:
        FrameTooLargeError: A longer one is announced.
        IncompleteRead: The stream ends before the frame does.
    """
    buffered = BufferedByteReceiveStream(stream)
    length = int.from_bytes(await buffered.receive_exactly(LENGTH_BYTES), "big")
    if length > most:
        raise FrameTooLargeError(f"{length} bytes are announced, at most {most} are read")
    return await buffered.receive_exactly(length)
