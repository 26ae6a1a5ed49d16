"""`hilt config`: the effective settings, checks of files, a file to start from."""

import json

import click

from hilt.app.config_files import FileScope, check_all, check_file, write_template
from hilt.app.config_listing import listing
from hilt.app.settings_schema import settings_schema
from hilt.cli.command import HiltGroup
from hilt.cli.flags import FULL, SETTINGS, Invocation, takes
from hilt.cli.output import Paint, print_json, print_table


@click.group(
    cls=HiltGroup,
    help="Effective settings with the source of each value.",
    examples=("hilt config show", "hilt config validate .hilt/settings.yaml"),
)
def command() -> None:
    """Group the commands."""


@command.command(
    "show",
    help="Print every value that holds with the file and line, flag or variable that it comes from.",
    examples=("hilt config show", "hilt config show --json --model openai/gpt-5", "hilt config show --changed"),
)
@click.option("--changed/--no-changed", default=False, help="Only values that are not the default.")
@takes(*FULL)
def show(invocation: Invocation, changed: bool) -> None:
    """Print the values."""
    config = invocation.config()
    values = [value for value in listing(config) if not changed or value.source.kind != "default"]
    if invocation.json:
        settings = [{"key": v.key, "value": v.value, "source": v.source} for v in values]
        print_json({"workspace": config.workspace_root, "trusted": config.trusted, "settings": settings})
        return
    paint = Paint(invocation, config.environment)
    trust = "trusted" if config.trusted else "not trusted"
    click.echo(paint(f"workspace {config.workspace_root} ({trust})", dim=True))
    print_table([(v.key, json.dumps(v.value, ensure_ascii=False, default=str), str(v.source)) for v in values])


@command.command(
    "validate",
    help="Check FILE, or everything that counts here. Exit code 1 means findings.",
    examples=("hilt config validate", "hilt config validate .hilt/settings.yaml", "hilt config validate --schema"),
)
@click.argument("file", required=False)
@click.option("--schema/--no-schema", default=False, help="Print the JSON Schema of the settings instead.")
@takes(*SETTINGS)
def validate(invocation: Invocation, file: str | None, schema: bool) -> int:
    """Check and print what is wrong."""
    if schema:
        print_json(settings_schema())
        return 0
    problems = check_all(invocation.flags) if file is None else check_file(file)
    if invocation.json:
        print_json({"findings": [problem.to_json() for problem in problems]})
    for problem in problems if not invocation.json else ():
        click.echo(problem.message)
    if not problems and not invocation.json:
        click.echo("Nothing wrong.")
    return 1 if problems else 0


@command.command(
    "init",
    help="Make a settings file with the usual keys as comments. An existing file is not touched.",
    examples=("hilt config init", "hilt config init --scope user"),
)
@click.option("--scope", type=click.Choice(["project", "local", "user"]), default="project", help="Whose file.")
@takes(*SETTINGS)
def init(invocation: Invocation, scope: FileScope) -> None:
    """Make the file."""
    shown = write_template(invocation.flags, scope)
    if invocation.json:
        print_json({"file": shown})
    else:
        click.echo(f"Made {shown}.")
