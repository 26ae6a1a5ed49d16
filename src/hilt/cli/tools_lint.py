"""`hilt tools lint`: what providers make of tools, for those who write them."""

from pathlib import Path

import click

from hilt.app.application import App
from hilt.app.tool_lint import file_tools, mounted_tools
from hilt.cli.command import HiltCommand
from hilt.cli.failure import FAILED
from hilt.cli.flags import FULL, Invocation, takes
from hilt.cli.output import print_json, print_table
from hilt.cli.running import Signals, with_app
from hilt.cli.tools_search import in_memory
from hilt.core.dialect_table import PROFILES
from hilt.core.errors import ConfigError
from hilt.core.tool_lint import LintedTool, ToolFinding, lint_tools


@click.command(
    "lint",
    cls=HiltCommand,
    help="List what is repaired, told or withheld for each provider. FILE is a tools/list answer or a list of tools."
    " Exit 1: a tool is withheld, or with --strict anything is found.",
    examples=("hilt tools lint tools.json --provider openai", "hilt tools lint --server github --json"),
)
@click.argument("file", required=False)
@click.option(
    "--provider", "providers", multiple=True, type=click.Choice(PROFILES), help="One provider; all by default."
)
@click.option("--server", "servers", multiple=True, metavar="NAME", help="Tools of this server only; repeatable.")
@click.option("--strict", is_flag=True, help="Exit 1 for any finding.")
@takes(*FULL)
def lint(
    invocation: Invocation, file: str | None, providers: tuple[str, ...], servers: tuple[str, ...], strict: bool
) -> int:
    """Print the findings."""
    if file is not None:
        tools, withheld = file_tools(_read(file), source=file)
    else:
        tools, withheld = _mounted(invocation)
    tools = [tool for tool in tools if not servers or tool.server in servers]
    found = lint_tools(tools, providers or PROFILES)
    found = sorted([*found, *(one for one in withheld if not servers or one.server in servers)])
    if invocation.json:
        print_json({"findings": [finding.to_json() for finding in found], "tools": len(tools)})
    else:
        head = ("SERVER", "TOOL", "PROVIDER", "KIND", "RULE", "AT", "WHAT")
        rows = [(f.server or "-", f.tool, f.provider, f.kind, f.rule, f.pointer or "/", f.text) for f in found]
        print_table(rows, head if rows else ())
        click.echo(f"{len(tools)} tools, {len(found)} findings.")
    bad = any(finding.kind == "withheld" for finding in found) or (strict and bool(found))
    return FAILED if bad else 0


def _mounted(invocation: Invocation) -> tuple[list[LintedTool], list[ToolFinding]]:
    async def work(app: App, _: Signals) -> tuple[list[LintedTool], list[ToolFinding]]:
        return mounted_tools(app)

    return with_app(in_memory(invocation.config()), work)


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text", source=file) from None
    except OSError as exc:
        raise ConfigError(f"cannot be read: {exc.strerror}", source=file) from None
