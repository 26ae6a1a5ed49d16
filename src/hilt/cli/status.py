"""The lines at the bottom of a chat that change in place: what the run is at, and what goes on beside it."""

import shutil
import sys
from collections.abc import Callable, Sequence

import click

from hilt.cli.output import Paint, one_line

WIDTH = 78
_CLEAR_LINE = "\r\x1b[K"
_LINE_UP = "\x1b[1A"


class StatusLines:
    """Shows them where the terminal can take lines back, else nothing.

    `beside` gives a line for each thing that goes on beside the run. `hold` keeps everything away while a question
    waits for its answer.
    """

    def __init__(self, paint: Paint, *, live: bool, beside: Callable[[], Sequence[str]]) -> None:
        self._paint = paint
        self._live = live
        self._beside = beside
        self._first = ""
        self._shown = 0
        self._held = False

    def set(self, text: str) -> None:
        """Say what the run is at."""
        self._first = text
        self.redraw()

    def redraw(self) -> None:
        """Show the lines as they stand now."""
        if not self._live or self._held or not self._first:
            return
        self._take_back()
        # A line that the terminal wraps would be two to take back.
        width = min(WIDTH, shutil.get_terminal_size().columns - 1)
        lines = [one_line(line, width) for line in (self._first, *self._beside())]
        click.echo(_CLEAR_LINE + "\n".join(self._paint(line, dim=True) for line in lines), nl=False, color=True)
        sys.stdout.flush()
        self._shown = len(lines)

    def clear(self) -> None:
        """Take the lines away before something else is written; the run is at nothing until the next `set`."""
        self._take_back()
        self._first = ""

    def hold(self) -> None:
        """Take the lines away and show none until `release`."""
        self._take_back()
        self._held = True

    def release(self) -> None:
        """Show them again."""
        self._held = False
        self.redraw()

    def _take_back(self) -> None:
        if self._shown:
            click.echo(_CLEAR_LINE + (_LINE_UP + _CLEAR_LINE) * (self._shown - 1), nl=False, color=True)
            self._shown = 0
