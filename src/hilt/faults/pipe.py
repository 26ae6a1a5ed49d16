"""Standard input and output as an exchange: one message a line."""

import contextlib
import os
import select
import threading
from collections.abc import Iterator, Mapping
from typing import Final, NoReturn

from hilt.faults.exchange import EndedError, Exchange
from hilt.faults.lifetime import end_process
from hilt.faults.log import Log
from hilt.faults.protocol import Transport

_READ_BYTES: Final = 1 << 16
_STDIN: Final = 0
_STDOUT: Final = 1
_STDERR: Final = 2


class Link:
    """Both ends of the pipe; any thread may write."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.leaving = threading.Event()
        self.exit_code = 1
        self.line_max_bytes: int | None = None
        self._lock = threading.Lock()

    def write(self, piece: bytes) -> None:
        """Write bytes as they are.

        Raises:
            EndedError: Nobody reads any more, or the process is about to exit.
        """
        try:
            with self._lock:
                while piece and not self.leaving.is_set():
                    piece = piece[os.write(_STDOUT, piece) :]
        except OSError:
            raise EndedError from None

    def close_output(self) -> None:
        """Close standard output; the process lives on."""
        with self._lock:
            os.close(_STDOUT)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that come in, until the end of input or inside a line of more than `line_max_bytes`."""
        pieces: list[bytes] = []
        while piece := os.read(_STDIN, _READ_BYTES):
            *whole, rest = piece.split(b"\n")
            for line in whole:
                yield b"".join([*pieces, line])
                pieces = []
            pieces.append(rest)
            if self.line_max_bytes is not None and sum(map(len, pieces)) > self.line_max_bytes:
                return
        self.over.set()

    def wait_for_end(self) -> None:
        """Wait until the other end of standard input is closed, without reading from it."""
        if not self.over.is_set():
            poll = select.poll()
            poll.register(_STDIN, 0)
            poll.poll()
        self.over.set()


class StdioExchange(Exchange):
    """One line that came in."""

    transport = Transport.STDIO

    def __init__(self, link: Link, message: Mapping[str, object], *, nth: int, log: Log) -> None:
        super().__init__(message, nth=nth, log=log)
        self.link = link

    def answer_text(self, text: bytes) -> None:
        """See `Exchange.answer_text`."""
        self.log.write("sent", id=self.id)
        self.send_text(text)

    def send_text(self, text: bytes) -> None:
        """See `Exchange.send_text`."""
        self.link.write(text + b"\n")

    def blank(self) -> None:
        """See `Exchange.blank`."""
        self.link.write(b"\n")

    def accept(self) -> None:
        """See `Exchange.accept`; a line is not acknowledged."""

    def pause(self, seconds: float) -> None:
        """See `Exchange.pause`."""
        if self.link.over.wait(seconds):
            raise EndedError

    def hang(self) -> NoReturn:
        """See `Exchange.hang`."""
        self.link.over.wait()
        raise EndedError

    def cut(self) -> NoReturn:
        """See `Exchange.cut`; the process exits."""
        self.leave(self.link.exit_code)

    def end(self) -> None:
        """See `Exchange.end`; the process exits with code 0."""
        self.leave(0)

    def leave(self, code: int, words: str = "") -> NoReturn:
        """Exit at once, with last words on standard error; nothing more is read or written."""
        self.link.leaving.set()
        leave(self.log, code, words)


def leave(log: Log, code: int, words: str = "") -> NoReturn:
    """Exit at once, with last words on standard error.

    Raises:
        EndedError: Always; the process ends as soon as its main thread is there.
    """
    log.write("exit", code=code)
    if words:
        with contextlib.suppress(OSError):
            os.write(_STDERR, words.encode())
    end_process(code)
    raise EndedError
