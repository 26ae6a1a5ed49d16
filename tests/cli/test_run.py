"""`hilt run`: one prompt without a person, its formats, exit codes, signals, stored sessions."""

import json
import signal
import time

import pytest

from tests.cli.kit import Hilt

READ = {"name": "Read", "args": {"path": "a.txt"}, "id": "c1"}
WRITE = {"name": "Write", "args": {"path": "b.txt", "content": "x"}, "id": "c2"}


@pytest.mark.req("CLI-05", "CLI-13")
def test_text_prints_the_final_text_and_the_same_each_time(hilt: Hilt) -> None:
    model = hilt.script({"text": "Looking.", "calls": [READ]}, {"text": "It says hello.", "chunk": 2})
    (hilt.root / "a.txt").write_text("hello")
    runs = [hilt("run", "what?", "--model", model) for _ in range(2)]
    assert [(ran.code, ran.out, ran.err) for ran in runs] == [(0, "It says hello.\n", "")] * 2


@pytest.mark.req("CLI-06", "CLI-05", "CLI-42")
def test_json_prints_one_summary(hilt: Hilt) -> None:
    model = hilt.script(
        {"calls": [READ, WRITE], "usage": {"input": 5, "output": 2}},
        {"text": "done", "usage": {"input": 6, "output": 1}},
    )
    for form in (["--json"], ["--output", "json"]):
        summary = hilt("run", "x", "--model", model, "--tools", "files", *form).json
        assert summary.pop("session_id", "").startswith("ses_")  # type: ignore[attr-defined]  # it is a text
        denied = summary.pop("denied")
        assert summary == {
            "schema_version": 1,
            "stop_reason": "end_turn",
            "final_text": "done",
            "usage": {"input": 11, "output": 3, "cache_read": 0, "cache_write": 0},
            "tool_calls": 2,
            "error": None,
        }
        assert denied == [
            {
                "call_id": "c2",
                "tool": "Write",
                "reason": "Tool 'Write' is not allowed by policy: no approver was present",
            }
        ]


@pytest.mark.req("CLI-05", "CLI-42")
def test_stream_json_prints_one_event_a_line(hilt: Hilt) -> None:
    model = hilt.script({"text": "hi"})
    ran = hilt("run", "x", "--model", model, "--output", "stream-json")
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert [event["type"] for event in events] == ["run.start", "turn.start", "message.delta", "turn.end", "result"]
    assert [event["seq"] for event in events] == list(range(1, 6))


@pytest.mark.req("CLI-04")
def test_an_ask_is_denied_at_once_and_listed_unless_something_covers_it(hilt: Hilt) -> None:
    model = hilt.script({"calls": [WRITE]}, {"text": "done"})
    denied = hilt("run", "x", "--model", model, "--tools", "files")
    assert (denied.code, denied.out) == (0, "done\n")
    assert denied.err == "denied: Tool 'Write' is not allowed by policy: no approver was present\n"
    assert not (hilt.root / "b.txt").exists()
    for covered in (["--allow", "Write"], ["--mode", "accept-edits"]):
        ran = hilt("run", "x", "--model", model, "--tools", "files", *covered)
        assert ran.err == ""
        (hilt.root / "b.txt").unlink()


@pytest.mark.req("CLI-41", "CLI-40")
def test_denied_calls_leave_0_and_a_blocked_prompt_exits_4(hilt: Hilt) -> None:
    model = hilt.script({"calls": [WRITE]}, {"text": "done"})
    hilt.machine.user('hooks:\n  UserPromptSubmit:\n    - {name: guard, command: "echo no such prompts >&2; exit 2"}\n')
    ran = hilt("run", "x", "--model", model, "--json")
    assert (ran.code, ran.json["stop_reason"]) == (4, "blocked")
    assert ran.error["code"] == "blocked"


@pytest.mark.req("CLI-40")
def test_a_limit_exits_3_and_an_error_1(hilt: Hilt) -> None:
    (hilt.root / "a.txt").write_text("hello")
    loops = hilt.script(*[{"calls": [{**READ, "id": f"c{n}"}]} for n in range(3)])
    limited = hilt("run", "x", "--model", loops, "--max-turns", "2")
    assert (limited.code, limited.err) == (3, "hilt: the run ended: max_turns\n")
    ended = hilt("run", "x", "--model", hilt.script({"calls": [READ]}), "--json")
    assert (ended.code, ended.json["stop_reason"]) == (1, "error")
    assert "script.jsonl" in str(ended.json["error"])


@pytest.mark.req("CLI-40")
def test_a_required_server_that_is_down_exits_5(hilt: Hilt) -> None:
    hilt.machine.user('[[servers]]\nname = "a"\nurl = "http://127.0.0.1:9"\nrequired = true\n', "mcp.toml")
    ran = hilt("run", "x", "--model", hilt.script({"text": "x"}), "--json")
    assert (ran.code, ran.out, ran.error["code"]) == (5, "", "unreachable")
    assert "'a'" in ran.error["message"] or " a" in ran.error["message"]


@pytest.mark.req("CLI-62")
def test_a_wrong_script_is_an_error_with_file_line_and_key_and_nothing_starts(hilt: Hilt) -> None:
    hilt.machine.file("bad.jsonl", '{"text": "a"}\n{"txt": "b"}\n')
    ran = hilt("run", "x", "--model", "scripted:bad.jsonl")
    assert ran.code == 2
    assert ran.err.startswith("hilt: bad.jsonl:2: txt: unknown key; did you mean 'text'?")
    assert hilt("sessions", "list").out == "No sessions are stored.\n"


@pytest.mark.req("CLI-62")
def test_a_script_that_does_not_fit_ends_the_run_as_error(hilt: Hilt) -> None:
    ran = hilt("run", "x", "--model", hilt.script({"text": "a", "when": "never said"}), "--json")
    assert (ran.code, ran.json["stop_reason"]) == (1, "error")
    assert "never said" in str(ran.json["error"])


def test_the_prompt_comes_from_the_argument_a_file_or_standard_input(hilt: Hilt) -> None:
    hilt.machine.file("p.txt", "from a file")
    for args, stdin, said in [
        (["from an argument"], "", "from an argument"),
        (["-"], "from a pipe", "from a pipe"),
        ([], "from a pipe", "from a pipe"),
        (["--prompt-file", "p.txt"], "", "from a file"),
    ]:
        model = hilt.script({"text": "ok", "when": said})
        assert hilt("run", *args, "--model", model, stdin=stdin).out == "ok\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["x", "--prompt-file", "p.txt"], "either a prompt or --prompt-file"),
        (["--prompt-file", "none.txt"], "none.txt: cannot be read: No such file"),
        ([" "], "the prompt is empty"),
        (["x", "--json", "--output", "text"], "does not go with --output text"),
        (["x", "--output", "xml"], "'xml' is not one of"),
        (["x", "--session", "ses_none"], "no session 'ses_none'"),
    ],
)
def test_what_cannot_be_run_is_told_and_nothing_starts(hilt: Hilt, args: list[str], message: str) -> None:
    ran = hilt("run", *args, "--model", hilt.script({"text": "x"}))
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_a_prompt_file_that_is_no_text_is_told(hilt: Hilt) -> None:
    (hilt.root / "p.bin").write_bytes(b"\xff")
    assert hilt("run", "--prompt-file", "p.bin", "--model", "a/b").err == "hilt: p.bin: is not UTF-8 text\n"


def test_without_a_model_nothing_starts(hilt: Hilt) -> None:
    ran = hilt("run", "x")
    assert (ran.code, "no model was chosen" in ran.err) == (2, True)


@pytest.mark.req("CLI-07")
def test_a_stored_session_goes_on_with_another_model_and_mode(hilt: Hilt) -> None:
    first = hilt("run", "my name is Ada", "--json", "--model", hilt.script({"text": "hello Ada"})).json
    session = str(first["session_id"])
    shown = hilt("sessions", "show", session, "--json").json
    assert (shown["title"], shown["mode"]) == ("my name is Ada", "default")
    second = hilt.script({"text": "Ada"}, name="second.jsonl")
    ran = hilt("run", "who am I?", "--session", session, "--json", "--model", second, "--mode", "plan").json
    assert (ran["session_id"], ran["final_text"]) == (session, "Ada")
    shown = hilt("sessions", "show", session, "--json").json
    assert (shown["turns"], shown["mode"], shown["model"]) == (2, "plan", "scripted:second.jsonl")


@pytest.mark.req("CLI-08")
def test_files_read_is_on_when_nothing_is_said_and_none_enables_nothing(hilt: Hilt) -> None:
    def tools(*args: str) -> int:
        ran = hilt("run", "x", "--model", hilt.script({"text": "x"}), "--output", "stream-json", *args)
        return int(json.loads(ran.out.splitlines()[1])["tools"])

    assert (tools(), tools("--tools", "none")) == (5, 0)


def _started(hilt: Hilt, *args: str) -> str:
    """Wait until a run of this workspace has begun, and return its session."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        sessions = hilt("sessions", "list", "--json").json["sessions"]
        assert isinstance(sessions, list)
        if sessions and sessions[0]["state"] == "running":
            return str(sessions[0]["id"])
        time.sleep(0.05)
    raise AssertionError("the run did not begin")


@pytest.mark.req("CLI-40")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_cancels_the_run_and_the_summary_still_comes(hilt: Hilt, number: signal.Signals, code: int) -> None:
    model = hilt.script({"text": "never", "delay_ms": 60_000})
    with hilt.start("run", "x", "--model", model, "--json") as process:
        session = _started(hilt)
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == code
    summary = json.loads(out)
    assert (summary["session_id"], summary["stop_reason"]) == (session, "cancelled")
    assert hilt("sessions", "show", session, "--json").json["state"] == "closed"
