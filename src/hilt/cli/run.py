"""`hilt run`: one prompt without a person, then exit."""

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import click

from hilt.app.application import App
from hilt.app.config import Config
from hilt.app.flags import Flags
from hilt.cli.command import HiltCommand
from hilt.cli.failure import TERMINATED, Failure, line_of, worst
from hilt.cli.flags import FULL, Invocation, takes
from hilt.cli.output import one_line, print_json
from hilt.cli.progress import Progress
from hilt.cli.running import Signals, with_app
from hilt.cli.summary import Summary
from hilt.core.errors import ConfigError
from hilt.core.event import event_to_json
from hilt.engine.session import Session

TITLE_MAX = 60
FORMATS = ("text", "json", "stream-json")


@click.command(
    cls=HiltCommand,
    help="Run one prompt without a person, then exit. `-` or no prompt reads standard input. What would be asked is"
    " denied at once and listed on standard error.",
    examples=(
        'hilt run "What does this project do?" --model anthropic/claude-sonnet-4-5',
        "git diff | hilt run --tools none --prompt-file review.md",
        "hilt run 'Fix the typo in README.md' --tools files --mode accept-edits --output json",
        "hilt run 'hello' --model scripted:script.jsonl --output stream-json",
    ),
)
@click.argument("prompt", required=False)
@click.option("--output", type=click.Choice(FORMATS), help="text (default), json or stream-json (one event a line).")
@click.option("--session", "session_id", metavar="ID", help="Go on with a stored session.")
@click.option("--prompt-file", metavar="FILE", help="Read the prompt from a file.")
@takes(*FULL)
def command(
    invocation: Invocation, prompt: str | None, output: str | None, session_id: str | None, prompt_file: str | None
) -> int:
    """Run it and return the exit code."""
    chosen = output or ("json" if invocation.json else "text")
    if invocation.json and chosen == "text":
        raise click.UsageError("--json is --output json, so it does not go with --output text")
    invocation = replace(invocation, json=chosen != "text")
    config = invocation.config()
    text = _prompt(prompt, prompt_file)
    if session_id is None and not config.model:
        raise ConfigError("no model was chosen; give --model, for example --model anthropic/claude-sonnet-4-5")
    progress = Progress(invocation, config)
    progress.connecting(config)

    async def work(app: App, signals: Signals) -> int:
        expanded = await app.slash.expand(text)
        session = await open_session(app, config, session_id, flags=invocation.flags, title=one_line(text, TITLE_MAX))
        summary = Summary(session_id=session.id)
        prompted = session.prompt(text) if expanded is None else session.prompt(expanded, typed=text)
        async with cancel_on_signal(session, signals), prompted as events:
            async for event in events:
                summary.take(event)
                progress.take(event)
                if chosen == "stream-json":
                    click.echo(json.dumps(event_to_json(event), ensure_ascii=False))
        progress.done()
        _tell(summary, chosen)
        return worst(summary.exit_code, signals.code)

    return with_app(config, work)


def _prompt(prompt: str | None, prompt_file: str | None) -> str:
    """Return the prompt's text.

    Raises:
        click.UsageError: It is given twice, or is empty.
        ConfigError: The file cannot be read.
    """
    if prompt_file is not None and prompt not in (None, "-"):
        raise click.UsageError("give either a prompt or --prompt-file")
    if prompt_file is not None:
        try:
            text = Path(prompt_file).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ConfigError("is not UTF-8 text", source=prompt_file) from None
        except OSError as exc:
            raise ConfigError(f"cannot be read: {exc.strerror}", source=prompt_file) from None
    elif prompt in (None, "-"):
        if sys.stdin.isatty():
            click.echo("reading the prompt from standard input; Ctrl-D ends it", err=True)
        text = sys.stdin.read()
    else:
        text = str(prompt)
    if not text.strip():
        raise click.UsageError("the prompt is empty")
    return text


async def open_session(app: App, config: Config, session_id: str | None, *, flags: Flags, title: str = "") -> Session:
    """Return a new session, or the stored one with the model and mode that were asked for.

    Raises:
        SessionNotFoundError: No session has this id.
        RequestError: The mode is refused here.
    """
    if session_id is None:
        return await app.sessions.create(title=title)
    if flags.model is not None:
        record = await app.sessions.show(session_id)
        await app.store.sessions.save(replace(record, model=flags.model))
    session = await app.sessions.open(session_id)
    if flags.mode is not None:
        await session.set(mode=config.mode)
    return session


@asynccontextmanager
async def cancel_on_signal(
    session: Session, signals: Signals, *, leaves: bool = True
) -> AsyncIterator[Callable[[], None]]:
    """Let a signal cancel the session's run, which then ends in order, with its result.

    Yields the function that does the same without a signal. With `leaves` SIGINT ends the command too.
    """
    asked = anyio.Event()

    def stop(code: int) -> bool:
        asked.set()
        if leaves or code == TERMINATED:
            signals.code = code
        return True

    async def cancel() -> None:
        await asked.wait()
        await session.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cancel)
        signals.on = stop
        try:
            yield asked.set
        finally:
            signals.on = None
            tasks.cancel_scope.cancel()


def _tell(summary: Summary, chosen: str) -> None:
    if chosen == "json":
        print_json(summary.to_json())
    elif chosen == "text" and summary.result is not None and summary.result.final_text:
        click.echo(summary.result.final_text)
    if summary.trouble:
        code = "failed" if summary.result is None else str(summary.result.stop_reason)
        failure = Failure(exit_code=summary.exit_code, code=code, message=summary.trouble)
        click.echo(line_of(failure, as_json=chosen != "text"), err=True)
    if chosen == "text":
        for call in summary.denied:
            click.echo(f"denied: {call['reason']}", err=True)
