"""`hilt tools tokens`: what the definitions of tools cost, in full and in short, without calling a model."""

from collections import defaultdict

import click

from hilt.app.application import App
from hilt.app.explain import Desk
from hilt.cli.command import HiltCommand
from hilt.cli.flags import FULL, Invocation, takes
from hilt.cli.output import print_json, print_table
from hilt.cli.running import Signals, with_app
from hilt.cli.tools_search import in_memory
from hilt.core.disclosure import spec_tokens
from hilt.engine.catalog import Entry
from hilt.engine.disclosure import listed_specs, tier_of
from hilt.engine.origin import server_of
from hilt.engine.tokens import ESTIMATE


@click.command(
    "tokens",
    cls=HiltCommand,
    help="Show what the tools cost in tokens, per server and per tool, largest first.",
    examples=("hilt tools tokens --tools all", "hilt tools tokens --json"),
)
@takes(*FULL)
def tokens(invocation: Invocation) -> None:
    """Print the costs."""
    config = invocation.config()

    async def work(app: App, _: Signals) -> dict[str, object]:
        return _costs(await Desk.of(app))

    costs = with_app(in_memory(config), work)
    if invocation.json:
        print_json(costs)
        return
    _tell(costs)


def _costs(desk: Desk) -> dict[str, object]:
    catalog, setup = desk.parts.catalog, desk.parts.disclosure
    listed = listed_specs(catalog, mode=desk.mode, visibility=desk.visibility)
    entries = [entry for spec in listed if (entry := catalog.entry(spec.name)) is not None]
    rows = [_row(entry, setup.window_tokens) for entry in entries]
    rows.sort(key=lambda row: (-row[2], row[0]))
    servers: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for _, group, full, light, _ in rows:
        sums = servers[group]
        sums[0], sums[1], sums[2] = sums[0] + 1, sums[1] + full, sums[2] + light
    window = setup.window_tokens
    total = sum(row[2] for row in rows)
    return {
        "counter": ESTIMATE,
        "window": window,
        "tier": str(tier_of(catalog, setup, mode=desk.mode, visibility=desk.visibility)),
        "full": total,
        "light": sum(row[3] for row in rows),
        "share": round(total / window, 4),
        "servers": [
            {"name": name, "tools": count, "full": full, "light": light, "share": round(full / window, 4)}
            for name, (count, full, light) in sorted(servers.items(), key=lambda item: (-item[1][1], item[0]))
        ],
        "tools": [
            {"name": name, "source": group, "full": full, "light": light, "share": share}
            for name, group, full, light, share in rows
        ],
    }


def _row(entry: Entry, window: int) -> tuple[str, str, int, int, float]:
    full = spec_tokens(entry.spec)
    light = full if entry.advertised is None else spec_tokens(entry.advertised())
    return entry.spec.name, server_of(entry) or entry.source or entry.family, full, light, round(full / window, 4)


def _tell(costs: dict[str, object]) -> None:
    for title, key in (("SERVER", "servers"), ("TOOL", "tools")):
        rows = costs[key]
        table = [
            (str(row["name"]), f"{row['full']:,}", f"{row['light']:,}", f"{row['share']:.1%}")
            for row in (rows if isinstance(rows, list) else [])
        ]
        print_table(table, (title, "FULL", "LIGHT", "OF WINDOW"))
        click.echo()
    click.echo(
        f"{costs['full']:,} tokens in full, {costs['light']:,} light, of a window of {costs['window']:,} "
        f"(counted as {costs['counter']}); a new session has the tier {costs['tier']!r}."
    )
