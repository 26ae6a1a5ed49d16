"""Entries whose answers are very large."""

import struct
import zlib
from typing import Final

from hilt.faults.core import CallFault
from hilt.faults.entry import CALLS_ALWAYS, HTTP, Entry, Setting
from hilt.faults.exchange import Exchange
from hilt.faults.honest import raw_result
from hilt.faults.http_exchange import over_http
from hilt.faults.protocol import encode

MIB: Final = 1 << 20
_ROW: Final = b'{"id":1,"name":"a row like any other","tags":["x","y"],"score":0.5}'
_BOMB_BLOCK_BYTES: Final = 1 << 24


def _text(count: int) -> bytes:
    line = b"0123456789 the quick brown fox jumps over the lazy dog\\n"
    return b'"content":[{"type":"text","text":"' + line * (count // len(line)) + b'"}]'


def _json(count: int) -> bytes:
    rows = b",".join([_ROW] * (count // (len(_ROW) + 1)))
    return b'"content":[{"type":"text","text":"many rows"}],"structuredContent":{"rows":[' + rows + b"]}"


def _base64(count: int) -> bytes:
    head = b'"content":[{"type":"image","mimeType":"image/png","data":"'
    return head + b"iVBO" * (count // 4) + b'"}]'


_MEMBERS: Final = {"huge-text": _text, "over-limit": _text, "huge-json": _json, "huge-base64": _base64}


class Huge(CallFault):
    """Answers with one very large result."""

    def started(self) -> None:
        """Write the result once."""
        self._members = _MEMBERS[self.setup.entry](int(self.setup.number("mib") * MIB))

    def fault(self, exchange: Exchange) -> None:
        """Answer with it."""
        exchange.answer_text(raw_result(exchange, self._members))


class GzipBomb(CallFault):
    """Answers with a small body that grows a thousandfold when it is unpacked."""

    def fault(self, exchange: Exchange) -> None:
        """Send the bomb, asked for or not."""
        head, tail = b'{"jsonrpc":"2.0","id":' + encode(exchange.id) + b',"result":{"content":"', b'"}}'
        body = bomb(head, tail, int(self.setup.number("mib") * MIB))
        kind = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")]
        self.log.write("sent", id=exchange.id, status=200)
        over_http(exchange).connection.reply(200, kind, body)


def bomb(head: bytes, tail: bytes, size: int) -> bytes:
    """Return `head`, at least `size` letters and `tail` as one gzip member, made without unpacked copies of it."""
    block = b"A" * min(size, _BOMB_BLOCK_BYTES)
    count = -(-size // len(block))
    first = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = first.compress(head) + first.flush(zlib.Z_FULL_FLUSH)
    middle = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    # After a full flush the next block depends on nothing before it, so that it can be repeated.
    packed += (middle.compress(block) + middle.flush(zlib.Z_FULL_FLUSH)) * count
    last = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed += last.compress(tail) + last.flush(zlib.Z_FINISH)
    checksum = zlib.crc32(head)
    for _ in range(count):
        checksum = zlib.crc32(block, checksum)
    length = (len(head) + len(block) * count + len(tail)) & 0xFFFFFFFF
    start = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    return start + packed + struct.pack("<II", zlib.crc32(tail, checksum), length)


def _mib(default: str) -> tuple[Setting, ...]:
    return (*CALLS_ALWAYS, Setting(name="mib", default=default, summary="size of the answer in MiB"))


ENTRIES = (
    Entry(
        name="huge-text",
        section=3,
        ids=("FLT-49",),
        summary="Answers with 20 MB of text.",
        server=Huge,
        settings=_mib("19.1"),
    ),
    Entry(
        name="huge-json",
        section=3,
        ids=("FLT-49",),
        summary="Answers with 20 MB of structured content.",
        server=Huge,
        settings=_mib("19.1"),
    ),
    Entry(
        name="huge-base64",
        section=3,
        ids=("FLT-49",),
        summary="Answers with an image of 32 MiB in base64.",
        server=Huge,
        settings=_mib("32"),
    ),
    Entry(
        name="over-limit",
        section=3,
        ids=("FLT-50",),
        summary="Answers with one message of 65 MiB.",
        server=Huge,
        settings=_mib("65"),
    ),
    Entry(
        name="gzip-bomb",
        section=3,
        ids=("FLT-50",),
        summary="Answers with 1 MiB that unpacks to 1 GiB.",
        server=GzipBomb,
        transports=HTTP,
        settings=_mib("1024"),
    ),
)
