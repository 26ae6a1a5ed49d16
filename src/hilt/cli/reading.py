"""Reads lines from the person: with history and editing at a terminal, plainly from a pipe."""

import os
import sys
from collections.abc import Mapping
from typing import Protocol, TextIO

import anyio
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input.typeahead import clear_typeahead

try:
    import termios
except ImportError:  # not on Windows
    termios = None  # type: ignore[assignment]  # what is missing is told apart by None

_CHUNK_BYTES = 64 * 1024


class Interrupted(Exception):
    """The person pressed Ctrl-C while typing."""


class LineReader(Protocol):
    """Gives the lines that a person types."""

    async def line(self, prompt: str) -> str | None:
        """Return the next line without its end, None when there are no more.

        Raises:
            Interrupted: The person pressed Ctrl-C.
        """
        ...

    def drop_typed_ahead(self) -> None:
        """Forget what was typed before anything was asked: it is no answer to a question that nobody had seen."""
        ...


class PipeReader:
    """Reads standard input as it comes, prompting where it is told to; can be cancelled while it waits."""

    def __init__(self, *, prompt_to: TextIO | None = None) -> None:
        self._buffer = b""
        self._ended = False
        self._prompt_to = prompt_to

    async def line(self, prompt: str) -> str | None:
        """See `LineReader.line`."""
        if self._prompt_to is not None:
            self._prompt_to.write(prompt)
            self._prompt_to.flush()
        descriptor = sys.stdin.fileno()
        while b"\n" not in self._buffer and not self._ended:
            await _readable(descriptor)
            chunk = os.read(descriptor, _CHUNK_BYTES)
            self._ended = not chunk
            self._buffer += chunk
        if not self._buffer:
            return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")

    def drop_typed_ahead(self) -> None:
        """See `LineReader.drop_typed_ahead`; who writes into a pipe answers ahead on purpose."""
        if sys.stdin.isatty():
            self._buffer = b""
            _drop_pending()


def _drop_pending() -> None:
    """Forget what the terminal holds of its input; without POSIX terminals nothing can be done."""
    if termios is not None:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def _readable(descriptor: int) -> None:
    try:
        await anyio.wait_readable(descriptor)
    except PermissionError:  # a file, which is always ready
        await anyio.lowlevel.checkpoint()


class TerminalReader:
    """Reads lines at a terminal with history and completion of commands."""

    def __init__(self, words: Mapping[str, str] | None = None) -> None:
        known = {} if words is None else words
        self._session: PromptSession[str] = PromptSession(
            history=InMemoryHistory(),
            completer=WordCompleter(lambda: list(known), sentence=True, meta_dict=known),
            complete_while_typing=False,
        )

    async def line(self, prompt: str) -> str | None:
        """See `LineReader.line`."""
        try:
            return await self._session.prompt_async(ANSI(prompt), handle_sigint=False)
        except EOFError:
            return None
        except KeyboardInterrupt:
            raise Interrupted from None

    def drop_typed_ahead(self) -> None:
        """See `LineReader.drop_typed_ahead`: what the terminal holds, and what was read with an earlier line."""
        clear_typeahead(self._session.input)
        _drop_pending()


def line_reader(words: Mapping[str, str] | None = None) -> LineReader:
    """Return the reader that fits standard input and output.

    `words` are completed, each shown with its line; those that are added later count too.
    """
    if sys.stdin.isatty() and sys.stdout.isatty():
        return TerminalReader(words)
    return PipeReader()
