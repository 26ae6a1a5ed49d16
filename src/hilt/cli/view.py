"""What `hilt chat` shows of a run: text as it streams, each tool call in one line with its state and time."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import click

from hilt.cli.output import Paint, one_line
from hilt.cli.status import StatusLines
from hilt.cli.summary import reason_of
from hilt.core.event import (
    AskClosed,
    AskOpened,
    Event,
    EventBody,
    HookRan,
    MessageDelta,
    Notice,
    RunResult,
    ToolCallTaken,
    ToolEnd,
    ToolProgress,
    ToolSettled,
    ToolStart,
    TurnEnd,
    TurnStart,
    TurnTokens,
)
from hilt.core.session import StopReason

ARGUMENTS_MAX = 60
REASON_MAX = 100


@dataclass(slots=True, kw_only=True)
class ShownCall:
    """One call as the list of `/calls` has it; `took_ms` None means that it never ran."""

    tool: str
    arguments: str
    state: str = "waiting"
    took_ms: float | None = None


class ChatView:
    """Writes the events of a session to standard output, each as it comes."""

    def __init__(self, paint: Paint, *, live: bool | None = None, beside: Callable[[], Sequence[str]] = tuple) -> None:
        self._paint = paint
        self._mid_line = False
        self.status = StatusLines(paint, live=paint.on if live is None else live, beside=beside)
        self.calls: dict[str, ShownCall] = {}

    def take(self, event: Event) -> None:
        """Show one event."""
        match event.body:
            case MessageDelta(text=text):
                self._write(text)
            case TurnStart():
                self._set_status("thinking …")
            case AskOpened():
                self.settle()
                self.status.hold()
            case AskClosed():
                self.status.release()
            case HookRan(outcome="failed" | "finding", hook=hook, message=message):
                self.line(self._paint(f"  hook {hook}: {one_line(message, REASON_MAX)}", "yellow"))
            case Notice(text=text):
                self.line(self._paint(f"  {one_line(text, REASON_MAX)}", dim=True))
            case TurnEnd(tokens=TurnTokens(saved=saved) as tokens) if saved:
                text = (
                    f"  tools: {tokens.listed:,} tokens listed, {saved:,} saved of {tokens.full:,} ({tokens.counter})"
                )
                self.line(self._paint(text, dim=True))
            case RunResult() as result:
                self._ended(result)
            case body:
                self._call(body)

    def _call(self, body: EventBody) -> None:
        match body:
            case ToolCallTaken(call_id=call_id, tool=tool, args=args):
                self.calls[call_id] = ShownCall(tool=tool, arguments=brief(args))
            case ToolStart(call_id=call_id):
                self._started(call_id)
            case ToolProgress(call_id=call_id, done=done, total=total, text=text):
                self._progress(call_id, done, total, text)
            case ToolEnd(call_id=call_id, duration_ms=took) if call_id in self.calls:
                self.calls[call_id].took_ms = took
            case ToolSettled():
                self._settled(body)

    def line(self, text: str = "") -> None:
        """Write a line of its own."""
        self.settle()
        click.echo(text)

    def _write(self, text: str) -> None:
        self.status.clear()
        click.echo(text, nl=False)
        sys.stdout.flush()
        if text:
            self._mid_line = not text.endswith("\n")

    def _started(self, call_id: str) -> None:
        call = self.calls.get(call_id)
        if call is not None:
            call.state = "running"
            self._show_running()

    def _progress(self, call_id: str, done: float, total: float | None, text: str) -> None:
        call = self.calls.get(call_id)
        if call is not None:
            share = f"{done:g}/{total:g}" if total else f"{done:g}"
            self._set_status(f"{call.tool} {share} {text}")

    def _show_running(self) -> None:
        running = [call.tool for call in self.calls.values() if call.state == "running"]
        if running:
            self._set_status(f"running {', '.join(running)} …")

    def _settled(self, body: ToolSettled) -> None:
        call = self.calls.setdefault(body.call_id, ShownCall(tool=body.tool, arguments=""))
        if body.code == "access_denied":
            call.state, mark = "denied", self._paint("⊘", "yellow")
        elif body.result.is_error:
            call.state, mark = "failed", self._paint("✗", "red")
        else:
            call.state, mark = "done", self._paint("✓", "green")
        took = "" if call.took_ms is None else self._paint(f"  {duration(call.took_ms)}", dim=True)
        why = ""
        if body.result.is_error:
            why = self._paint(f"  {call.state}: {brief_reason(body)}", dim=True)
        self.line(f"{mark} {self._paint(call.tool, bold=True)} {call.arguments}".rstrip() + took + why)
        self._show_running()

    def _ended(self, result: RunResult) -> None:
        self.settle()
        match result.stop_reason:
            case StopReason.END_TURN:
                pass
            case StopReason.CANCELLED:
                self.line(self._paint("cancelled", "yellow"))
            case reason:
                more = f": {result.error}" if result.error else ""
                self.line(self._paint(f"the run ended as {reason}{more}", "red"))

    def _set_status(self, text: str) -> None:
        if not self._mid_line:
            self.status.set(text)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave the screen to a question while the block runs."""
        self.settle()
        self.status.hold()
        try:
            yield
        finally:
            self.status.release()

    def settle(self) -> None:
        """Take the status lines away before something else is written."""
        self.status.clear()
        if self._mid_line:
            click.echo()
            self._mid_line = False


def brief_reason(body: ToolSettled) -> str:
    """Return why a call did not succeed, without the words that its state says already."""
    reason = reason_of(body.result.content)
    for said in (f"Tool '{body.tool}' is not allowed by policy: ", "Tool execution failed: "):
        reason = reason.removeprefix(said)
    return one_line(reason, REASON_MAX)


def brief(args: str) -> str:
    """Return a call's arguments as one short line."""
    try:
        table: object = json.loads(args)
    except ValueError:
        return one_line(args, ARGUMENTS_MAX)
    if not isinstance(table, dict):
        return one_line(args, ARGUMENTS_MAX)
    words = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in table.values()]
    if len(words) > 1:
        words = [f"{key}={word}" for key, word in zip(table, words, strict=True)]
    return one_line(" ".join(words), ARGUMENTS_MAX)


def duration(milliseconds: float) -> str:
    """Return a time as people say it."""
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"
    return f"{milliseconds / 1000:.1f} s"
