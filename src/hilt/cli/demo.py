"""`hilt demo`: the main job on a workspace of its own, offline with a scripted model, or with a real one."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import click

from hilt.app.application import App
from hilt.app.build import build
from hilt.app.demo.model import DemoModel, demo_answers
from hilt.app.demo.servers import demo_servers
from hilt.app.demo.workspace import make_workspace
from hilt.app.flags import Flags
from hilt.app.load import load_config, process_environment
from hilt.cli.command import HiltCommand
from hilt.cli.demo_view import DemoView
from hilt.cli.failure import FAILED, ExitError
from hilt.core.errors import ConfigError
from hilt.core.event import RunResult
from hilt.core.session import StopReason
from hilt.ports.model import Model
from hilt.ports.permission import Ask, Verdict
from hilt.ports.store import ToolCallReader

PROMPT = (
    "Read README.md and shelf.py, mend the bug that the README names, run the test with "
    "`python3 -m unittest -q`, and tell in two sentences what you did."
)
LIVE_MODELS = (
    ("ANTHROPIC_API_KEY", "anthropic/claude-sonnet-5"),
    ("OPENAI_API_KEY", "openai/gpt-5-mini"),
)


class _Person:
    """Answers the demo's asks in a person's place: once, always told aloud."""

    def __init__(self, view: DemoView) -> None:
        self._view = view

    async def decide(self, ask: Ask) -> Verdict:
        """Allow once."""
        self._view.asked(ask)
        return Verdict(kind="allow_once")


@click.command(
    cls=HiltCommand,
    help=(
        "Run the main job on a workspace that is made for it: reads that overlap, a write alone, a question to a "
        "person, a denied command, a hook, a result in pages, real MCP servers; at the end the audit as a table."
    ),
    examples=(
        "hilt demo",
        "hilt demo --everything node_modules/@modelcontextprotocol/server-everything/dist/index.js",
        "hilt demo --live --model anthropic/claude-sonnet-5",
    ),
)
@click.option(
    "--everything",
    metavar="FILE",
    help="Entry file of the npm package @modelcontextprotocol/server-everything: the MCP server over HTTP.",
)
@click.option("--live/--no-live", default=False, help="A real model; needs ANTHROPIC_API_KEY or OPENAI_API_KEY.")
@click.option("--model", metavar="MODEL", help="The real model of --live.")
@click.option("--color/--no-color", default=True, help="Colour on a terminal.")
@click.option("--json/--no-json", "as_json", default=False, help="The audit as one JSON document.")
def command(everything: str | None, live: bool, model: str | None, color: bool, as_json: bool) -> None:
    """Run it."""
    environment = process_environment()
    view = DemoView(color=color and sys.stdout.isatty() and not environment.get("NO_COLOR"), silent=as_json)
    name = _live_model(environment, model) if live else None
    path = None if everything is None else Path(everything).resolve()
    if path is not None and not path.is_file():
        raise ConfigError(f"no file {everything!r}; install the npm package first", source="--everything")
    with tempfile.TemporaryDirectory(prefix="hilt-demo-") as folder:
        root = Path(folder) / "shelf"
        root.mkdir()
        result = anyio.run(_demo, root, Path(folder) / "state", path, name, view)
    if result.stop_reason is not StopReason.END_TURN:
        raise ExitError(FAILED, f"the demo ended as {result.stop_reason}: {result.error or 'no reason given'}")


def _live_model(environment: Mapping[str, str], wanted: str | None) -> str:
    if wanted is not None:
        return wanted
    for variable, name in LIVE_MODELS:
        if environment.get(variable):
            return name
    raise ConfigError("--live needs ANTHROPIC_API_KEY or OPENAI_API_KEY", source="hilt demo")


async def _demo(root: Path, state: Path, everything: Path | None, live: str | None, view: DemoView) -> RunResult:
    await anyio.to_thread.run_sync(make_workspace, root)
    config = load_config(Flags(workspace=str(root), trust_project=True, tools="files,shell", model=live))
    async with demo_servers(root, everything) as servers:
        names = [spec.name for spec in servers.specs]
        model: Model | str = DemoModel(demo_answers(names, str(root))) if live is None else live
        async with build(
            config=config,
            workspace=root,
            store=f"jsonl:{state}",
            model=model,
            mcp_servers=servers.specs,
            approver=_Person(view),
        ) as app:
            view.start(app, live or "scripted, so no key is needed", servers.missing)
            result = await _play(app, view, PROMPT if live else "Mend the bug that the README names.")
            session = app.sessions.open_sessions[0]
            view.audit(await _records(app, session.id))
            return result


async def _play(app: App, view: DemoView, prompt: str) -> RunResult:
    session = await app.sessions.create(title="demo")
    view.prompt(prompt)
    result = RunResult(stop_reason=StopReason.ERROR, error="the run gave no result")
    async with session.prompt(prompt) as run:
        async for event in run:
            view.event(event)
            if isinstance(event.body, RunResult):
                result = event.body
    return result


async def _records(app: App, session_id: str) -> Sequence[Mapping[str, object]]:
    calls = app.store.calls
    return await calls.read(session_id) if isinstance(calls, ToolCallReader) else ()
