"""Entries of section 5: standard input and output."""

import contextlib
import os
import signal
import threading
from pathlib import Path

import pytest

from tests.faults.raw import CutError, RawStdio, Session, SilenceError, at, opened, started, text_of

ERAS = pytest.mark.parametrize("era", ["handshake", "stateless"])


def process_of(session: Session) -> RawStdio:
    assert isinstance(session.client, RawStdio)
    return session.client


@ERAS
def test_noise_stands_between_messages(era: str, tmp_path: Path) -> None:
    with opened("noise", tmp_path, transport="stdio", era=era) as session:
        assert text_of(session.call()) == "hello"
        assert at(session.request("kit/none"), "error", "code") == -32601
        noise = b"".join(process_of(session).noise)
        for piece in (b"Welcome", b"\r\n", b"\xff\xfe", b"[{", b"INFO"):
            assert piece in noise


def test_noise_can_be_told_from_messages(tmp_path: Path) -> None:
    with started("noise", tmp_path, transport="stdio") as session:
        session.client.request("initialize", {})
        assert [at(message, "msg") for message in session.client.others] == ["a log line in JSON"]


@ERAS
def test_stderr_flood_comes_before_each_answer(era: str, tmp_path: Path) -> None:
    with opened("stderr-flood", tmp_path, transport="stdio", era=era, mb=1) as session:
        for _ in range(3):
            assert text_of(session.call()) == "hello"
    assert process_of(session).stderr == b"e" * 3_000_000


@ERAS
@pytest.mark.parametrize(("kind", "letters"), [("letters", 70_000), ("line", 8 << 20)])
def test_long_line_is_one_line(kind: str, letters: int, era: str, tmp_path: Path) -> None:
    with opened("long-line", tmp_path, transport="stdio", era=era, kind=kind) as session:
        assert len(str(text_of(session.call()))) == letters


@ERAS
def test_exit_mid_call_happens_once(era: str, tmp_path: Path) -> None:
    with opened("exit-mid-call", tmp_path, transport="stdio", era=era) as session:
        with pytest.raises(CutError):
            session.call()
        assert process_of(session).ended() == 7
        assert process_of(session).stderr.endswith(b"out of disk\n")
    with opened("exit-mid-call", tmp_path, transport="stdio", era=era) as session:
        assert text_of(session.call()) == "hello"
    assert len(session.log("executed")) == 2
    assert len(session.log("start")) == 2


def test_crash_loop_happens_in_every_start(tmp_path: Path) -> None:
    for _ in range(2):
        with opened("crash-loop", tmp_path, transport="stdio", code=9) as session:
            with pytest.raises(CutError):
                session.call()
            assert process_of(session).ended() == 9


def _family(session: Session) -> dict[object, int]:
    for _ in range(400):
        found = {record["role"]: int(str(record["pid"])) for record in session.log("child")}
        if len(found) == 4:
            return found
        threading.Event().wait(0.02)
    raise AssertionError("the family is not whole")


def _end(family: dict[object, int]) -> None:
    for pid in family.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_grandchildren_outlive_their_server(tmp_path: Path) -> None:
    with opened("grandchildren", tmp_path, transport="stdio", kind="exits", life=60) as session:
        family = _family(session)
        try:
            with pytest.raises(SilenceError):
                session.call(wait_s=0.3)
            assert process_of(session).process.wait(5) == 1
            os.kill(family["stubborn"], signal.SIGTERM)
            for pid in family.values():
                os.kill(pid, 0)
            assert len({os.getsid(family["apart"]), os.getsid(family["plain"])}) == 2
            parents = {record["role"]: record["parent"] for record in session.log("child")}
            assert parents["stubborn"] == family["plain"]
            assert parents["apart"] == family["stubborn"]
        finally:
            _end(family)


def test_grandchildren_end_by_themselves_in_time(tmp_path: Path) -> None:
    with opened("grandchildren", tmp_path, transport="stdio", life=0.5) as session:
        _family(session)
        assert text_of(session.call()) == "hello"


@ERAS
def test_closed_stdout_lives_on_in_silence(era: str, tmp_path: Path) -> None:
    with opened("closed-stdout", tmp_path, transport="stdio", era=era) as session:
        with pytest.raises(CutError):
            session.call()
        assert process_of(session).process.poll() is None
        with pytest.raises(SilenceError):
            session.call(wait_s=0.1)


@ERAS
def test_not_reading_stops_inside_a_long_line_and_still_ends(era: str, tmp_path: Path) -> None:
    with opened("not-reading", tmp_path, transport="stdio", era=era) as session:
        assert text_of(session.call(text="x" * 30_000)) == "x" * 30_000
        blocked = threading.Event()

        def send() -> None:
            try:
                session.call(text="x" * 1_000_000)
            except (CutError, SilenceError, OSError, ValueError):
                blocked.set()

        writer = threading.Thread(target=send, daemon=True)
        writer.start()
        assert not blocked.wait(0.3)
        process_of(session).process.terminate()
        writer.join(5)
        assert blocked.is_set()
