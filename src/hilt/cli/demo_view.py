"""What the demo shows: each turn's calls as bars in time, questions, refusals, and the audit as a table."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from hilt.app.application import App
from hilt.core.event import (
    Event,
    HookRan,
    MessageDelta,
    RunResult,
    ToolCallTaken,
    ToolEnd,
    ToolSettled,
    ToolStart,
    TurnEnd,
    TurnStart,
)
from hilt.core.tool import ToolResult
from hilt.ports.permission import Ask

BAR = 24
NAME = 30
TEXT = 96


@dataclass(slots=True)
class _Row:
    """One call of the turn that is shown."""

    name: str
    args: str
    begin: float | None = None
    end: float | None = None
    note: str = ""


class DemoView:
    """Writes the demo to standard output as it runs; silent when only the audit is wanted as JSON."""

    def __init__(self, *, color: bool, silent: bool = False) -> None:
        self._color = color
        self._silent = silent
        self._rows: dict[str, _Row] = {}
        self._text: list[str] = []
        self._app: App | None = None

    def start(self, app: App, model: str, missing: Sequence[str]) -> None:
        """Say what is there."""
        self._app = app
        self._line(self._bold("hilt demo") + f"   a git repository of its own; model: {model}")
        for manager in app.mcp:
            for report in manager.reports():
                self._line(f"  MCP server {report.name}: {report.tools} tools, {report.state}")
        for line in missing:
            self._line(f"  not there   {line}")

    def prompt(self, text: str) -> None:
        """Show the prompt."""
        self._line("")
        self._line(self._bold("you  ") + text)

    def asked(self, ask: Ask) -> None:
        """Show a question and its answer."""
        rule = f"rule {ask.rule!r}" if ask.rule else ask.reason
        self._line(f"     {self._paint('ask', 'yellow')}  {ask.tool} {_short(ask.arguments, 50)} ({rule}) → once")

    def event(self, event: Event) -> None:
        """Take one event of the run."""
        now = self._now()
        match event.body:
            case TurnStart():
                self._rows, self._text = {}, []
            case MessageDelta(text=text):
                self._text.append(text)
            case ToolCallTaken(call_id=call_id, tool=tool, args=args):
                self._said()
                self._rows[call_id] = _Row(tool, args)
            case ToolStart(call_id=call_id):
                self._rows[call_id].begin = now
            case ToolEnd(call_id=call_id):
                self._rows[call_id].end = now
            case HookRan(call_id=call_id, hook=hook, rewrote=True) if call_id in self._rows:
                self._rows[call_id].note = f"hook {hook!r} rewrote the arguments"
            case ToolSettled(call_id=call_id, result=result, code=code):
                self._settled(self._rows[call_id], result, code)
            case TurnEnd():
                self._said()
                self._chart()
            case RunResult(stop_reason=reason, tool_calls=calls, turns=turns):
                self._line(f"     {reason}: {turns} turns, {calls} calls")
            case _:
                pass

    def audit(self, records: Sequence[Mapping[str, object]]) -> None:
        """Show the audit file as a table, or as JSON."""
        if self._silent:
            click.echo(json.dumps(list(records), ensure_ascii=False))
            return
        self._line("")
        self._line(self._bold(f"audit  {'tool':<{NAME}} {'decision':<11} {'queued':>9} {'took':>9}  what decided"))
        for record in records:
            self._line(
                f"       {_short(str(record.get('tool')), NAME):<{NAME}} {record.get('decision', '-')!s:<11} "
                f"{_millis(record.get('queued_micros')):>9} {_millis(record.get('took_micros')):>9}  "
                f"{record.get('rule', record.get('code', ''))}"
            )

    def _settled(self, row: _Row, result: ToolResult, code: str) -> None:
        if row.note:
            return
        if code:
            row.note = self._refusal(result.content, code)
        elif row.name == "CallMcpWithQuery":
            row.note = _short(result.content, TEXT)
        elif "ReadResult" in result.content and len(result.content) > 10_000:
            row.note = f"{len(result.content.encode()):,} bytes: cut, the rest in pages by ReadResult"

    def _refusal(self, content: str, code: str) -> str:
        """Return what an error of the harness says in one line; withheld JSON shows its outline."""
        try:
            told: object = json.loads(content)
        except ValueError:
            told = None
        body = told if isinstance(told, dict) else {"message": content}
        data = body.get("data")
        if code == "result_too_large" and isinstance(data, dict):
            return f"withheld: too large. Outline: {_short(json.dumps(data.get('outline')), TEXT)}"
        return self._paint(_short(str(body.get("message", "")), TEXT), "red")

    def _said(self) -> None:
        if self._text:
            self._line("")
            self._line(self._bold("model") + f" {''.join(self._text)}")
            self._text = []

    def _chart(self) -> None:
        times = [time for row in self._rows.values() for time in (row.begin, row.end) if time is not None]
        if not self._rows:
            return
        first, span = (min(times), max(max(times) - min(times), 1e-6)) if times else (0.0, 1.0)
        for row in self._rows.values():
            bar, took = " " * BAR, "     -  "
            if row.begin is not None and row.end is not None:
                left = min(int((row.begin - first) / span * BAR), BAR - 1)
                right = max(int((row.end - first) / span * BAR), left + 1)
                bar = " " * left + "█" * (right - left) + " " * (BAR - right)
                took = f"{(row.end - row.begin) * 1000:5.0f} ms"
            name = f"{row.name} {self._hint(row.args)}"
            note = f"  {row.note}" if row.note else ""
            self._line(f"     {_short(name, NAME):<{NAME}} ▏{self._paint(bar, 'cyan')}▕ {took}{note}")

    def _hint(self, args: str) -> str:
        try:
            values: object = json.loads(args)
        except ValueError:
            return ""
        texts = [value for value in values.values() if isinstance(value, str)] if isinstance(values, dict) else []
        return texts[0].splitlines()[0] if texts and texts[0] else ""

    def _now(self) -> float:
        return 0.0 if self._app is None else self._app.clock.monotonic()

    def _bold(self, text: str) -> str:
        return click.style(text, bold=True) if self._color else text

    def _paint(self, text: str, color: str) -> str:
        return click.style(text, fg=color) if self._color else text

    def _line(self, text: str) -> None:
        if not self._silent:
            click.echo(text.rstrip())


def _short(text: str, width: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def _millis(value: object) -> str:
    return f"{value / 1000:.1f} ms" if isinstance(value, int) else "-"
