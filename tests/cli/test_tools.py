"""`hilt tools`: the catalog, and one call through the whole funnel."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pexpect
import pytest

from tests.cli.kit import Hilt, command


def test_list_shows_what_a_session_would_see(hilt: Hilt) -> None:
    names = [tool["name"] for tool in _listed(hilt)]
    assert names == ["Glob", "Grep", "ListDir", "Read", "ReadResult"]
    assert "Write" in [tool["name"] for tool in _listed(hilt, "--tools", "files")]
    assert "Write" not in [tool["name"] for tool in _listed(hilt, "--tools", "files", "--mode", "plan")]
    hilt.machine.user("tools: {deny: [Gr*]}")
    assert "Grep" not in [tool["name"] for tool in _listed(hilt)]
    assert hilt("tools", "list").out.splitlines()[1].startswith("Glob        reads  builtin")


def _listed(hilt: Hilt, *args: str) -> list[dict[str, object]]:
    tools = hilt("tools", "list", "--json", *args).json["tools"]
    assert isinstance(tools, list)
    return tools


@pytest.mark.req("CLI-08")
def test_none_enables_nothing(hilt: Hilt) -> None:
    assert hilt("tools", "list", "--tools", "none").out.startswith("No tools.")
    ran = hilt("tools", "list", "--tools", "flies")
    assert (ran.code, "'flies'" in ran.err) == (2, True)


def test_show_prints_the_spec(hilt: Hilt) -> None:
    shown = hilt("tools", "show", "Read", "--json").json
    assert (shown["name"], shown["read_only"], shown["family"]) == ("Read", True, "core")
    assert isinstance(shown["schema"], dict)
    assert "path" in shown["schema"]["properties"]
    assert hilt("tools", "show", "Read").out.startswith("Read (reads, builtin)\n\n")
    ran = hilt("tools", "show", "Raed")
    assert (ran.code, "did you mean 'Read'?" in ran.err) == (2, True)


@pytest.mark.req("CLI-11")
def test_a_call_passes_rules_hooks_and_limits(hilt: Hilt) -> None:
    (hilt.root / "a.txt").write_text("hello\n")
    read = ["tools", "call", "Read", '{"path": "a.txt"}']
    assert hilt(*read).out == "     1\thello\n"
    denied = hilt(*read, "--deny", "Read(a.*)", "--json")
    assert (denied.code, denied.json["code"]) == (4, "access_denied")
    hilt.machine.user("hooks: {PreToolUse: [{name: no, match: [Read], command: 'echo closed >&2; exit 2'}]}")
    hooked = hilt(*read, "--json")
    assert (hooked.code, "closed" in str(hooked.json["content"])) == (4, True)


@pytest.mark.req("CLI-40", "CLI-11")
def test_a_call_that_fails_exits_1_and_an_unknown_tool_2(hilt: Hilt) -> None:
    missing = hilt("tools", "call", "Read", '{"path": "none"}')
    assert (missing.code, missing.out, "does not exist" in missing.err) == (1, "", True)
    assert hilt("tools", "call", "Read", "{}").code == 1
    ran = hilt("tools", "call", "Raed")
    assert (ran.code, "did you mean 'Read'?" in ran.err) == (2, True)


@pytest.mark.req("CLI-11")
def test_without_a_terminal_what_would_be_asked_is_denied(hilt: Hilt) -> None:
    write = ["tools", "call", "Write", '{"path": "b", "content": "x"}', "--tools", "files"]
    assert (hilt(*write).code, (hilt.root / "b").exists()) == (4, False)
    assert (hilt(*write, "--allow", "Write").code, (hilt.root / "b").read_text()) == (0, "x")


@pytest.mark.req("CLI-11", "BLT-21")
def test_a_stored_session_has_its_read_ledger_with_it(hilt: Hilt) -> None:
    (hilt.root / "a.txt").write_text("old\n")
    flags = ("--tools", "files", "--mode", "accept-edits")
    session = str(hilt("run", "x", "--json", "--model", hilt.script({"text": "x"})).json["session_id"])
    edit = ["tools", "call", "Edit", '{"path": "a.txt", "old_string": "old", "new_string": "new"}', *flags]
    without = hilt(*edit)
    assert (without.code, "read" in without.err) == (1, True)
    assert hilt("tools", "call", "Read", '{"path": "a.txt"}', *flags, "--session", session).code == 0
    done = hilt(*edit, "--session", session)
    assert (done.code, done.err, (hilt.root / "a.txt").read_text()) == (0, "", "new\n")
    assert hilt(*edit[:4], "--session", "ses_none").code == 2


def test_arguments_come_from_a_file_or_standard_input_too(hilt: Hilt) -> None:
    (hilt.root / "a.txt").write_text("hello\n")
    name = hilt.machine.file("args.json", '{"path": "a.txt"}')
    assert hilt("tools", "call", "Read", f"@{name}").code == 0
    assert hilt("tools", "call", "Read", "-", stdin='{"path": "a.txt"}').code == 0
    ran = hilt("tools", "call", "Read", "@none.json")
    assert (ran.code, ran.err) == (2, "hilt: none.json: cannot be read: No such file or directory\n")


def test_parts_that_text_does_not_show_are_told(hilt: Hilt) -> None:
    png = bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000154a24f5d0000000049454e44ae426082"
    )
    (hilt.root / "a.png").write_bytes(png)
    assert f"[image image/png, {len(png)} bytes]" in hilt("tools", "call", "Read", '{"path": "a.png"}').out


@pytest.mark.req("CLI-11")
def test_at_a_terminal_the_person_is_asked(hilt: Hilt) -> None:
    args = command(["tools", "call", "Write", '{"path": "b", "content": "x"}', "--tools", "files"])
    child = pexpect.spawn(args[0], args[1:], cwd=str(hilt.root), env=hilt.variables(), timeout=30, encoding="utf-8")
    child.expect("wants to run")
    child.expect("path: b")
    child.expect("asked because")
    child.sendline("o")
    child.expect(pexpect.EOF)
    child.close()
    assert (child.exitstatus, (hilt.root / "b").read_text()) == (0, "x")


@pytest.mark.req("CLI-25")
def test_the_workspace_is_where_the_files_are(hilt: Hilt, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("elsewhere\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.txt").write_text("further\n")
    call = ["tools", "call", "Read", '{"path": "a.txt"}']
    assert hilt(*call).code == 1
    assert "elsewhere" in hilt(*call, "--workspace", "../other").out
    assert "elsewhere" in hilt(*call, env={"HILT_WORKSPACE": str(tmp_path / "other")}).out
    further = ["tools", "call", "Read", f'{{"path": "{tmp_path}/more/b.txt"}}']
    assert (hilt(*further).code, hilt(*further, "--add-dir", "../more").code) == (4, 0)


class Listener(BaseHTTPRequestHandler):
    """Notes what it is sent and refuses everything."""

    def do_POST(self) -> None:
        """Note the request."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.path, self.headers.get("Authorization")))  # type: ignore[attr-defined]  # a list that the fixture gives it
        self.send_response(400)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_DELETE = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def listener() -> Iterator[ThreadingHTTPServer]:
    """Listen on a port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    server.daemon_threads = True
    server.seen = []  # type: ignore[attr-defined]  # what the handler notes
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.req("CLI-60", "CLI-20", "CLI-55")
@pytest.mark.parametrize("words", [["tools", "list"], ["run", "x"]])
def test_servers_of_flags_add_up_and_each_gets_its_own_token(
    hilt: Hilt, listener: ThreadingHTTPServer, words: list[str]
) -> None:
    url = f"http://127.0.0.1:{listener.server_port}"
    model = hilt.script({"text": "done"})
    hilt.machine.user(f'[[servers]]\nname = "novar"\nurl = "{url}/${{NOWHERE}}"\n', "mcp.toml")
    flags = ["--mcp-server", f"git-hub={url}/one", "--mcp-server", f"other={url}/two"]
    ran = hilt(*words, *flags, "--model", model, env={"MCP_GIT_HUB_TOKEN": "hunter2-hunter2"})
    assert ran.code == 0
    seen = set(listener.seen)  # type: ignore[attr-defined]  # the list that the handler fills
    assert seen == {("/one", "Bearer hunter2-hunter2"), ("/two", None)}
    assert "hunter2" not in ran.err
    assert [name for name in ("git-hub", "other", "NOWHERE") if name not in ran.err] == []
