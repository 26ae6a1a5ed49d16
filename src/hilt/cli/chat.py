"""`hilt chat`: a session at the terminal that asks its user."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import anyio
import click

from hilt.app.application import App
from hilt.app.config import Config
from hilt.cli.approver import TerminalApprover
from hilt.cli.chat_lists import AGENTS_HEAD, JOBS_HEAD, TASKS_HEAD, agent_rows, job_rows, running_lines, task_rows
from hilt.cli.command import HiltCommand, nearest
from hilt.cli.elicitor import TerminalElicitor
from hilt.cli.failure import INTERRUPTED
from hilt.cli.flags import MCP, MODEL, SETTINGS, Invocation, takes
from hilt.cli.output import Paint, one_line, print_table
from hilt.cli.progress import Progress
from hilt.cli.reading import Interrupted, LineReader, line_reader
from hilt.cli.run import cancel_on_signal
from hilt.cli.running import Signals, with_app
from hilt.cli.view import ChatView, duration
from hilt.core.errors import ConfigError, RequestError, ToolError
from hilt.core.session import Mode
from hilt.core.version import VERSION
from hilt.engine.session import Session
from hilt.ports.elicitation import Elicitor

TITLE_MAX = 60
ABOUT_MAX = 80
REDRAW_S = 1.0
LEAVE = "Ctrl-D or /quit leaves; Ctrl-C cancels a run"


@click.command(
    cls=HiltCommand,
    help="Talk to a model about this folder. Calls that are not allowed by a rule are asked for.",
    examples=(
        "hilt chat --model anthropic/claude-sonnet-4-5",
        "hilt chat --tools files,shell --mode accept-edits",
        "hilt chat --model scripted:script.jsonl",
    ),
)
@takes(*SETTINGS, *MODEL, *MCP)
def command(invocation: Invocation) -> int:
    """Run the chat."""
    if invocation.json:
        raise click.UsageError("chat talks to a person; for programs there is `hilt run --json`")
    config = invocation.config()
    if not config.model:
        raise ConfigError("no model was chosen; give --model, for example --model anthropic/claude-sonnet-4-5")
    paint = Paint(invocation, config.environment)
    words = {f"/{name}": slash.help for name, slash in COMMANDS.items()}
    reader = line_reader(words)
    interrupts, turns = Interrupts(), anyio.Lock()
    approver = TerminalApprover(reader, paint, interrupt=interrupts.press, turns=turns, keeps=config.trusted)
    elicitor = TerminalElicitor(reader, paint, interrupt=interrupts.press, turns=turns)
    progress = Progress(invocation, config)
    progress.connecting(config)

    async def work(app: App, signals: Signals) -> int:
        progress.done()
        words.update({f"/{name}": about for name, about in described(app) if f"/{name}" not in words})
        chat = Chat(app, config, await app.sessions.create(), reader=reader, paint=paint, turns=turns)
        elicitor.aside = chat.view.aside
        await chat.talk(signals, interrupts)
        return signals.code

    return with_app(config, work, approver=approver, services={Elicitor: elicitor})


class Interrupts:
    """Hands a Ctrl-C that was typed at a question on to whoever can cancel the run."""

    def __init__(self) -> None:
        self.cancel: Callable[[], None] | None = None

    def press(self) -> bool:
        """Cancel the run, and tell whether one is under way."""
        if self.cancel is not None:
            self.cancel()
        return self.cancel is not None


class Chat:
    """One conversation at the terminal."""

    def __init__(
        self,
        app: App,
        config: Config,
        session: Session,
        *,
        reader: LineReader,
        paint: Paint,
        turns: anyio.Lock,
    ) -> None:
        self.app = app
        self._config = config
        self._reader = reader
        self._turns = turns
        self._paint = paint
        self.view = ChatView(paint, beside=lambda: running_lines(session.env))
        self.session = session
        self._leave = session.subscribe(self.view.take)
        self._titled = False

    async def talk(self, signals: Signals, interrupts: Interrupts) -> None:
        """Take prompts and commands until the person leaves."""
        click.echo(self._banner())
        signals.on = self._idle
        while not signals.code:
            try:
                async with self._turns:
                    line = await self._reader.line(self._paint("> ", "cyan", bold=True))
            except Interrupted:
                self._hint()
                continue
            if line is None:
                return
            text = line.strip()
            if text.startswith("/"):
                if await self._slash(text, signals, interrupts):
                    return
                signals.on = self._idle
            elif text:
                await self._run(text, signals, interrupts)
                signals.on = self._idle

    def _idle(self, code: int) -> bool:
        if code == INTERRUPTED:
            self._hint()
        return code == INTERRUPTED

    def _hint(self) -> None:
        click.echo(self._paint(LEAVE, dim=True))

    def _banner(self) -> str:
        tools = len(self.session.specs())
        parts = [f"hilt {VERSION}", self._config.model or "", f"mode {self.session.mode}", f"{tools} tools", "/help"]
        return self._paint(" · ".join(parts), dim=True)

    async def _run(self, text: str, signals: Signals, interrupts: Interrupts, *, typed: str = "") -> None:
        if not self._titled:
            await self.session.set(title=one_line(typed or text, TITLE_MAX))
            self._titled = True
        async with cancel_on_signal(self.session, signals, leaves=False) as cancel:
            interrupts.cancel = cancel
            async with anyio.create_task_group() as tasks, self.session.prompt(text, typed=typed) as events:
                tasks.start_soon(self._keep_drawing)
                async for _ in events:
                    pass
                tasks.cancel_scope.cancel()
        interrupts.cancel = None
        self.view.settle()

    async def _keep_drawing(self) -> None:
        """Draw what goes on beside the run anew each second."""
        while True:
            await anyio.sleep(REDRAW_S)
            self.view.status.redraw()

    async def _slash(self, text: str, signals: Signals, interrupts: Interrupts) -> bool:
        """Run a `/` command; True leaves the chat."""
        name, _, argument = text[1:].partition(" ")
        command_ = COMMANDS.get(name)
        try:
            if command_ is not None:
                return await command_.run(self, argument.strip()) is True
            expanded = await self.app.slash.expand(text)
        except RequestError as exc:
            click.echo(str(exc))
            return False
        hint = nearest(name, [*COMMANDS, *self.app.slash.names()]) if expanded is None else ""
        if hint:
            click.echo(f"no command /{name}{hint}; /help lists them")
        elif expanded is None:
            await self._run(text, signals, interrupts)
        else:
            await self._run(expanded, signals, interrupts, typed=text)
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Slash:
    """One `/` command."""

    help: str
    run: Callable[[Chat, str], Awaitable[bool | None]]


def described(app: App) -> list[tuple[str, str]]:
    """Return the names of the application's commands, each with what it does and takes, in one line."""
    entries = [listed.entry for listed in app.slash.listing()]
    return [(e.name, one_line(f"{e.argument_hint}  {e.description}", ABOUT_MAX)) for e in entries]


async def _help(chat: Chat, _: str) -> None:
    rows = [(f"/{name}", slash.help) for name, slash in COMMANDS.items()]
    print_table(rows + [(f"/{name}", about) for name, about in described(chat.app) if name not in COMMANDS])
    click.echo(LEAVE)


async def _mode(chat: Chat, argument: str) -> None:
    if argument:
        await chat.session.set(mode=argument)
    others = ", ".join(mode for mode in Mode if mode is not chat.session.mode)
    click.echo(f"mode {chat.session.mode}" + ("" if argument else f" (others: {others})"))


async def _tools(chat: Chat, _: str) -> None:
    rows = [(spec.name, one_line(spec.description, 70)) for spec in chat.session.specs()]
    print_table(rows)


async def _calls(chat: Chat, _: str) -> None:
    calls = chat.view.calls.values()
    rows = [(c.tool, c.state, "" if c.took_ms is None else duration(c.took_ms), c.arguments) for c in calls]
    print_table(rows, ("TOOL", "STATE", "TOOK", "ARGUMENTS") if rows else ())
    if not rows:
        click.echo("no calls so far")


async def _session(chat: Chat, _: str) -> None:
    record = chat.session.record
    click.echo(f"{record.id}: {record.turns} turns, {record.tool_calls} calls, {record.usage.total} tokens")
    click.echo(f'go on with: hilt run --session {record.id} "..."')


async def _jobs(chat: Chat, _: str) -> None:
    rows = job_rows(chat.session.env)
    print_table(rows, JOBS_HEAD if rows else ())
    if not rows:
        click.echo("no background jobs")


async def _agents(chat: Chat, _: str) -> None:
    rows = agent_rows(chat.session.env)
    print_table(rows, AGENTS_HEAD if rows else ())
    if not rows:
        click.echo("no child agents")


async def _tasks(chat: Chat, _: str) -> None:
    try:
        rows = await task_rows(chat.session.env)
    except ToolError as exc:
        click.echo(exc.reason)
        return
    print_table(rows, TASKS_HEAD if rows else ())
    if not rows:
        click.echo("no tasks")


async def _quit(_: Chat, __: str) -> bool:
    await anyio.lowlevel.checkpoint()
    return True


COMMANDS: Mapping[str, Slash] = {
    "help": Slash(help="this list", run=_help),
    "mode": Slash(help="show the permission mode, or change it: /mode plan", run=_mode),
    "tools": Slash(help="the tools that the model sees", run=_tools),
    "calls": Slash(help="the calls so far, with state and time", run=_calls),
    "jobs": Slash(help="the background jobs of the shell", run=_jobs),
    "agents": Slash(help="the child agents", run=_agents),
    "tasks": Slash(help="the list of tasks", run=_tasks),
    "session": Slash(help="the session's id and what it has used", run=_session),
    "quit": Slash(help="leave", run=_quit),
    "exit": Slash(help="leave", run=_quit),
}
