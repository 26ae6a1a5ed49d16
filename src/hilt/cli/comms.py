"""`hilt comms`: this agent's key, for the settings of its peers."""

import click

from hilt.app.comms import kept_key
from hilt.cli.command import HiltGroup
from hilt.cli.flags import SETTINGS, Invocation, takes
from hilt.cli.output import print_json


@click.group(
    cls=HiltGroup,
    help="Messages between agents (docs/comms.md).",
    examples=("hilt comms key", "hilt comms key --json"),
)
def command() -> None:
    """Group the commands."""


@command.command(
    "key",
    help="Print this agent's public key, which peers list under comms.peers; make the key if there is none.",
    examples=("hilt comms key", "hilt comms key --json"),
)
@takes(*SETTINGS)
def key(invocation: Invocation) -> None:
    """Print it."""
    id_ = kept_key(invocation.config()).id
    if invocation.json:
        print_json({"key": id_})
    else:
        click.echo(id_)
