"""`hilt sessions`: the stored sessions and their audit."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import anyio
import click

from hilt.app.stored import StoredSessions
from hilt.cli.command import HiltGroup
from hilt.cli.flags import SETTINGS, Invocation, takes
from hilt.cli.output import one_line, print_json, print_table
from hilt.core.session import SessionRecord

T = TypeVar("T")


@click.group(
    cls=HiltGroup,
    help="Stored sessions.",
    examples=("hilt sessions list", "hilt sessions calls ses_0198f0c2", "hilt sessions delete ses_0198f0c2"),
)
def command() -> None:
    """Group the commands."""


def _with_store(invocation: Invocation, work: Callable[[StoredSessions], Awaitable[T]]) -> T:
    with StoredSessions(invocation.config()) as stored:
        return anyio.run(work, stored)


def _described(record: SessionRecord) -> dict[str, object]:
    usage = {"input": record.usage.input, "output": record.usage.output}
    pending = record.pending
    return {
        "id": record.id,
        "title": record.title,
        "owner": record.owner,
        "state": record.state,
        "mode": record.mode,
        "model": record.model,
        "workspace": record.workspace,
        "turns": record.turns,
        "tool_calls": record.tool_calls,
        "usage": usage,
        "pending_ask": None if pending is None else {"ask_id": pending.ask_id, "tool": pending.tool},
        "grants": record.grants,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
    }


@command.command(
    "list",
    help="List the stored sessions by time of creation.",
    examples=("hilt sessions list", "hilt sessions list --limit 200 --json"),
)
@click.option("--limit", type=click.IntRange(1, 200), default=50, help="Sessions a page; 50 by default.")
@click.option("--cursor", default="", help="Where the page before ended.")
@takes(*SETTINGS)
def list_(invocation: Invocation, limit: int, cursor: str) -> None:
    """Print a page."""
    records, following = _with_store(invocation, lambda stored: stored.page(cursor=cursor, limit=limit))
    if invocation.json:
        print_json({"sessions": [_described(record) for record in records], "next": following})
        return
    rows = [
        (r.id, r.created_at[:19], str(r.state), str(r.turns), str(r.tool_calls), one_line(r.title, 50)) for r in records
    ]
    print_table(rows, ("ID", "CREATED", "STATE", "TURNS", "CALLS", "TITLE") if rows else ())
    if not rows:
        click.echo("No sessions are stored.")
    if following:
        click.echo(f"More: --cursor {following}")


@command.command("show", help="Show one session.", examples=("hilt sessions show ses_0198f0c2 --json",))
@click.argument("session_id", metavar="ID")
@takes(*SETTINGS)
def show(invocation: Invocation, session_id: str) -> None:
    """Print the record."""
    described = _described(_with_store(invocation, lambda stored: stored.show(session_id)))
    if invocation.json:
        print_json(described)
    else:
        print_table([(key, _text(value)) for key, value in described.items()])


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {inner}" for key, inner in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in (None, "") else str(value)


@command.command(
    "calls",
    help="List the tool calls of a session from its audit; with --json one record a line.",
    examples=("hilt sessions calls ses_0198f0c2", "hilt sessions calls ses_0198f0c2 --json"),
)
@click.argument("session_id", metavar="ID")
@takes(*SETTINGS)
def calls(invocation: Invocation, session_id: str) -> None:
    """Print the audit."""
    records = _with_store(invocation, lambda stored: stored.calls(session_id))
    if invocation.json:
        for record in records:
            print_json(record)
        return
    rows = [_call_row(record) for record in records]
    print_table(rows, ("TOOL", "DECISION", "QUEUED", "TOOK", "RESULT", "ARGS") if rows else ())
    if not rows:
        click.echo("No calls.")


def _call_row(record: Mapping[str, object]) -> tuple[str, ...]:
    result = str(record.get("code") or "error") if record.get("is_error") else "ok"
    return (
        str(record.get("tool")),
        str(record.get("decision", "")),
        _micros(record.get("queued_micros")),
        _micros(record.get("took_micros")),
        result,
        one_line(str(record.get("args")), 60),
    )


def _micros(value: object) -> str:
    micros = value if isinstance(value, int) else 0
    return f"{micros / 1000:.1f} ms" if micros < 1_000_000 else f"{micros / 1_000_000:.1f} s"


@command.command(
    "delete", help="Remove a session with its audit and events.", examples=("hilt sessions delete ses_0198f0c2",)
)
@click.argument("session_id", metavar="ID")
@takes(*SETTINGS)
def delete(invocation: Invocation, session_id: str) -> None:
    """Remove it."""
    _with_store(invocation, lambda stored: stored.delete(session_id))
    if invocation.json:
        print_json({"deleted": session_id})
    else:
        click.echo(f"Deleted {session_id}.")
