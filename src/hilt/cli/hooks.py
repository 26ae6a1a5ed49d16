"""`hilt hooks`: which hooks apply, and what they say to a stored event."""

import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import click

from hilt.app.config import HookDefinition
from hilt.app.hook_trial import Trial, stored_event, try_hooks
from hilt.app.server_files import masked_url
from hilt.cli.command import HiltGroup, nearest
from hilt.cli.failure import REFUSED
from hilt.cli.flags import SETTINGS, Invocation, takes
from hilt.cli.output import print_json, print_table
from hilt.cli.view import duration
from hilt.core.errors import ConfigError
from hilt.core.hook import HookEvent, event_json


@click.group(
    cls=HiltGroup,
    help="Which hooks apply; run them on a stored event.",
    examples=("hilt hooks list", "hilt hooks test PreToolUse event.json"),
)
def command() -> None:
    """Group the commands."""


@command.command(
    "list",
    help="List the hooks that apply, in the order in which they run.",
    examples=("hilt hooks list", "hilt hooks list --trust-project --json"),
)
@takes(*SETTINGS)
def list_(invocation: Invocation) -> None:
    """Print the hooks."""
    hooks = invocation.config().hook_definitions
    if invocation.json:
        print_json({"hooks": [_described(hook) for hook in hooks]})
        return
    rows = [
        (str(h.event), h.name, ", ".join(h.match) or "all", f"{h.timeout_s:g} s", f"{h.source}:{h.line}", _runs(h))
        for h in hooks
    ]
    print_table(rows, ("EVENT", "NAME", "MATCH", "TIMEOUT", "FROM", "RUNS") if rows else ())
    if not rows:
        click.echo("No hooks apply.")


def _runs(hook: HookDefinition) -> str:
    return hook.command or masked_url(hook.url)


def _described(hook: HookDefinition) -> dict[str, object]:
    runtime = {"command": hook.command} if hook.command else {"url": masked_url(hook.url)}
    return {
        "event": hook.event,
        "name": hook.name,
        "match": hook.match,
        **runtime,
        "timeout_s": hook.timeout_s,
        "on_failure": hook.on_failure,
        "scope": hook.scope,
        "source": hook.source,
        "line": hook.line,
    }


@command.command(
    "test",
    help="Run the hooks of EVENT on the event in FILE (`-` is standard input) and print what they say; exit code 4"
    " means that they block. The file has the keys that hooks get on standard input; all may be absent.",
    examples=(
        "hilt hooks test PreToolUse event.json",
        """echo '{"tool_name": "shell", "tool_input": {"command": "ls"}}' | hilt hooks test PreToolUse -""",
    ),
)
@click.argument("event")
@click.argument("file")
@takes(*SETTINGS)
def test(invocation: Invocation, event: str, file: str) -> int:
    """Run the hooks."""
    if event not in tuple(HookEvent):
        known = tuple(str(one) for one in HookEvent)
        raise click.UsageError(f"no event {event!r}{nearest(event, known)} (known: {', '.join(known)})")
    config = invocation.config()
    seen = stored_event(_text(file), HookEvent(event), source=file)
    trial = anyio.run(try_hooks, config, seen)
    if invocation.json:
        print_json(_trial_json(trial))
    else:
        for line in _told(trial):
            click.echo(line)
    return REFUSED if trial.blocked_by else 0


def _text(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"cannot be read: {reason}", source=file) from None


def _trial_json(trial: Trial) -> dict[str, object]:
    return {
        "runs": [
            {
                "hook": ran.hook,
                "outcome": ran.outcome,
                "duration_ms": ran.duration_ms,
                "rewrote": ran.rewrote,
                "message": ran.message,
            }
            for ran in trial.runs
        ],
        "blocked_by": trial.blocked_by or None,
        "reason": trial.blocked or trial.asked,
        "asked_by": trial.asked_by or None,
        "context": trial.contexts,
        "event": event_json(trial.after) if trial.rewrote and trial.after is not None else None,
    }


def _told(trial: Trial) -> Iterator[str]:
    if not trial.runs:
        yield "No hook matches this event."
    for ran in trial.runs:
        rewrote = ", rewrote" if ran.rewrote else ""
        yield f"{ran.hook}: {ran.outcome}{rewrote}, {duration(ran.duration_ms)}" + (
            f": {ran.message}" if ran.message else ""
        )
    if trial.blocked_by:
        yield f"blocked by {trial.blocked_by}: {trial.blocked}"
    if trial.asked_by:
        yield f"asked by {trial.asked_by}: {trial.asked}"
    for context in trial.contexts:
        yield f"context: {context}"
    if trial.rewrote and trial.after is not None:
        after = event_json(trial.after)
        for key in ("tool_input", "prompt", "tool_response"):
            if after.get(key):
                yield f"{key}: {after[key]}"
