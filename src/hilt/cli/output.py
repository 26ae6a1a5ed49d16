"""What commands print: tables and lines for people, JSON for programs, colour on a terminal alone."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

import click

from hilt.cli.flags import Invocation


def print_json(value: object) -> None:
    """Write one JSON document to standard output."""
    click.echo(json.dumps(value, ensure_ascii=False, default=_plain))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence | frozenset | set):
        return list(value)
    return str(value)


def print_table(rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> None:
    """Write rows in columns as wide as their widest cell; the last column is as long as it is."""
    every = [list(head), *map(list, rows)] if head else [list(row) for row in rows]
    if not every:
        return
    widths = [max(len(row[column]) for row in every) for column in range(len(every[0]))]
    for row in every:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths[:-1], strict=True)]
        click.echo("  ".join([*cells, row[-1]]).rstrip())


class Paint:
    """Colours text where the stream is a terminal and nobody said no."""

    def __init__(self, invocation: Invocation, environment: Mapping[str, str], stream: TextIO | None = None) -> None:
        at_terminal = (stream or sys.stdout).isatty()
        self.on = at_terminal and invocation.color and not environment.get("NO_COLOR")

    def __call__(self, text: str, colour: str = "", *, bold: bool = False, dim: bool = False) -> str:
        """Return the text, coloured where colour is on."""
        if not self.on:
            return text
        return click.style(text, fg=colour or None, bold=bold or None, dim=dim or None)


def one_line(text: str, limit: int) -> str:
    """Return the text in one line without control characters, cut at `limit` characters."""
    flat = "".join(char if char.isprintable() else " " for char in text)
    flat = " ".join(flat.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
