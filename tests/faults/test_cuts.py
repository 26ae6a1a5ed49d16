"""Entries of section 3: restarts, broken connections and redirects."""

import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.faults.raw import (
    CutError,
    RawHttp,
    RawSse,
    RawStdio,
    Session,
    SilenceError,
    StatusError,
    at,
    events,
    names,
    opened,
    started,
    text_of,
)

ERAS = pytest.mark.parametrize("era", ["handshake", "stateless"])
NETWORK = pytest.mark.parametrize(
    ("transport", "era"), [("http", "handshake"), ("http", "stateless"), ("sse", "handshake")]
)


def again(session: Session) -> None:
    """Open a new connection and session to the same server."""
    session.client.close()
    if isinstance(session.client, RawSse):
        session.client = RawSse(f"http://127.0.0.1:{session.client.http.port}/sse")
    elif isinstance(session.client, RawHttp):
        session.client.session = ""
    session.open()


def test_restart_404_forgets_sessions_and_ends_their_streams(tmp_path: Path) -> None:
    with opened("restart-404", tmp_path) as session:
        client = session.client
        assert isinstance(client, RawHttp)
        with client.get() as stream:
            with pytest.raises(StatusError, match="404 b'Not Found"):
                session.call()
            with pytest.raises(http.client.IncompleteRead):
                stream.read()
        with pytest.raises(StatusError, match="404"):
            session.call()
        again(session)
        assert client.session == "session-2"
        assert text_of(session.call()) == "hello"
        assert len(session.log("executed")) == 1


def test_restart_404_hits_every_call_of_the_old_session(tmp_path: Path) -> None:
    with opened("restart-404", tmp_path) as session:
        assert isinstance(session.client, RawHttp)
        with pytest.raises(StatusError, match="404"):
            session.call()

        def one(_: int) -> int:
            assert isinstance(session.client, RawHttp)
            other = RawHttp(f"http://127.0.0.1:{session.client.port}/mcp")
            other.session = session.client.session
            with pytest.raises(StatusError) as caught:
                other.request("tools/call", {"name": "add_note"})
            other.close()
            return caught.value.status

        with ThreadPoolExecutor(10) as pool:
            assert set(pool.map(one, range(20))) == {404}
        assert session.log("executed") == []


@pytest.mark.parametrize(
    ("entry", "status", "has_id"), [("restart-404-rpc", 404, True), ("restart-400-rpc", 400, False)]
)
def test_restart_rpc_answers_without_the_id(entry: str, status: int, has_id: bool, tmp_path: Path) -> None:
    with opened(entry, tmp_path) as session:
        answer = session.call()
        assert (answer["status"], "id" in answer, answer.get("id")) == (status, has_id, None)
        again(session)
        assert text_of(session.call()) == "hello"


@NETWORK
def test_away_and_back_refuses_and_then_serves(transport: str, era: str, tmp_path: Path) -> None:
    with opened("away-and-back", tmp_path, transport=transport, era=era, away=0.3) as session:
        session.call()
        session.wait_for("away")
        port = session.client.http.port if isinstance(session.client, RawSse) else 0
        port = session.client.port if isinstance(session.client, RawHttp) else port
        with pytest.raises(ConnectionRefusedError):
            RawHttp(f"http://127.0.0.1:{port}/mcp").connection.connect()
        session.wait_for("back")
        again(session)
        assert text_of(session.call()) == "hello"


def test_away_and_back_does_not_come_back_once_it_is_closed(tmp_path: Path) -> None:
    with opened("away-and-back", tmp_path, away=0.2) as session:
        assert isinstance(session.client, RawHttp)
        port = session.client.port
        session.call()
        session.wait_for("away")
    begun = time.monotonic()
    while time.monotonic() < begun + 0.3:
        with pytest.raises(ConnectionRefusedError):
            RawHttp(f"http://127.0.0.1:{port}/mcp").connection.connect()


@NETWORK
def test_dead_for_good_refuses_for_ever(transport: str, era: str, tmp_path: Path) -> None:
    with opened("dead-for-good", tmp_path, transport=transport, era=era) as session:
        session.call()
        session.wait_for("away")
        session.client.close()
        port = session.client.http.port if isinstance(session.client, RawSse) else 0
        port = session.client.port if isinstance(session.client, RawHttp) else port
        with pytest.raises(ConnectionRefusedError):
            RawHttp(f"http://127.0.0.1:{port}/mcp").connection.connect()


@NETWORK
def test_dead_hanging_accepts_and_says_nothing(transport: str, era: str, tmp_path: Path) -> None:
    with opened("dead-hanging", tmp_path, transport=transport, era=era) as session:
        session.call()
        session.wait_for("away")
        session.client.close()
        port = session.client.http.port if isinstance(session.client, RawSse) else 0
        other = RawHttp(f"http://127.0.0.1:{session.client.port if isinstance(session.client, RawHttp) else port}/mcp")
        with pytest.raises(SilenceError):
            other.request("ping", wait_s=0.2)
        other.close()
        assert len(session.log("executed")) == 1


def test_the_dead_stay_dead_over_stdio(tmp_path: Path) -> None:
    with opened("dead-for-good", tmp_path, transport="stdio") as session:
        session.call()
        assert isinstance(session.client, RawStdio)
        assert session.client.ended() == 0
    with started("dead-for-good", tmp_path, transport="stdio") as session:
        assert isinstance(session.client, RawStdio)
        assert (session.client.ended(), session.client.stderr) == (1, b"no disk\n")


def test_the_dead_hang_over_stdio(tmp_path: Path) -> None:
    with opened("dead-hanging", tmp_path, transport="stdio") as session:
        session.call()
        assert isinstance(session.client, RawStdio)
        assert session.client.ended() == 0
    with started("dead-hanging", tmp_path, transport="stdio") as session, pytest.raises(SilenceError):
        session.open(wait_s=0.3)


@NETWORK
def test_changed_definition_comes_back_different(transport: str, era: str, tmp_path: Path) -> None:
    with opened("changed-definition", tmp_path, transport=transport, era=era) as session:
        before = session.request("tools/list")
        session.call()
        session.wait_for("restart")
        again(session)
        after = session.request("tools/list")
        assert names(before) == names(after)
        assert at(after, "result", "tools", 1, "annotations", "readOnlyHint") is True
        assert at(after, "result", "tools", 1, "inputSchema", "required") == ["path"]


def test_changed_definition_is_another_process_over_stdio(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        with opened("changed-definition", tmp_path, transport="stdio") as session:
            found.append(at(session.request("tools/list"), "result", "tools", 0, "description"))
            session.call()
            assert isinstance(session.client, RawStdio)
            assert session.client.ended() == 0
    assert len(set(found)) == 2


@NETWORK
def test_reset_after_delivery_has_run_the_tool(transport: str, era: str, tmp_path: Path) -> None:
    with opened("reset-after-delivery", tmp_path, transport=transport, era=era) as session:
        with pytest.raises(CutError, match="ConnectionResetError" if transport == "http" else None):
            session.call("add_note")
        again(session)
        assert text_of(session.call("look")) == "1 notes"
        assert [record["tool"] for record in session.log("executed")] == ["add_note", "look"]


@ERAS
def test_reset_one_of_two_breaks_the_first_alone(era: str, tmp_path: Path) -> None:
    with opened("reset-one-of-two", tmp_path, era=era) as session:
        assert isinstance(session.client, RawHttp)
        client = RawHttp(f"http://127.0.0.1:{session.client.port}/mcp")
        client.session = session.client.session
        other = Session(client, era, session.log_path)
        with ThreadPoolExecutor() as pool:
            first = pool.submit(session.call)
            while not any(at(r, "message", "method") == "tools/call" for r in session.log("received")):
                threading.Event().wait(0.01)
            assert text_of(other.call(text="second")) == "second"
            with pytest.raises(CutError):
                first.result()
        client.close()
        assert len(session.log("executed")) == 1


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_flapping_cuts_each_call(transport: str, tmp_path: Path) -> None:
    with opened("flapping", tmp_path, transport=transport) as session:
        for _ in range(2):
            with pytest.raises(CutError):
                session.call()
            again(session)
        assert len(session.log("executed")) == 2


def test_flapping_exits_over_stdio(tmp_path: Path) -> None:
    for _ in range(2):
        with opened("flapping", tmp_path, transport="stdio") as session:
            with pytest.raises(CutError):
                session.call()
            assert isinstance(session.client, RawStdio)
            assert session.client.ended() == 1
    assert len(session.log("executed")) == 2


@ERAS
def test_idle_close_loses_the_call(era: str, tmp_path: Path) -> None:
    with opened("idle-close", tmp_path, era=era) as session:
        with pytest.raises(CutError):
            session.call()
        assert session.log("executed") == []
        assert text_of(session.call()) == "hello"


@NETWORK
def test_cut_stream_ends_without_the_answer(transport: str, era: str, tmp_path: Path) -> None:
    with opened("cut-stream", tmp_path, transport=transport, era=era) as session:
        with pytest.raises(CutError):
            session.call()
        again(session)
        assert text_of(session.call()) == "hello"
        assert len(session.log("executed")) == 2


@pytest.mark.parametrize("kind", ["once", "forever"])
def test_cut_stream_resumable_keeps_the_answer_or_not(kind: str, tmp_path: Path) -> None:
    with opened("cut-stream-resumable", tmp_path, kind=kind) as session:
        client = session.client
        assert isinstance(client, RawHttp)
        with pytest.raises(CutError):
            session.call()
        assert client.others == [{"id": "answer-1", "retry": "700", "data": ""}]
        with client.get(last_event_id="answer-1") as stream:
            (found,) = events(stream)
        if kind == "once":
            assert text_of(found) == "hello"
        else:
            assert found == client.others[0]
        with client.get() as standing:
            assert standing.status == 200
        assert len(session.log("executed")) == 1


@ERAS
def test_short_body_is_shorter_than_told(era: str, tmp_path: Path) -> None:
    with opened("short-body", tmp_path, era=era) as session:
        with pytest.raises(CutError, match="IncompleteRead"):
            session.call()
        assert text_of(session.call()) == "hello"


@ERAS
def test_slow_body_comes_a_byte_at_a_time(era: str, tmp_path: Path) -> None:
    with opened("slow-body", tmp_path, era=era, every=0.002) as session:
        begun = time.monotonic()
        assert text_of(session.call()) == "hello"
        assert time.monotonic() - begun > 0.1


@ERAS
@pytest.mark.parametrize(
    ("entry", "target"),
    [("redirect-loop", "/mcp"), ("redirect-to-file", "file:///etc/hostname"), ("redirect-same", "/moved")],
)
def test_redirects_say_where_to(entry: str, target: str, era: str, tmp_path: Path) -> None:
    with opened(entry, tmp_path, era=era) as session:
        with pytest.raises(StatusError, match="307") as caught:
            session.call()
        assert caught.value.headers["Location"] == target
        assert isinstance(session.client, RawHttp)
        session.client.path = "/moved"
        assert text_of(session.call()) == "hello"


def test_redirect_away_logs_who_follows(tmp_path: Path) -> None:
    with opened("redirect-away", tmp_path) as session:
        with pytest.raises(StatusError, match="307") as caught:
            session.call()
        other = RawHttp(caught.value.headers["Location"])
        other.connection.request("POST", other.path, json.dumps({"a": 1}), {"Authorization": "Bearer x"})
        assert other.connection.getresponse().read() == b""
        other.close()
        seen = session.log("disturbed")[-1]
        assert (seen["verb"], at(seen, "headers", "authorization")) == ("POST", "Bearer x")
