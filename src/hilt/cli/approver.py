"""Puts an ask to the person at the terminal: what wants to run, why it is asked, once, always or no."""

import json
from collections.abc import Callable, Iterator

import anyio
import click

from hilt.cli.output import Paint, one_line
from hilt.cli.reading import Interrupted, LineReader
from hilt.ports.permission import Ask, Verdict

VALUE_MAX = 200
LINES_MAX = 12

_ANSWERS = {
    "o": Verdict(kind="allow_once"),
    "a": Verdict(kind="allow_always"),
    "p": Verdict(kind="allow_always", persist=True),
}
_WORDS = {"once": "o", "yes": "o", "y": "o", "always": "a", "project": "p", "no": "n"}


class TerminalApprover:
    """Asks the person; an end of input means no.

    Ctrl-C cancels the run through `interrupt`, which tells whether there is one; without one it means no. `turns` is
    held by whoever reads a line: a child agent may ask while the person types something else. `keeps` says that a rule
    kept for the project would count: in one that is not trusted it would wait for trust.
    """

    def __init__(
        self,
        reader: LineReader,
        paint: Paint,
        *,
        interrupt: Callable[[], bool],
        turns: anyio.Lock | None = None,
        keeps: bool = True,
        err: bool = False,
    ) -> None:
        self._reader = reader
        self._paint = paint
        self._interrupt = interrupt
        self._turns = turns or anyio.Lock()
        self._keeps = keeps
        self._err = err

    async def decide(self, ask: Ask) -> Verdict:
        """See `Approver.decide`."""
        if self._turns.locked():
            text = f"{ask.child or 'an agent'} asks whether it may use {ask.tool}; press Enter to answer"
            click.echo(f"\n{self._paint('?', 'yellow', bold=True)} {text}", err=self._err)
        async with self._turns:
            return await self._answer(ask)

    async def _answer(self, ask: Ask) -> Verdict:
        self._reader.drop_typed_ahead()
        for line in self._question(ask):
            click.echo(line, err=self._err)
        while True:
            try:
                typed = await self._reader.line(self._choices(ask))
            except Interrupted:
                if not self._interrupt():
                    return Verdict(kind="deny", message="the user interrupted the question")
                await anyio.sleep_forever()
            if typed is None:
                return Verdict(kind="deny", message="the user left without an answer")
            verdict = _verdict(typed)
            if verdict is not None and self._offered(ask, verdict):
                return verdict
            click.echo(self._paint("  please answer with one of the letters", "yellow"), err=self._err)

    def _offered(self, ask: Ask, verdict: Verdict) -> bool:
        if verdict.kind != "allow_always":
            return True
        return ask.rememberable and (self._keeps or not verdict.persist)

    def _question(self, ask: Ask) -> Iterator[str]:
        who = f" (for {ask.child})" if ask.child else ""
        yield f"{self._paint('?', 'yellow', bold=True)} {self._paint(ask.tool, bold=True)} wants to run{who}"
        for line in argument_lines(ask.arguments):
            yield f"    {line}"
        rule = f" (rule {ask.rule})" if ask.rule and ask.rule not in ask.reason else ""
        yield self._paint(f"  asked because {ask.reason}{rule}", dim=True)

    def _choices(self, ask: Ask) -> str:
        always = ["[a]lways in this session"] if ask.rememberable else []
        kept = ["[p]roject: always, and keep it"] if ask.rememberable and self._keeps else []
        return "  " + ", ".join(["[o]nce", *always, *kept, "[n]o (and why)"]) + " > "


def _verdict(typed: str) -> Verdict | None:
    """Return what was typed as a verdict; words behind a no are the reason that the model is told."""
    first, _, rest = typed.strip().partition(" ")
    letter = _WORDS.get(first.lower(), first.lower())
    if letter == "n":
        return Verdict(kind="deny", message=rest.strip())
    return None if rest.strip() else _ANSWERS.get(letter)


def argument_lines(arguments: str) -> list[str]:
    """Return a call's arguments as `name: value` lines, long ones cut."""
    try:
        table: object = json.loads(arguments)
    except ValueError:
        return [one_line(arguments, VALUE_MAX)]
    if not isinstance(table, dict):
        return [one_line(arguments, VALUE_MAX)]
    lines = []
    for key, value in table.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines.append(f"{key}: {one_line(text, VALUE_MAX)}")
    more = len(lines) - LINES_MAX
    return lines if more <= 0 else [*lines[:LINES_MAX], f"… and {more} more"]
