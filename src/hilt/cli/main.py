"""The command `hilt`: its table of commands, each loaded when it is used, and the end of every command."""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import pairwise

import click

from hilt.cli.command import HiltGroup

# Command → its module and its line in the list. The module is loaded only when its command runs.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "run": ("hilt.cli.run", "One prompt without a person, then exit."),
    "chat": ("hilt.cli.chat", "A session at the terminal that asks its user."),
    "serve": ("hilt.cli.serve", "Sessions over HTTP."),
    "tools": ("hilt.cli.tools", "Look at the catalog; run one tool through the whole funnel."),
    "mcp": ("hilt.cli.mcp", "MCP servers: add, list, get, remove, check."),
    "demo": ("hilt.cli.demo", "The main job on a workspace of its own, offline."),
    "skills": ("hilt.cli.skills", "Skills, drafts of skills, slash commands."),
    "comms": ("hilt.cli.comms", "This agent's key, for its peers."),
    "permissions": ("hilt.cli.permissions", "Explain and check rules."),
    "hooks": ("hilt.cli.hooks", "Which hooks apply; run them on a stored event."),
    "sessions": ("hilt.cli.sessions", "Stored sessions."),
    "config": ("hilt.cli.config", "Effective settings with the source of each value."),
    "doctor": ("hilt.cli.doctor", "Everything that is wrong, with the line to fix."),
    "version": ("hilt.cli.version", "Version, Python, protocol versions."),
}


SERVICE_LIBRARIES = ("starlette", "uvicorn")
"""What the extra `serve` brings."""


class _Commands(HiltGroup):
    """The commands of the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        try:
            command = import_module(COMMANDS[cmd_name][0]).command
        except ModuleNotFoundError as exc:
            if exc.name not in SERVICE_LIBRARIES:
                raise
            raise click.UsageError("the service needs more packages: pip install 'hilt[serve]'", ctx) from None
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


root = _Commands(
    name="hilt",
    help="The tool layer of AI agents: one catalog, one funnel, for every tool call.",
    context_settings={"help_option_names": ["-h", "--help"]},
    examples=(
        "hilt chat                                       talk to a model about this folder",
        'hilt run "What does this project do?"           one answer, then exit',
        'hilt tools call Read \'{"path": "README.md"}\'     one tool through the whole funnel',
        "hilt COMMAND --help                             flags and examples of a command",
    ),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `hilt` and leave with its exit code (cli.md section 4)."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(run(args))


def run(args: Sequence[str]) -> int:
    """Run `hilt` with these arguments and return the exit code; no traceback reaches the user."""
    if not args:
        click.echo(root.get_help(click.Context(root, info_name="hilt")))
        return 2
    try:
        code: object = root.main(list(args), prog_name="hilt", standalone_mode=False)
    except (Exception, KeyboardInterrupt) as exc:
        from hilt.cli.failure import report

        return report(exc, as_json=_wants_json(args))
    return code if isinstance(code, int) else 0


def _wants_json(args: Sequence[str]) -> bool:
    own = list(args[: args.index("--")] if "--" in args else args)
    formats = {"--json", "--json=true", "--output=json", "--output=stream-json"}
    pairs = {("--output", "json"), ("--output", "stream-json")}
    return bool(formats & set(own)) or bool(pairs & set(pairwise(own)))
