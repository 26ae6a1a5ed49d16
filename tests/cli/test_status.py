"""The lines of a chat that change in place, as a terminal shows them."""

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from hilt.cli.chat_lists import agent_rows, running_lines
from hilt.cli.flags import Invocation
from hilt.cli.output import Paint
from hilt.cli.status import StatusLines
from hilt.cli.view import ChatView
from hilt.core.event import AskClosed, AskOpened, Event, EventBody, MessageDelta, ToolCallTaken, ToolStart, TurnStart
from tests.app.house import house
from tests.flows.children_kit import Cast, stage
from tests.flows.kit import allow

PLAIN = Paint(Invocation(color=False), {})


def screen(written: str) -> list[str]:
    """Return the lines that a terminal shows after this was written to it."""
    lines, row, column = [""], 0, 0
    for piece in written.replace("\x1b[K", "\0").replace("\x1b[1A", "\1"):
        match piece:
            case "\r":
                column = 0
            case "\n":
                row, column = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
            case "\0":
                lines[row] = lines[row][:column]
            case "\1":
                row -= 1
            case _:
                lines[row] = lines[row][:column].ljust(column) + piece + lines[row][column + 1 :]
                column += 1
    return lines


def view_of(out: io.StringIO, *bodies: EventBody, beside: Sequence[str]) -> list[str]:
    with redirect_stdout(out):
        view = ChatView(PLAIN, live=True, beside=lambda: beside)
        for number, body in enumerate(bodies, start=1):
            view.take(Event(seq=number, run="r", turn=1, time="", body=body))
    return screen(out.getvalue())


def test_each_thing_beside_the_run_has_a_line_that_is_replaced() -> None:
    out, beside = io.StringIO(), ["job make · 1 s", "job serve · 2 s"]
    with redirect_stdout(out):
        status = StatusLines(PLAIN, live=True, beside=lambda: beside)
        status.redraw()
        assert out.getvalue() == ""
        status.set("thinking …")
        assert screen(out.getvalue()) == ["thinking …", "job make · 1 s", "job serve · 2 s"]
        beside[:] = ["job serve · 3 s"]
        status.redraw()
        assert screen(out.getvalue()) == ["thinking …", "job serve · 3 s", ""]
        status.clear()
        status.redraw()
    assert screen(out.getvalue()) == ["", "", ""]


def test_without_a_terminal_that_takes_lines_back_nothing_is_shown() -> None:
    out = io.StringIO()
    with redirect_stdout(out):
        status = StatusLines(PLAIN, live=False, beside=lambda: ["job"])
        status.set("thinking …")
        status.clear()
    assert out.getvalue() == ""


def test_text_takes_the_place_of_the_lines() -> None:
    shown = view_of(io.StringIO(), TurnStart(), MessageDelta(text="Hello"), beside=["job make"])
    assert shown == ["Hello", ""]


def test_a_question_is_alone_on_the_screen() -> None:
    opened = AskOpened(ask_id="a", call_id="1", tool="Write", reason="no rule")
    taken = ToolCallTaken(call_id="1", tool="Write", args="{}")
    out = io.StringIO()
    with redirect_stdout(out):
        view = ChatView(PLAIN, live=True, beside=lambda: ["job make"])
        for body in (TurnStart(), taken, opened):
            view.take(Event(seq=1, run="r", turn=1, time="", body=body))
        view.status.redraw()
        assert screen(out.getvalue()) == ["", ""]
        closed = AskClosed(ask_id="a", call_id="1", verdict="allow_once")
        for later in (closed, ToolStart(call_id="1", tool="Write")):
            view.take(Event(seq=2, run="r", turn=1, time="", body=later))
    assert screen(out.getvalue()) == ["running Write …", "job make"]


def test_a_narrow_terminal_gets_lines_that_it_does_not_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "12")
    assert view_of(io.StringIO(), TurnStart(), beside=["job " + "x" * 40]) == ["thinking …", "job xxxxxx…"]


async def test_only_jobs_that_run_have_a_line(tmp_path: Path) -> None:
    async with house(tmp_path, enable={"shell"}, rules=allow("shell")) as home:
        session = await home.app.sessions.create()
        assert running_lines(session.env) == []
        started = await session.call_tool("shell", '{"command": "sleep 60", "background": true}')
        assert not started.is_error, started.content
        assert [line.split(" · ")[0] for line in running_lines(session.env)] == ["job sleep 60"]
    assert running_lines(session.env) == []


async def test_a_child_agent_that_runs_has_a_line_and_one_that_ended_has_none(tmp_path: Path) -> None:
    cast = Cast(child=[{"text": "x"}])
    hold = cast.hold("child")
    async with stage(tmp_path, cast) as on:
        await on.spawn("child")
        (line,) = running_lines(on.session.env)
        assert line.startswith("agent-1 · 0 calls, 0 tokens · ")
        hold.set()
        await on.all_ended()
        assert running_lines(on.session.env) == []
        ((_, name, state, *_),) = agent_rows(on.session.env)
        assert (name, state) == ("agent-1", "completed")
