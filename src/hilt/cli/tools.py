"""`hilt tools`: the catalog, and one tool through the whole funnel."""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import click

from hilt.app.application import App
from hilt.app.config import Config
from hilt.app.explain import Desk
from hilt.cli.approver import TerminalApprover
from hilt.cli.command import HiltGroup, nearest
from hilt.cli.failure import FAILED, REFUSED, worst
from hilt.cli.flags import FULL, Invocation, takes
from hilt.cli.output import Paint, one_line, print_json, print_table
from hilt.cli.progress import Progress
from hilt.cli.reading import PipeReader
from hilt.cli.run import cancel_on_signal
from hilt.cli.running import Signals, with_app
from hilt.cli.tools_lint import lint
from hilt.cli.tools_search import search
from hilt.cli.tools_tokens import tokens
from hilt.core.content import AudioPart, EmbeddedResourcePart, ImagePart, Part, ResourceLinkPart, base64_size
from hilt.core.errors import ConfigError, ErrorCode
from hilt.core.event import Event, ToolSettled
from hilt.core.tool import ToolResult
from hilt.engine.catalog import Entry
from hilt.engine.disclosure import listed_specs
from hilt.engine.session import Session

MEMORY = "memory:"


@click.group(
    cls=HiltGroup,
    help="Look at the catalog; run one tool through the whole funnel.",
    examples=("hilt tools list", 'hilt tools call Read \'{"path": "README.md"}\''),
)
def command() -> None:
    """Group the commands."""


for _more in (lint, search, tokens):
    command.add_command(_more)


async def _entries(app: App) -> list[Entry]:
    """Return the entries of the tools that a new session would list."""
    desk = await Desk.of(app)
    catalog = desk.parts.catalog
    listed = listed_specs(catalog, mode=desk.mode, visibility=desk.visibility)
    return [entry for spec in listed if (entry := catalog.entry(spec.name)) is not None]


def _described(entry: Entry) -> dict[str, object]:
    return {
        "name": entry.spec.name,
        "description": entry.spec.description,
        "read_only": entry.read_only,
        "family": entry.family,
        "source": entry.source,
    }


@command.command(
    "list",
    help="List the tools that a session would see.",
    examples=("hilt tools list --tools all", "hilt tools list --mcp-server api=https://mcp.example.com/api --json"),
)
@takes(*FULL)
def list_(invocation: Invocation) -> None:
    """Print the tools."""
    config = invocation.config()
    progress = Progress(invocation, config)
    progress.connecting(config)

    async def work(app: App, _: Signals) -> list[Entry]:
        return await _entries(app)

    _tell_list(invocation, progress, with_app(_without_store(config, None), work))


def _tell_list(invocation: Invocation, progress: Progress, entries: Sequence[Entry]) -> None:
    progress.done()
    if invocation.json:
        print_json({"tools": [_described(entry) for entry in entries]})
        return
    rows = [
        (e.spec.name, "reads" if e.read_only else "writes", e.source or e.family, one_line(e.spec.description, 80))
        for e in entries
    ]
    print_table(rows, ("NAME", "KIND", "SOURCE", "DESCRIPTION") if rows else ())
    if not rows:
        click.echo("No tools. Enable some with --tools, or add an MCP server.")


@command.command(
    "show", help="Show one tool with its schema.", examples=("hilt tools show Read", "hilt tools show Read --json")
)
@click.argument("name")
@takes(*FULL)
def show(invocation: Invocation, name: str) -> None:
    """Print the tool."""
    config = invocation.config()

    async def work(app: App, _: Signals) -> Entry:
        found = app.catalog.entry(name)
        if found is None:
            raise _unknown(name, app.catalog.names)
        return found

    _tell_entry(invocation, with_app(_without_store(config, None), work))


def _tell_entry(invocation: Invocation, entry: Entry) -> None:
    if invocation.json:
        print_json({**_described(entry), "schema": entry.spec.schema})
        return
    click.echo(f"{entry.spec.name} ({'reads' if entry.read_only else 'writes'}, {entry.source or entry.family})\n")
    click.echo(f"{entry.spec.description}\n")
    click.echo(json.dumps(entry.spec.schema, indent=2, ensure_ascii=False))


def _unknown(name: str, names: Iterable[str]) -> ConfigError:
    known = sorted(names)
    return ConfigError(f"no tool {name!r}{nearest(name, known)} (`hilt tools list` shows them)")


def _without_store(config: Config, session_id: str | None) -> Config:
    """Return the configuration with sessions in memory, unless a stored one is meant or a store was chosen."""
    if session_id is not None or config.source("sessions.store").kind != "default":
        return config
    return config.with_store(MEMORY)


@command.command(
    "call",
    help="Run one call of NAME with ARGS (a JSON object; @FILE or `-` for standard input) as a model's call would"
    " run: rules, hooks, limits, audit. Asks at a terminal, else what would be asked is denied.",
    examples=(
        'hilt tools call Read \'{"path": "README.md"}\'',
        "hilt tools call Edit @edit.json --tools files --session ses_0198f0c2 --allow Edit",
        "hilt tools call shell '{\"command\": \"git status\"}' --tools shell --allow 'shell(git:*)' --json",
    ),
)
@click.argument("name")
@click.argument("args", default="{}")
@click.option("--session", "session_id", metavar="ID", help="Run it in a stored session, with its read ledger.")
@takes(*FULL)
def call(invocation: Invocation, name: str, args: str, session_id: str | None) -> int:
    """Run the call."""
    arguments = _arguments(args)
    config = invocation.config()
    progress = Progress(invocation, config)
    progress.connecting(config)
    asks = sys.stdin.isatty() and sys.stderr.isatty() and args != "-"
    paint = Paint(invocation, config.environment, sys.stderr)
    reader = PipeReader(prompt_to=sys.stderr)
    approver = TerminalApprover(reader, paint, interrupt=lambda: False, keeps=config.trusted, err=True)

    async def work(app: App, signals: Signals) -> _Called:
        if app.catalog.entry(name) is None:
            raise _unknown(name, app.catalog.names)
        session = await (app.sessions.create() if session_id is None else app.sessions.open(session_id))
        if session_id is not None and invocation.flags.mode is not None:
            await session.set(mode=config.mode)
        return await _called(session, name, arguments, progress=progress, signals=signals)

    called = _without_store(config, session_id)
    return _tell_call(invocation, progress, with_app(called, work, approver=approver if asks else None))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Called:
    """A call's result, the code of an error that the harness made, and the exit code of a signal."""

    result: ToolResult
    code: str
    signal_code: int


async def _called(session: Session, name: str, arguments: str, *, progress: Progress, signals: Signals) -> _Called:
    codes: list[str] = []

    def take(event: Event) -> None:
        progress.take(event)
        if isinstance(event.body, ToolSettled):
            codes.append(event.body.code)

    session.subscribe(take)
    async with cancel_on_signal(session, signals):
        result = await session.call_tool(name, arguments)
    return _Called(result=result, code=codes[-1] if codes else "", signal_code=signals.code)


def _tell_call(invocation: Invocation, progress: Progress, called: _Called) -> int:
    progress.done()
    result = called.result
    if invocation.json:
        print_json({**result.to_json(), "code": called.code})
    else:
        _print_result(result)
    refused = REFUSED if called.code == ErrorCode.ACCESS_DENIED else FAILED
    return worst(called.signal_code, refused if result.is_error else 0)


def _arguments(args: str) -> str:
    """Return the arguments as JSON text; what is in it is checked by the funnel.

    Raises:
        ConfigError: The file cannot be read.
    """
    if args == "-":
        return sys.stdin.read()
    if not args.startswith("@"):
        return args
    try:
        with open(args[1:], encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"cannot be read: {reason}", source=args[1:]) from None


def _print_result(result: ToolResult) -> None:
    click.echo(result.content, err=result.is_error)
    for part in result.parts:
        told = part_line(part)
        if told:
            click.echo(told)


def part_line(part: Part) -> str:
    """Return one line on a part that the text does not show, "" for one that it does."""
    match part:
        case ImagePart() | AudioPart():
            return f"[{part.kind} {part.mime_type}, {base64_size(part.data)} bytes]"
        case ResourceLinkPart():
            return f"[link {part.uri}]"
        case EmbeddedResourcePart() if part.blob is not None:
            return f"[resource {part.uri}, {base64_size(part.blob)} bytes]"
        case _:
            return ""
