"""`hilt mcp check`: connects servers and tells what each of them is and gives."""

from collections.abc import Sequence
from dataclasses import asdict

import anyio
import click

from hilt.app.mcp_check import CheckedServer, check_servers
from hilt.cli.command import HiltCommand
from hilt.cli.failure import FAILED, UNREACHABLE, worst
from hilt.cli.flags import MCP, SERVERS, SETTINGS, Invocation, takes
from hilt.cli.logs import quiet_logging
from hilt.cli.output import one_line, print_json

CAUSE_MAX = 200


@click.command(
    "check",
    cls=HiltCommand,
    help="Connect servers, all or those named, and tell era, revision, times, counts, the tokens of their definitions"
    " (an estimate: bytes / 4), the credential that is sent, and each repaired or withheld tool. Exits 0 if all is"
    " right, 1 if something is not, 5 if a required server cannot be reached.",
    examples=("hilt mcp check", "hilt mcp check files github --json"),
)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@takes(*SETTINGS, *SERVERS, *MCP)
def check(invocation: Invocation, names: Sequence[str]) -> int:
    """Check the servers and return the exit code."""
    config = invocation.config()
    quiet_logging()
    found = anyio.run(check_servers, config, names)
    if invocation.json:
        print_json({"servers": [described(one) for one in found]})
    elif not found:
        click.echo("No servers. Add one with: hilt mcp add NAME -- COMMAND ARG...")
    else:
        for one in found:
            _tell(one)
    codes = [UNREACHABLE if one.required and one.state != "ready" else FAILED for one in found if not one.fine]
    return worst(*codes)


def described(one: CheckedServer) -> dict[str, object]:
    """Return what was found as a JSON object."""
    value = asdict(one)
    value["connect_s"] = round(one.connect_s, 3)
    value["tokens_are"] = "an estimate: bytes / 4"
    value["repaired"] = [{"tool": tool, "what": what} for tool, what in one.repaired]
    value["withheld"] = [{"tool": tool.name, "reason": tool.reason} for tool in one.withheld]
    return value


def _tell(one: CheckedServer) -> None:
    cause = f": {one_line(one.cause, CAUSE_MAX)}" if one.cause else ""
    click.echo(f"{one.name} ({one.transport}, {one.origin}): {one.state}{cause}")
    if one.state != "ready":
        return
    who = f"{one.server or 'it does not say its name'}, {one.era} era, revision {one.revision}"
    click.echo(f"  {who}, ready in {one.connect_s:.2f} s, credential {one.credential}")
    counts = ", ".join(
        f"{count} {noun}{'' if count == 1 else 's'}"
        for count, noun in ((one.tools, "tool"), (one.resources, "resource"), (one.prompts, "prompt"))
    )
    click.echo(f"  {counts}; the tools' definitions take about {one.tokens:,} tokens (bytes / 4)")
    for tool, what in one.repaired:
        click.echo(f"  repaired {one_line(tool, 80)}: {one_line(what, CAUSE_MAX)}")
    for withheld in one.withheld:
        click.echo(f"  withheld {one_line(withheld.name, 80) or '(no name)'}: {one_line(withheld.reason, CAUSE_MAX)}")
