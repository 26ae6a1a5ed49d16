"""`hilt doctor`: everything that is wrong, with the line to fix."""

import anyio
import click

from hilt.app.doctor import examine
from hilt.app.load import process_environment
from hilt.app.secrets import redactor
from hilt.cli.command import HiltCommand
from hilt.cli.flags import FULL, Invocation, takes
from hilt.cli.logs import quiet_logging
from hilt.cli.output import Paint, print_json

_MARKS = {"ok": ("✓", "green"), "note": ("·", "yellow"), "wrong": ("✗", "red")}


@click.command(
    cls=HiltCommand,
    help="Look at settings, rules, hooks, model and servers, and say what is wrong with the line to fix. Changes"
    " nothing; connects the configured servers alone. Exit code 1 means findings.",
    examples=("hilt doctor", "hilt doctor --json --tools all"),
)
@takes(*FULL)
def command(invocation: Invocation) -> int:
    """Examine and tell."""
    quiet_logging()
    environment = process_environment()
    redact = redactor(environment).redact
    checks = anyio.run(examine, invocation.flags)
    wrong = [check for check in checks if check.state == "wrong"]
    if invocation.json:
        found = [
            {"subject": c.subject, "state": c.state, "message": redact(c.message), "place": c.place} for c in checks
        ]
        print_json({"checks": found, "wrong": len(wrong)})
        return 1 if wrong else 0
    paint = Paint(invocation, environment)
    for check in checks:
        mark, colour = _MARKS[check.state]
        place = paint(f"  ({check.place})", dim=True) if check.place and check.place not in check.message else ""
        click.echo(f"{paint(mark, colour)} {check.subject}: {redact(check.message)}{place}")
    click.echo(f"{len(wrong)} thing{'' if len(wrong) == 1 else 's'} to fix." if wrong else "Nothing wrong.")
    return 1 if wrong else 0
