"""`hilt version`."""

import json
import platform

import click

from hilt.cli.command import HiltCommand
from hilt.core.version import HANDSHAKE_REVISIONS, STATELESS_REVISIONS, VERSION


@click.command(
    cls=HiltCommand,
    help="Print the version of hilt, of Python and of the protocols that it speaks.",
    examples=("hilt version", "hilt version --json"),
)
@click.option("--json/--no-json", "as_json", default=False, help="One JSON document on standard output.")
@click.option("--quiet/--no-quiet", default=False, hidden=True)
@click.option("--log-level", hidden=True)
@click.option("--log-json/--no-log-json", default=False, hidden=True)
@click.option("--color/--no-color", default=True, hidden=True)
def command(as_json: bool, **_: object) -> None:
    """Print it."""
    revisions = [*HANDSHAKE_REVISIONS, *STATELESS_REVISIONS]
    if as_json:
        body = {"hilt": VERSION, "python": platform.python_version(), "mcp": revisions}
        click.echo(json.dumps(body))
        return
    click.echo(f"hilt {VERSION}\nPython {platform.python_version()}\nMCP {', '.join(revisions)}")
