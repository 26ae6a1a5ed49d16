"""`hilt tools search`: the ranking of ToolSearch, outside a session."""

import click

from hilt.app.application import App
from hilt.app.config import Config
from hilt.app.explain import Desk
from hilt.cli.command import HiltCommand
from hilt.cli.flags import FULL, Invocation, takes
from hilt.cli.output import one_line, print_json, print_table
from hilt.cli.running import Signals, with_app
from hilt.core.search_query import parse_query
from hilt.ports.search import FoundTool, ToolIndex

MEMORY = "memory:"


def in_memory(config: Config) -> Config:
    """Return the configuration with sessions in memory, unless a store was chosen."""
    return config if config.source("sessions.store").kind != "default" else config.with_store(MEMORY)


@click.command(
    "search",
    cls=HiltCommand,
    help="Rank the tools by QUERY as ToolSearch does: words, +word, server:NAME.",
    examples=("hilt tools search 'find text in files'", "hilt tools search 'create issue server:github' --json"),
)
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 20), default=5, help="Tools to show; 5 by default.")
@takes(*FULL)
def search(invocation: Invocation, query: str, limit: int) -> None:
    """Print the ranking."""
    config = invocation.config()

    async def work(app: App, _: Signals) -> list[tuple[FoundTool, str]]:
        desk = await Desk.of(app)
        index = desk.parts.env.service(ToolIndex)  # type: ignore[type-abstract]  # named by its Protocol
        found = await index.ranked(parse_query(query), limit)
        entries = ((tool, desk.parts.catalog.entry(tool.key)) for tool in found)
        return [(tool, entry.spec.description) for tool, entry in entries if entry is not None]

    found = with_app(in_memory(config), work)
    if invocation.json:
        print_json({"tools": [{"name": tool.key, "description": text} for tool, text in found]})
        return
    print_table([(tool.key, one_line(text, 100)) for tool, text in found])
    if not found:
        click.echo(f"No tool matches {query!r}.")
