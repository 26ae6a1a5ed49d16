"""`hilt doctor`: everything that is wrong, with the line to fix, and nothing changed."""

import sys
from pathlib import Path

import pytest

from tests.cli.kit import Hilt


def _checks(hilt: Hilt, *args: str) -> list[tuple[str, str, str, str]]:
    checks = hilt("doctor", "--json", *args).json["checks"]
    assert isinstance(checks, list)
    return [(one["subject"], one["state"], one["message"], one["place"]) for one in checks]


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.req("CLI-12")
def test_a_machine_without_fault_is_told_so_and_nothing_is_changed(hilt: Hilt) -> None:
    model = hilt.script({"text": "x"})
    before = _files(hilt.machine.home.parent)
    ran = hilt("doctor", "--model", model)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "Nothing wrong.")
    assert f"✓ model: {model} can be used" in ran.out
    assert _files(hilt.machine.home.parent) == before


@pytest.mark.req("CLI-12")
def test_settings_that_do_not_load_are_told_with_their_line(hilt: Hilt) -> None:
    hilt.machine.user("mode: x")
    ran = hilt("doctor")
    assert ran.code == 1
    assert ran.out.startswith("✗ settings: ~/.config/hilt/settings.yaml:1: mode: expected one of")
    assert ran.out.endswith("1 thing to fix.\n")


@pytest.mark.req("CLI-12")
def test_each_fault_is_found_with_its_place(hilt: Hilt) -> None:
    hilt.machine.user(
        "model: scripted:none.jsonl\n"
        "permissions: {deny: [Nope]}\n"
        "hooks:\n"
        "  Stop:\n"
        "    - {name: web, url: 'https://a.example', headers: {A: '${NOWHERE}'}}\n"
        "    - {name: script, command: ./none.sh}\n"
        "    - {name: fine, command: 'true'}\n"
        "sessions: {store: 'jsonl:a-file'}\n"
    )
    hilt.machine.file("a-file", "")
    hilt.machine.user(
        '[[servers]]\nname = "down"\ncommand = "no-such-command-here"\nrequired = true\n'
        '[[servers]]\nname = "novar"\nurl = "https://x.example/${NOWHERE}"\n'
        '[[servers]]\nname = "off"\nurl = "https://x.example"\nenabled = false\n',
        "mcp.toml",
    )
    hilt.machine.project_servers('[[servers]]\nname = "theirs"\nurl = "https://t.example"\n')
    settings, servers = "~/.config/hilt/settings.yaml", "~/.config/hilt/mcp.toml"
    wrong = {(subject, place): message for subject, state, message, place in _checks(hilt) if state == "wrong"}
    assert "none.jsonl" in wrong["model", f"{settings}:1"]
    assert "'Nope'" in wrong["rules", f"{settings}:2"]
    assert "NOWHERE" in wrong["hooks", f"{settings}:5"]
    assert "./none.sh" in wrong["hooks", f"{settings}:6"]
    assert "cannot be stored" in wrong["store", f"{settings}:8"]
    mcp = [(state, message, place) for subject, state, message, place in _checks(hilt) if subject == "mcp"]
    assert [(state, message.split()[0], place) for state, message, place in mcp] == [
        ("note", "theirs", ".hilt/mcp.toml"),
        ("wrong", "down", servers),
        ("wrong", "novar", servers),
        ("note", "off", servers),
    ] or [(state, message.split()[0], place) for state, message, place in mcp] == [
        ("wrong", "down", servers),
        ("wrong", "novar", servers),
        ("note", "off", servers),
        ("note", "theirs", ".hilt/mcp.toml"),
    ]


@pytest.mark.req("CLI-12")
def test_a_stored_session_that_cannot_be_read_is_found_and_left_as_it_is(hilt: Hilt) -> None:
    assert ("sessions", "ok") in [(subject, state) for subject, state, _, _ in _checks(hilt)]
    model = hilt.script({"text": "one"})
    for prompt in ("a", "b", "c"):
        assert hilt("run", prompt, "--model", model, "--store", "jsonl:kept").code == 0
    damaged, foreign, _ = sorted((hilt.root / "kept").rglob("*.session.json"))
    damaged.write_text("{half")
    foreign.rename(foreign.with_name("other.session.json"))
    wrong = [
        (subject, message) for subject, state, message, _ in _checks(hilt, "--store", "jsonl:kept") if state == "wrong"
    ]
    assert [subject for subject, _ in wrong] == ["sessions", "sessions"]
    told = "\n".join(message for _, message in wrong)
    assert f"{damaged.name} cannot be read" in told
    assert "other.session.json has the id of another" in told
    assert damaged.read_text() == "{half"


def test_a_category_that_is_unknown_is_found(hilt: Hilt) -> None:
    found = [(subject, state) for subject, state, _, _ in _checks(hilt, "--tools", "flies")]
    assert ("application", "wrong") in found


def test_a_model_whose_key_is_missing_is_found(hilt: Hilt) -> None:
    found = {subject: (state, message) for subject, state, message, _ in _checks(hilt, "--model", "anthropic/x")}
    assert found["model"][0] == "wrong"
    assert "ANTHROPIC_API_KEY" in found["model"][1]


@pytest.mark.req("CLI-12")
def test_a_server_that_answers_is_told_with_its_tools(hilt: Hilt) -> None:
    assert hilt("mcp", "add", "time", "--", sys.executable, "-m", "mcp_server_time").code == 0
    found = [(state, message) for subject, state, message, _ in _checks(hilt) if subject == "mcp"]
    assert [(state, message.split(",")[0]) for state, message in found] == [("ok", "time: 2 tools")]
    assert "mcp__time__get_current_time" in hilt("tools", "list").out


def test_a_workspace_that_cannot_be_written_is_found(hilt: Hilt, monkeypatch: pytest.MonkeyPatch) -> None:
    def access(path: object, mode: int) -> bool:
        return str(path) != str(hilt.root)

    monkeypatch.setattr("hilt.app.doctor.os.access", access)
    found = [(subject, state) for subject, state, _, _ in _checks(hilt)]
    assert ("workspace", "wrong") in found


def test_a_model_whose_library_is_not_installed_is_found(hilt: Hilt, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(_: str) -> None:
        return None

    monkeypatch.setattr("hilt.app.doctor.importlib.util.find_spec", find_spec)
    found = {
        subject: message for subject, state, message, _ in _checks(hilt, "--model", "openai/x") if state == "wrong"
    }
    assert found["model"] == "openai/x needs an extra: pip install 'hilt[models]'"
