"""`hilt mcp`: the servers of the project's and the user's mcp.toml."""

from collections.abc import Sequence

import click

from hilt.app.server_files import SCOPES, ServerBook, ServerEntry, ServerScope, masked_entry
from hilt.cli.command import HiltGroup, nearest
from hilt.cli.flags import SETTINGS, Invocation, takes
from hilt.cli.mcp_check import check
from hilt.cli.output import print_json, print_table
from hilt.core.errors import ConfigError

SCOPE = click.Choice(SCOPES)


@click.group(
    cls=HiltGroup,
    help="MCP servers of the project (.hilt/mcp.toml) and of the user (mcp.toml in the configuration folder).",
    examples=("hilt mcp add files -- npx -y @example/server-files .", "hilt mcp list"),
)
def command() -> None:
    """Group the commands."""


command.add_command(check)


@command.command(
    "add",
    help="Add a server: a command after `--`, or --url. What is added to the project is approved with it.",
    examples=(
        "hilt mcp add files -- npx -y @example/server-files .",
        "hilt mcp add git --env HOME='${HOME}' -- uvx mcp-server-git",
        "hilt mcp add api --url https://mcp.example.com/api --header 'Authorization: Bearer ${API_TOKEN}'",
    ),
)
@click.argument("name")
@click.argument("command_line", metavar="[-- COMMAND ARG...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", help="Address of a streamable HTTP server.")
@click.option("--transport", type=click.Choice(["http", "sse"]), help="Of a server with --url; http by default.")
@click.option("--scope", type=SCOPE, default="project", help="Whose file; project by default.")
@click.option("--env", multiple=True, metavar="K=V", help="A variable of the command; repeatable.")
@click.option("--header", multiple=True, metavar='"K: V"', help="A header for the URL; repeatable.")
@takes(*SETTINGS)
def add(
    invocation: Invocation,
    name: str,
    command_line: Sequence[str],
    scope: ServerScope,
    **given: object,
) -> None:
    """Add an entry."""
    entry = _entry(name, command_line, given)
    book = ServerBook(invocation.config())
    spec = book.add(entry, scope)
    if invocation.json:
        print_json({"added": masked_entry(spec), "scope": scope, "file": book.shown(scope)})
    else:
        click.echo(f"Added {spec.name} to {book.shown(scope)}.")


def _entry(name: str, command_line: Sequence[str], given: dict[str, object]) -> dict[str, object]:
    """Return the entry in the keys of the file.

    Raises:
        click.UsageError: The flags do not go together, or one is not of its form.
    """
    url, transport = given["url"], given["transport"]
    env, header = given["env"], given["header"]
    if bool(url) == bool(command_line):
        raise click.UsageError("give either a command after -- or --url")
    if url and env:
        raise click.UsageError("--env goes with a command, not with --url; use --header")
    if command_line and header:
        raise click.UsageError("--header goes with --url, not with a command; use --env")
    if command_line and transport:
        raise click.UsageError("--transport goes with --url")
    entry: dict[str, object] = {"name": name}
    if url:
        entry["url"] = url
        if transport:
            entry["transport"] = transport
    else:
        entry |= {"command": command_line[0], "args": list(command_line[1:])}
    pairs = {"env": _pairs("--env", env, "=", "K=V"), "headers": _pairs("--header", header, ":", "K: V")}
    return entry | {key: value for key, value in pairs.items() if value}


def _pairs(flag: str, texts: object, separator: str, form: str) -> dict[str, str]:
    out: dict[str, str] = {}
    for text in texts if isinstance(texts, tuple) else ():
        key, found, value = str(text).partition(separator)
        if not found or not key.strip() or key != key.strip():
            raise click.UsageError(f"{flag} is written {form!r}")
        out[key] = value.strip() if separator == ":" else value
    return out


@command.command(
    "list", help="List the servers of both scopes; secrets are masked.", examples=("hilt mcp list --json",)
)
@takes(*SETTINGS)
def list_(invocation: Invocation) -> None:
    """List the entries."""
    entries = ServerBook(invocation.config()).entries()
    if invocation.json:
        print_json({"servers": [_described(entry) for entry in entries]})
    elif not entries:
        click.echo("No servers. Add one with: hilt mcp add NAME -- COMMAND ARG...")
    else:
        print_table([_row(entry) for entry in entries], ("NAME", "SCOPE", "TRANSPORT", "STATE", "TARGET"))


def _described(entry: ServerEntry) -> dict[str, object]:
    return {**masked_entry(entry.spec), "scope": entry.scope, "approved": entry.admitted}


def _state(entry: ServerEntry) -> str:
    if not entry.spec.enabled:
        return "disabled"
    return "enabled" if entry.admitted else "needs trust"


def _row(entry: ServerEntry) -> tuple[str, str, str, str, str]:
    shown = masked_entry(entry.spec)
    args = shown.get("args")
    words = [str(shown["command"]), *map(str, args)] if isinstance(args, list) else [str(shown.get("url"))]
    return entry.spec.name, entry.scope, entry.spec.transport, _state(entry), " ".join(words)


@command.command("get", help="Show one server; secrets are masked.", examples=("hilt mcp get files",))
@click.argument("name")
@takes(*SETTINGS)
def get(invocation: Invocation, name: str) -> None:
    """Show the entry that wins this name."""
    book = ServerBook(invocation.config())
    found = book.named(name)
    if not found:
        raise _unknown(name, book)
    shown = _described(found[0])
    if invocation.json:
        print_json(shown)
    else:
        print_table([(key, str(value)) for key, value in shown.items()])


@command.command("remove", help="Remove one server.", examples=("hilt mcp remove files --scope user",))
@click.argument("name")
@click.option("--scope", type=SCOPE, help="Whose file; needed where both have the name.")
@takes(*SETTINGS)
def remove(invocation: Invocation, name: str, scope: ServerScope | None) -> None:
    """Remove the entry."""
    book = ServerBook(invocation.config())
    holders = [entry for entry in book.entries() if entry.spec.name == name and scope in (None, entry.scope)]
    if not holders:
        raise _unknown(name, book)
    if len(holders) > 1:
        raise ConfigError(f"MCP server {name!r} is in both scopes; say which with --scope project or --scope user")
    book.remove(name, holders[0].scope)
    if invocation.json:
        print_json({"removed": name, "scope": holders[0].scope, "file": book.shown(holders[0].scope)})
    else:
        click.echo(f"Removed {name} from {book.shown(holders[0].scope)}.")


def _unknown(name: str, book: ServerBook) -> ConfigError:
    names = [entry.spec.name for entry in book.entries()]
    known = ", ".join(names) or "none"
    return ConfigError(f"no MCP server {name!r}{nearest(name, names)} (known: {known})")
