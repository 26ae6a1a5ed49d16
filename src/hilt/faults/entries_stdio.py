"""Entries of standard input and output: noise, floods, long lines, exits and children."""

import os
from typing import Final

from hilt.faults import family
from hilt.faults.core import CallFault, Server
from hilt.faults.entry import CALLS_ALWAYS, CALLS_ONCE, STDIO, Entry, Kind, Setting
from hilt.faults.exchange import Exchange
from hilt.faults.honest import RpcError
from hilt.faults.pipe import StdioExchange
from hilt.faults.protocol import Json, encode, error, result, text_content

_NOISE: Final = (
    b"\xef\xbb\xbf",
    b"==== Welcome to the fault kit ====\n",
    b"\n   \n\r\n",
    b"INFO listening\r\n",
    b'[{"jsonrpc":"2.0","method":"notifications/message"}]\n',
    b"\xff\xfe no utf-8 \xc3(\n",
    b'{"level":"info","msg":"a log line in JSON"}\n',
    b'"text"\n7\nnull\n',
)


class Noise(Server):
    """Writes what is no message before and between its answers, which end in CRLF."""

    def finish(self, exchange: Exchange, value: Json | None = None) -> None:
        """Make noise, then answer."""
        noise = b"".join(_NOISE[1:]) + _NOISE[0]
        try:
            found = self.honest(exchange) if value is None else value
        except RpcError as exc:
            message = error(exchange.id, exc.code, exc.message)
        else:
            message = result(exchange.id, self.completed(exchange, found))
        exchange.answer_text(noise + encode(message) + b"\r")


class StderrFlood(CallFault):
    """Writes megabytes without a line end to standard error before each answer."""

    def fault(self, exchange: Exchange) -> None:
        """Flood and answer."""
        piece = b"e" * (1 << 16)
        missing = int(self.setup.number("mb") * 1_000_000)
        while missing > 0:
            missing -= os.write(2, piece[:missing])
        self.finish(exchange)


class LongLine(CallFault):
    """Answers in one long line."""

    def fault(self, exchange: Exchange) -> None:
        """Answer with many letters."""
        letters = {"letters": "é" * 70_000, "line": "x" * (8 << 20)}
        self.finish(exchange, text_content(letters[self.setup.text("kind")]))


class ExitMidCall(CallFault):
    """Exits in the middle of a call; a later start does not, or each one does."""

    def hits(self, exchange: Exchange) -> bool:
        """Spare later starts, unless it is a loop."""
        return super().hits(exchange) and (self.setup.entry == "crash-loop" or self.setup.starts == 1)

    def fault(self, exchange: Exchange) -> None:
        """Run the tool and leave with words."""
        self.execute(exchange)
        if isinstance(exchange, StdioExchange):
            exchange.leave(self.setup.count("code"), "writing the index\nout of disk\n")


class Grandchildren(CallFault):
    """Has children of three levels that are hard to end, and may exit itself."""

    def started(self) -> None:
        """Start the family."""
        seconds = self.setup.number("life")
        for roles in ("plain,stubborn,apart", "holder"):
            family.start(roles, seconds, self.setup.log_path)

    def hits(self, exchange: Exchange) -> bool:
        """Exit only where that is asked for."""
        return self.setup.text("kind") == "exits" and super().hits(exchange)

    def fault(self, exchange: Exchange) -> None:
        """Leave the family behind."""
        exchange.cut()


class ClosedStdout(CallFault):
    """Closes standard output in a call, and lives on."""

    def fault(self, exchange: Exchange) -> None:
        """Close."""
        if self.link is not None:
            self.log.write("cut", id=exchange.id)
            self.link.close_output()
        exchange.hang()


class NotReading(Server):
    """Stops to read in the middle of a long line."""

    def started(self) -> None:
        """Set how much of a line is read."""
        if self.link is not None:
            self.link.line_max_bytes = self.setup.count("bytes")


ENTRIES = (
    Entry(
        name="noise",
        section=5,
        ids=("FLT-61",),
        summary="Writes banners, blank lines, a byte order mark, CRLF, log lines and broken UTF-8 between messages.",
        server=Noise,
        transports=STDIO,
    ),
    Entry(
        name="stderr-flood",
        section=5,
        ids=("FLT-62",),
        summary="Writes 10 MB without a line end to standard error before each answer.",
        server=StderrFlood,
        transports=STDIO,
        settings=(*CALLS_ALWAYS, Setting(name="mb", default="10", summary="megabytes before each answer")),
    ),
    Entry(
        name="long-line",
        section=5,
        ids=("FLT-63",),
        summary="Answers in one long line: 70,000 letters of two bytes, or 8 MiB.",
        server=LongLine,
        transports=STDIO,
        kinds=(Kind(name="letters"), Kind(name="line")),
        settings=CALLS_ALWAYS,
    ),
    Entry(
        name="exit-mid-call",
        section=5,
        ids=("FLT-64",),
        summary="Exits in a call with a code and last words; by its log it knows later starts, and spares them.",
        server=ExitMidCall,
        transports=STDIO,
        settings=(*CALLS_ONCE, Setting(name="code", default="7", summary="the exit code")),
    ),
    Entry(
        name="crash-loop",
        section=5,
        ids=("FLT-64",),
        summary="Exits in every call, of every start.",
        server=ExitMidCall,
        transports=STDIO,
        settings=(*CALLS_ALWAYS, Setting(name="code", default="7", summary="the exit code")),
    ),
    Entry(
        name="grandchildren",
        section=5,
        ids=("FLT-65",),
        summary="Has three levels of children: one ignores SIGTERM, one has its own session, one holds the output.",
        server=Grandchildren,
        transports=STDIO,
        kinds=(Kind(name="stays"), Kind(name="exits")),
        settings=(*CALLS_ONCE, Setting(name="life", default="120", summary="seconds until they end by themselves")),
    ),
    Entry(
        name="closed-stdout",
        section=5,
        ids=("FLT-66",),
        summary="Closes standard output in a call and lives on.",
        server=ClosedStdout,
        transports=STDIO,
        settings=CALLS_ONCE,
    ),
    Entry(
        name="not-reading",
        section=5,
        ids=("FLT-66",),
        summary="Stops to read in the middle of a long line and lives on.",
        server=NotReading,
        transports=STDIO,
        settings=(Setting(name="bytes", default="65536", summary="bytes of a line that are still read"),),
    ),
)
