"""Shows on a terminal what long work is at: servers that connect, calls that run."""

import sys

import click

from hilt.app.config import Config
from hilt.cli.flags import Invocation
from hilt.cli.output import Paint, one_line
from hilt.core.event import Event, ToolCallTaken, ToolSettled, ToolStart, TurnStart


class Progress:
    """One line on standard error that changes; nothing where colour is off, or with --quiet."""

    def __init__(self, invocation: Invocation, config: Config) -> None:
        self._paint = Paint(invocation, config.environment, sys.stderr)
        self._on = self._paint.on and not invocation.quiet
        self._shown = False

    def connecting(self, config: Config) -> None:
        """Say that servers are being connected, where there are any."""
        count = sum(one.spec.enabled for one in config.mcp_servers)
        if count:
            self.show(f"connecting {count} MCP server{'s' if count > 1 else ''} …")

    def take(self, event: Event) -> None:
        """Show what an event begins."""
        match event.body:
            case TurnStart():
                self.show("the model is answering …")
            case ToolCallTaken(tool=tool, args=args):
                self.show(f"{tool} {one_line(args, 50)}")
            case ToolStart(tool=tool):
                self.show(f"{tool} is running …")
            case ToolSettled(tool=tool):
                self.show(f"{tool} is done")

    def show(self, text: str) -> None:
        """Replace the line."""
        if self._on:
            click.echo("\r\x1b[K" + self._paint(one_line(text, 78), dim=True), nl=False, err=True)
            self._shown = True

    def done(self) -> None:
        """Take the line away."""
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._shown = False
