"""What the terminal shows: calls in one line each, questions, status lines, log lines."""

import io
import json
import logging
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from hilt.cli.approver import TerminalApprover, argument_lines
from hilt.cli.flags import Invocation
from hilt.cli.logs import LineHandler, MaskedFormatter
from hilt.cli.output import Paint, one_line, print_json, print_table
from hilt.cli.progress import Progress
from hilt.cli.summary import Summary, reason_of
from hilt.cli.tools import part_line
from hilt.cli.view import ChatView, brief, duration
from hilt.core.content import (
    AudioPart,
    EmbeddedResourcePart,
    ImagePart,
    Part,
    ResourceLinkPart,
    StructuredPart,
    TextPart,
)
from hilt.core.event import (
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
)
from hilt.core.redaction import Redactor
from hilt.core.session import StopReason
from hilt.core.tool import ToolResult
from hilt.ports.permission import Ask, Verdict
from tests.app.places import Machine

PLAIN = Paint(Invocation(color=False), {})


def _events(*bodies: EventBody) -> list[Event]:
    return [Event(seq=n, run="r", turn=1, time="", body=body) for n, body in enumerate(bodies, start=1)]


def _shown(*bodies: EventBody, live: bool = False) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        view = ChatView(PLAIN, live=live)
        for event in _events(*bodies):
            view.take(event)
        view.settle()
    return out.getvalue()


def test_calls_that_overlap_have_one_line_each_when_they_are_settled() -> None:
    bodies: Sequence[EventBody] = (
        ToolCallTaken(call_id="1", tool="Read", args='{"path": "a"}'),
        ToolCallTaken(call_id="2", tool="Grep", args='{"pattern": "x", "path": "b"}'),
        ToolStart(call_id="1", tool="Read"),
        ToolStart(call_id="2", tool="Grep"),
        ToolEnd(call_id="2", tool="Grep", duration_ms=1500),
        ToolSettled(call_id="2", tool="Grep", result=ToolResult.text("2", "x")),
        ToolEnd(call_id="1", tool="Read", duration_ms=20),
        ToolSettled(call_id="1", tool="Read", result=ToolResult.text("1", "x")),
    )
    assert _shown(*bodies).splitlines() == ["✓ Grep pattern=x path=b  1.5 s", "✓ Read a  20 ms"]


def test_a_terminal_shows_what_is_running_in_a_line_that_goes_away() -> None:
    shown = _shown(
        TurnStart(),
        ToolCallTaken(call_id="1", tool="Read", args="{}"),
        ToolStart(call_id="1", tool="Read"),
        ToolStart(call_id="unknown", tool="Read"),
        ToolProgress(call_id="1", done=1, total=4, text="half"),
        ToolProgress(call_id="1", done=2),
        ToolProgress(call_id="unknown", done=2),
        ToolSettled(call_id="1", tool="Read", result=ToolResult.text("1", "x")),
        live=True,
    )
    assert "running Read …" in shown
    assert "Read 1/4 half" in shown
    assert shown.endswith("\r\x1b[K✓ Read\n")


def test_text_ends_with_a_line_before_anything_else_comes() -> None:
    shown = _shown(
        MessageDelta(text="one"),
        MessageDelta(text=""),
        HookRan(hook="h", event="PreToolUse", outcome="failed", message="broke"),
        HookRan(hook="h", event="PreToolUse", outcome="allow"),
        Notice(topic="t", text="compacted\nnow"),
        TurnEnd(),
        MessageDelta(text="two\n"),
        RunResult(stop_reason=StopReason.MAX_TURNS),
    )
    assert shown.splitlines() == ["one", "  hook h: broke", "  compacted now", "two", "the run ended as max_turns"]


def test_a_result_of_a_call_that_was_not_seen_is_shown_too() -> None:
    error = ToolResult.error("9", "plain failure")
    assert _shown(ToolSettled(call_id="9", tool="Late", result=error)) == "✗ Late  failed: plain failure\n"


@pytest.mark.parametrize(
    ("args", "shown"),
    [("{", "{"), ("[1]", "[1]"), ('{"a": 1}', "1"), ('{"a": [1], "b": "x\\ny"}', "a=[1] b=x y"), ("{}", "")],
)
def test_arguments_are_shown_in_short(args: str, shown: str) -> None:
    assert brief(args) == shown


def test_times_lines_and_reasons_read_well() -> None:
    assert [duration(ms) for ms in (0.26, 9.94, 10, 999, 1000, 61_000)] == [
        "0.3 ms",
        "9.9 ms",
        "10 ms",
        "999 ms",
        "1.0 s",
        "61.0 s",
    ]
    assert one_line("a\x1b[31m b\n c", 20) == "a [31m b c"
    assert one_line("abcdef", 4) == "abc…"
    assert [reason_of(text) for text in ("plain", "[1]", '{"message": 3}', '{"message": "m"}')] == [
        "plain",
        "[1]",
        '{"message": 3}',
        "m",
    ]


def test_tables_and_documents_take_what_they_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([])
    print_table([("a", "long cell"), ("bb", "c")], ("X", "Y"))
    print_json({"mapping": Paint, "set": frozenset({1}), "tuple": (1, 2)})
    out = capsys.readouterr().out.splitlines()
    assert out[:3] == ["X   Y", "a   long cell", "bb  c"]
    assert json.loads(out[3])["set"] == [1]


def test_a_summary_without_a_result_says_so() -> None:
    summary = Summary(session_id="s")
    assert (summary.exit_code, summary.trouble) == (1, "the run ended without a result")
    assert summary.to_json()["stop_reason"] == "error"


class _Typed:
    """A person who types these lines and then leaves."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.prompts: list[str] = []
        self.dropped = 0

    def drop_typed_ahead(self) -> None:
        self.dropped += 1

    async def line(self, prompt: str) -> str | None:
        self.prompts.append(prompt)
        return self.lines.pop(0) if self.lines else None


async def _decided(ask: Ask, *typed: str) -> tuple[Verdict, _Typed]:
    reader = _Typed(*typed)
    approver = TerminalApprover(reader, PLAIN, interrupt=lambda: False)
    return await approver.decide(ask), reader


ASK = Ask(ask_id="1", session_id="s", call_id="c", tool="Write", reason="no rule allows it", rule="Write", child="kid")


async def test_a_question_takes_words_and_letters(capsys: pytest.CaptureFixture[str]) -> None:
    answers = {
        "o": Verdict(kind="allow_once"),
        "Yes": Verdict(kind="allow_once"),
        "always": Verdict(kind="allow_always"),
        "P": Verdict(kind="allow_always", persist=True),
        "n": Verdict(kind="deny"),
        "no not there": Verdict(kind="deny", message="not there"),
    }
    for typed, verdict in answers.items():
        assert (await _decided(ASK, "maybe", "o please", typed))[0] == verdict
    out = capsys.readouterr().out
    assert "? Write wants to run (for kid)\n" in out
    assert "asked because no rule allows it (rule Write)\n" in out


async def test_a_rule_is_kept_for_a_project_only_where_it_would_count() -> None:
    for keeps, verdict in ((False, Verdict(kind="allow_once")), (True, Verdict(kind="allow_always", persist=True))):
        reader = _Typed("p", "once")
        approver = TerminalApprover(reader, PLAIN, interrupt=lambda: False, keeps=keeps)
        assert await approver.decide(ASK) == verdict
        assert ("[p]roject" in reader.prompts[0]) is keeps
        assert "[a]lways" in reader.prompts[0]


@pytest.mark.req("PRM-53")
async def test_what_cannot_be_remembered_offers_once_and_no_alone() -> None:
    ask = Ask(ask_id="1", session_id="s", call_id="c", tool="shell", reason="x", rememberable=False)
    verdict, reader = await _decided(ask, "always", "p", "once")
    assert verdict == Verdict(kind="allow_once")
    assert reader.prompts[0] == "  [o]nce, [n]o (and why) > "


def test_arguments_of_a_question_are_named_and_cut() -> None:
    assert argument_lines('{"a": "x", "b": [1]}') == ["a: x", "b: [1]"]
    assert argument_lines('{"a": "x') == ['{"a": "x']
    assert argument_lines("[1]") == ["[1]"]
    many = json.dumps({f"k{n}": n for n in range(14)})
    assert argument_lines(many)[-1] == "… and 2 more"


class _Screen(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.req("CLI-46")
def test_progress_is_one_line_on_a_terminal_that_goes_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine.below(tmp_path)
    machine.user('[[servers]]\nname = "a"\nurl = "https://a.example"\n', "mcp.toml")
    screen = _Screen()
    monkeypatch.setattr("sys.stderr", screen)
    config = machine.load()
    progress = Progress(Invocation(), config)
    progress.connecting(config)
    for event in _events(
        TurnStart(),
        ToolCallTaken(call_id="1", tool="Read", args="{}"),
        ToolStart(call_id="1", tool="Read"),
        ToolSettled(call_id="1", tool="Read", result=ToolResult.text("1", "")),
        TurnEnd(),
    ):
        progress.take(event)
    progress.done()
    progress.done()
    text = screen.getvalue()
    assert "connecting 1 MCP server …" in text
    assert text.count("\r\x1b[K") == 6
    assert text.endswith("\r\x1b[K")
    quiet = Progress(Invocation(quiet=True), config)
    quiet.show("never")
    assert "never" not in screen.getvalue()


def test_a_log_line_takes_the_place_of_the_progress_and_is_masked() -> None:
    screen = _Screen()
    handler = LineHandler(screen)
    handler.setFormatter(MaskedFormatter(Redactor(["hunter2-hunter2"]), as_json=False))
    record = logging.LogRecord("hilt.x", logging.WARNING, "", 0, "got %s", ("hunter2-hunter2",), None)
    handler.emit(record)
    assert screen.getvalue() == "\r\x1b[KWARNING hilt.x: got [masked]\n"


def test_parts_that_no_text_shows_have_a_line() -> None:
    parts: list[Part] = [
        TextPart(text="x"),
        StructuredPart(value=1),
        ImagePart(data="QUJD", mime_type="image/png"),
        AudioPart(data="QUI=", mime_type="audio/wav"),
        ResourceLinkPart(uri="file:///a"),
        EmbeddedResourcePart(uri="file:///b", text="t"),
        EmbeddedResourcePart(uri="file:///c", blob="QUJD"),
    ]
    assert [part_line(part) for part in parts] == [
        "",
        "",
        "[image image/png, 3 bytes]",
        "[audio audio/wav, 2 bytes]",
        "[link file:///a]",
        "",
        "[resource file:///c, 3 bytes]",
    ]
