"""`hilt sessions`: stored sessions are listed, shown and deleted."""

import json

import pytest

from tests.cli.kit import Hilt


def _run(hilt: Hilt, prompt: str = "x", *args: str) -> str:
    calls = [{"name": "Read", "args": {"path": "none"}, "id": "c1"}]
    model = hilt.script({"calls": calls}, {"text": "done"})
    return str(hilt("run", prompt, "--json", "--model", model, *args).json["session_id"])


def test_list_pages_by_time_of_creation(hilt: Hilt) -> None:
    assert hilt("sessions", "list").out == "No sessions are stored.\n"
    ids = [_run(hilt, f"prompt {number}") for number in range(3)]
    first = hilt("sessions", "list", "--limit", "2", "--json").json
    assert isinstance(first["sessions"], list)
    assert [one["id"] for one in first["sessions"]] == ids[:2]
    rest = hilt("sessions", "list", "--cursor", str(first["next"]), "--json").json
    assert isinstance(rest["sessions"], list)
    assert ([one["id"] for one in rest["sessions"]], rest["next"]) == (ids[2:], "")
    told = hilt("sessions", "list", "--limit", "2").out
    assert "More: --cursor " in told
    assert "prompt 1" in told
    assert hilt("sessions", "list", "--cursor", "nonsense").code == 2


def test_show_and_calls_tell_a_session(hilt: Hilt) -> None:
    session = _run(hilt)
    shown = hilt("sessions", "show", session, "--json").json
    assert (shown["state"], shown["turns"], shown["tool_calls"], shown["pending_ask"]) == ("closed", 2, 1, None)
    assert "tool_calls   1" in hilt("sessions", "show", session).out
    (record,) = map(json.loads, hilt("sessions", "calls", session, "--json").out.splitlines())
    assert (record["tool"], record["code"]) == ("Read", "execution_failed")
    assert "Read  allow" in hilt("sessions", "calls", session).out
    silent = str(hilt("run", "x", "--json", "--model", hilt.script({"text": "x"})).json["session_id"])
    assert hilt("sessions", "calls", silent).out == "No calls.\n"


def test_delete_removes_a_session_and_its_files(hilt: Hilt) -> None:
    session = _run(hilt)
    assert hilt("sessions", "delete", session, "--json").json == {"deleted": session}
    stored = hilt.machine.home / ".local" / "state" / "hilt" / "sessions" / "sid-v1"
    assert [path.name for path in stored.iterdir() if path.suffix in (".json", ".jsonl")] == []
    assert hilt("sessions", "delete", _run(hilt)).out.startswith("Deleted ses_")


@pytest.mark.parametrize("name", ["show", "calls", "delete"])
def test_an_unknown_session_is_an_error_that_names_it(hilt: Hilt, name: str) -> None:
    ran = hilt("sessions", name, "ses_none")
    message = "hilt: no session 'ses_none'; `hilt sessions list` shows the stored ones\n"
    assert (ran.code, ran.err) == (2, message)
    assert hilt("sessions", name, "ses_none", "--json").error["code"] == "not_found"


def test_a_store_that_cannot_be_used_is_a_fault_of_the_settings(hilt: Hilt) -> None:
    hilt.machine.file("a-file", "")
    ran = hilt("run", "x", "--model", "scripted:none.jsonl", "--store", "jsonl:a-file")
    assert ran.code == 2
    assert "sessions cannot be stored in 'jsonl:a-file'" in ran.err
    listed = hilt("sessions", "list", "--store", "jsonl:a-file")
    assert (listed.code, listed.out) == (1, "")
    assert "the session store cannot use" in listed.err


def test_the_store_can_be_elsewhere(hilt: Hilt) -> None:
    session = _run(hilt, "x", "--store", "jsonl:kept")
    assert hilt("sessions", "show", session).code == 2
    assert hilt("sessions", "show", session, "--store", "jsonl:kept").code == 0
    assert hilt("sessions", "show", session, env={"HILT_STORE": "jsonl:kept"}).code == 0
    assert hilt("sessions", "list", "--store", "sqlite:x").code == 2
