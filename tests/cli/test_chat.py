"""`hilt chat`: streamed text, one line a call, clear questions, `/` commands, Ctrl-C and Ctrl-D."""

import json
import re
import signal
from collections.abc import Iterator

import pexpect
import pytest

from tests.cli.kit import Hilt, command

READ = {"name": "Read", "args": {"path": "a.txt"}, "id": "c1"}
WRITE = {"name": "Write", "args": {"path": "b.txt", "content": "x"}, "id": "c2"}


class Terminal:
    """The real command at a terminal of its own."""

    def __init__(self, hilt: Hilt, *args: str) -> None:
        words = command(["chat", *args])
        self.child = pexpect.spawn(
            words[0],
            words[1:],
            cwd=str(hilt.root),
            env={**hilt.variables(), "TERM": "xterm"},
            timeout=30,
            encoding="utf-8",
            dimensions=(40, 120),
        )

    def sees(self, *texts: str) -> None:
        """Wait for texts, one after the other."""
        for text in texts:
            self.child.expect_exact(text)

    def says(self, line: str) -> None:
        """Type a line."""
        self.child.sendline(line)

    def ends(self) -> int | None:
        """Wait for the end and return the exit code."""
        self.child.expect(pexpect.EOF)
        self.child.close()
        status: int | None = self.child.exitstatus
        return status


@pytest.fixture
def terminals(hilt: Hilt) -> Iterator[list[Terminal]]:
    """Collect terminals, and close what a failed test left open."""
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.child.close(force=True)


def _plain(text: str) -> list[str]:
    return re.sub(r"\d+(\.\d+)? m?s", "TIME", text).splitlines()


def test_text_streams_and_each_call_is_one_line_with_state_and_time(hilt: Hilt) -> None:
    (hilt.root / "a.txt").write_text("hello")
    missing = {"name": "Read", "args": {"path": "none.txt"}, "id": "c3"}
    model = hilt.script({"text": "Let me look.", "calls": [READ, missing]}, {"text": "It says\nhello.", "chunk": 1})
    ran = hilt.really("chat", "--model", model, stdin="what does it say?\n")
    assert (ran.code, ran.err) == (0, "")
    lines = _plain(ran.out)
    assert lines[0] == f"hilt 0.1.0 · {model} · mode default · 5 tools · /help"
    assert lines[1:3] == ["Let me look.", "✓ Read a.txt  TIME"]
    assert lines[3].startswith("✗ Read none.txt  TIME  failed: ")
    assert lines[4:] == ["It says", "hello."]


def test_an_ask_says_what_and_why_and_takes_once_always_or_no(hilt: Hilt) -> None:
    hilt.machine.shared("permissions: {ask: ['Write(b*)']}")
    model = hilt.script({"calls": [WRITE]}, {"text": "one"}, {"calls": [{**WRITE, "id": "c4"}]}, {"text": "two"})
    flags = ("--model", model, "--tools", "files")
    ran = hilt.really("chat", *flags, stdin="go\nwhat?\nno use c.txt\ngo\no\n")
    lines = _plain(ran.out)
    assert lines[1:5] == [
        "? Write wants to run",
        "    path: b.txt",
        "    content: x",
        "  asked because the rule 'Write(b*)' (SharedProject) asks",
    ]
    assert "  please answer with one of the letters" in lines
    assert "use c.txt" in ran.out
    assert [line for line in lines if line.startswith(("✓", "⊘"))][1] == "✓ Write path=b.txt content=x  TIME"
    assert (hilt.root / "b.txt").read_text() == "x"


@pytest.mark.req("PRM-52")
def test_always_holds_for_the_session_and_project_keeps_it(hilt: Hilt) -> None:
    calls = [{"calls": [{**WRITE, "id": f"c{n}", "args": {"path": "b.txt", "content": ""}}]} for n in (1, 2)]
    model = hilt.script(calls[0], {"text": "one"}, calls[1], {"text": "two"})
    hilt.machine.local("# mine\n")
    untrusted = hilt.really("chat", "--model", model, "--tools", "files", stdin="go\np\nn\n")
    assert "[p]roject" not in untrusted.out
    assert "please answer with one of the letters" in untrusted.out
    asked = hilt.really("chat", "--model", model, "--tools", "files", "--trust-project", stdin="go\np\ngo\n")
    assert asked.out.count("wants to run") == 1
    text = (hilt.root / ".hilt" / "settings.local.yaml").read_text()
    assert text.startswith('# mine\npermissions:\n  allow:\n    - "Write(')
    again = hilt.really("chat", "--model", model, "--tools", "files", "--trust-project", stdin="go\ngo\n")
    assert "wants to run" not in again.out


def test_the_end_of_input_answers_no(hilt: Hilt) -> None:
    model = hilt.script({"calls": [WRITE]}, {"text": "done"})
    ran = hilt.really("chat", "--model", model, "--tools", "files", stdin="go\n")
    assert (ran.code, "the user left without an answer" in ran.out) == (0, True)
    assert not (hilt.root / "b.txt").exists()


def test_input_may_be_a_file_whose_last_line_has_no_end(hilt: Hilt) -> None:
    model = hilt.script({"text": "one"}, {"text": "two"})
    hilt.machine.file("typed.txt", "a\r\nb")
    with (hilt.root / "typed.txt").open() as typed, hilt.start("chat", "--model", model, stdin=typed.fileno()) as chat:
        out, _ = chat.communicate(timeout=50)
    assert out.splitlines()[1:] == ["one", "two"]


def test_commands_with_a_slash_look_at_the_session(hilt: Hilt) -> None:
    (hilt.root / "a.txt").write_text("hello")
    model = hilt.script({"calls": [READ]}, {"text": "done", "usage": {"input": 3, "output": 4}})
    typed = [
        "/calls",
        "go",
        "/calls",
        "/mode plan",
        "/mode",
        "/mode nope",
        "/tools",
        "/session",
        "/hlp",
        "/help",
        "/quit",
    ]
    ran = hilt.really("chat", "--model", model, stdin="\n".join(typed) + "\nnever read\n")
    lines = _plain(ran.out)
    assert ran.code == 0
    assert lines[1] == "no calls so far"
    assert "Read  done   TIME  a.txt" in lines
    assert "mode plan" in lines
    assert "mode plan (others: default, accept-edits, auto)" in lines
    assert "unknown mode 'nope'; known are accept-edits, auto, default, plan" in lines
    assert any(line.startswith("Read        Return") for line in lines)
    assert any(re.fullmatch(r"ses_\w+: 2 turns, 1 calls, 7 tokens", line) for line in lines)
    assert "no command /hlp; did you mean 'help'?; /help lists them" in lines
    assert "/mode     show the permission mode, or change it: /mode plan" in lines
    assert "never read" not in ran.out


def test_jobs_and_tasks_are_listed(hilt: Hilt) -> None:
    start = {"name": "shell", "args": {"command": "exec sleep 300", "background": True}, "id": "c1"}
    task = {"name": "task_create", "args": {"subject": "Paint the boards", "owner": "ann"}, "id": "c2"}
    model = hilt.script({"calls": [start, task]}, {"text": "done"})
    typed = "/jobs\n/tasks\ngo\no\n/jobs\n/tasks\n"
    ran = hilt.really("chat", "--model", model, "--tools", "shell,tasks", stdin=typed)
    lines = _plain(ran.out)
    assert (ran.code, ran.err) == (0, "")
    assert lines[1:3] == ["no background jobs", "no tasks"]
    assert any(re.fullmatch(r"[0-9a-f]{32}  running  TIME +exec sleep 300", line) for line in lines), lines
    assert any(re.fullmatch(r"[0-9a-f]{32}  pending  medium    ann    Paint the boards", line) for line in lines)


def test_child_agents_are_listed(hilt: Hilt) -> None:
    hilt.machine.file("child.jsonl", json.dumps({"text": "counted"}) + "\n")
    args = {"prompt": "Count.", "description": "Count the files", "model": "scripted:child.jsonl"}
    model = hilt.script({"calls": [{"name": "Subagent", "args": args, "id": "c1"}]}, {"text": "done"})
    ran = hilt.really("chat", "--model", model, "--tools", "delegation", stdin="/agents\ngo\n/agents\n")
    lines = _plain(ran.out)
    assert (ran.code, ran.err) == (0, "")
    assert lines[1] == "no child agents"
    row = r"agent_[0-9a-f]{32}  agent-1  completed  TIME +0 +[\d,]+ +Count the files"
    assert any(re.fullmatch(row, line) for line in lines), lines


def test_a_list_of_tasks_that_cannot_be_read_is_told(hilt: Hilt) -> None:
    hilt.machine.file(".hilt/tasks.json", "{")
    ran = hilt.really("chat", "--model", hilt.script({"text": "x"}), stdin="/jobs\n/tasks\n")
    assert ran.code == 0
    assert "no background jobs" in ran.out
    assert ".hilt/tasks.json is damaged (it is no JSON)" in ran.out


def test_what_was_typed_before_a_question_is_no_answer_to_it(hilt: Hilt, terminals: list[Terminal]) -> None:
    calls = {"calls": [WRITE], "delay_ms": 1500}
    terminal = Terminal(hilt, "--model", hilt.script(calls, {"text": "the end"}), "--tools", "files")
    terminals.append(terminal)
    terminal.sees("> ")
    terminal.says("go")
    terminal.sees("thinking")
    terminal.says("a")
    terminal.sees("wants to run", "[o]nce")
    assert terminal.child.expect_exact(["the end", pexpect.TIMEOUT], timeout=1) == 1
    assert not (hilt.root / "b.txt").exists()
    terminal.says("o")
    terminal.sees("the end")
    assert (hilt.root / "b.txt").exists()
    terminal.says("/quit")
    assert terminal.ends() == 0


def test_a_run_that_ends_badly_is_told_and_the_chat_goes_on(hilt: Hilt) -> None:
    model = hilt.script({"text": "one"}, {"error": {"status": 400, "message": "bad request"}}, {"text": "two"})
    ran = hilt.really("chat", "--model", model, stdin="a\nb\nc\n")
    lines = _plain(ran.out)
    assert lines[1] == "one"
    assert lines[2].startswith("the run ended as error: ")
    assert lines[3] == "two"


@pytest.mark.req("CLI-09")
def test_chat_takes_no_server_flag_and_uses_the_users_profiles(hilt: Hilt) -> None:
    ran = hilt("chat", "--mcp-server", "a=https://a.example")
    assert (ran.code, "No such option" in ran.err) == (2, True)
    hilt.machine.user("mcp: {servers: [{name: prof, url: 'http://127.0.0.1:9'}]}\n")
    really = hilt.really("chat", "--model", hilt.script({"text": "x"}), stdin="/quit\n")
    assert (really.code, "server=prof" in really.err) == (0, True)


def test_chat_is_for_people_and_needs_a_model(hilt: Hilt) -> None:
    assert hilt("chat", "--json").code == 2
    assert "no model was chosen" in hilt("chat").err


def test_at_a_terminal_ctrl_c_cancels_the_run_and_ctrl_d_leaves(hilt: Hilt, terminals: list[Terminal]) -> None:
    model = hilt.script({"text": "slow", "delay_ms": 60_000}, {"text": "quick"})
    terminal = Terminal(hilt, "--model", model)
    terminals.append(terminal)
    terminal.sees("/help", "> ")
    terminal.says("go")
    terminal.sees("thinking")
    terminal.child.sendintr()
    terminal.sees("cancelled", "> ")
    terminal.child.sendintr()
    terminal.sees("Ctrl-D or /quit leaves", "> ")
    terminal.says("/session")
    terminal.sees("go on with: hilt run --session", "> ")
    terminal.child.sendeof()
    assert terminal.ends() == 0


def test_at_a_terminal_a_question_is_answered_and_ctrl_c_at_it_cancels(hilt: Hilt, terminals: list[Terminal]) -> None:
    again = {**WRITE, "id": "c5", "args": {"path": "c.txt", "content": ""}}
    model = hilt.script({"calls": [WRITE]}, {"text": "fine"}, {"calls": [again]})
    terminal = Terminal(hilt, "--model", model, "--tools", "files")
    terminals.append(terminal)
    terminal.sees("/help", "> ")
    terminal.says("go")
    terminal.sees("wants to run", "path: b.txt", "asked because", "[o]nce")
    terminal.says("o")
    terminal.sees("Write", "fine", "> ")
    terminal.says("go")
    terminal.sees("path: c.txt", "[o]nce")
    terminal.child.sendintr()
    terminal.sees("cancelled", "> ")
    terminal.says("/quit")
    assert terminal.ends() == 0
    assert ((hilt.root / "b.txt").exists(), (hilt.root / "c.txt").exists()) == (True, False)


@pytest.mark.req("PRM-27")
def test_at_a_terminal_a_child_agent_that_works_in_the_background_asks_between_prompts(
    hilt: Hilt, terminals: list[Terminal]
) -> None:
    spawn = {"name": "agent_spawn", "args": {"prompt": "write"}, "id": "c9"}
    again = {**WRITE, "id": "c5", "args": {"path": "c.txt", "content": ""}}
    model = hilt.script(
        {"calls": [spawn]},
        {"calls": [WRITE], "delay_ms": 1500},
        {"text": "started"},
        {"calls": [again], "delay_ms": 1500},
        {"text": "no more"},
    )
    terminal = Terminal(hilt, "--model", model, "--tools", "files,agents", "--allow", "agent_spawn")
    terminals.append(terminal)
    terminal.sees("/help", "> ")
    terminal.says("go")
    terminal.sees("started", "> ", "agent-1 asks whether it may use Write; press Enter to answer")
    terminal.says("")
    terminal.sees("wants to run", "(for agent-1)", "path: b.txt", "[o]nce")
    terminal.says("o")
    terminal.sees("agent-1 asks whether it may use Write")
    terminal.says("")
    terminal.sees("path: c.txt", "[o]nce")
    terminal.child.sendintr()
    terminal.sees("ended: completed")
    terminal.says("/quit")
    assert terminal.ends() == 0
    assert ((hilt.root / "b.txt").exists(), (hilt.root / "c.txt").exists()) == (True, False)


@pytest.mark.req("CLI-40")
def test_sigterm_ends_the_chat_with_143(hilt: Hilt, terminals: list[Terminal]) -> None:
    terminal = Terminal(hilt, "--model", hilt.script({"text": "x"}))
    terminals.append(terminal)
    terminal.sees("/help", "> ")
    terminal.child.kill(signal.SIGTERM)
    assert terminal.ends() == 143


@pytest.mark.req("CLI-46")
@pytest.mark.parametrize("off", [["--no-color"], []])
def test_colour_can_be_turned_off_at_a_terminal(hilt: Hilt, off: list[str]) -> None:
    words = command(["config", "show", "--changed", *off])
    env = {**hilt.variables(), **({} if off else {"NO_COLOR": "1"})}
    out, status = pexpect.run(
        " ".join(words), cwd=str(hilt.root), env=env, withexitstatus=True, encoding="utf-8", timeout=30
    )
    assert (status, "\x1b[" in out) == (0, False)
    coloured = pexpect.run(
        " ".join(command(["config", "show", "--changed"])),
        cwd=str(hilt.root),
        env=hilt.variables(),
        encoding="utf-8",
        timeout=30,
    )
    assert "\x1b[" in coloured
