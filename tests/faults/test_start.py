"""Entries of section 2: at the start."""

import http.client
import json
import time
from pathlib import Path

import pytest

from hilt.faults.run import running
from tests.faults.raw import (
    CutError,
    RawHttp,
    RawSse,
    RawStdio,
    SilenceError,
    StatusError,
    at,
    names,
    opened,
    started,
    text_of,
)
from tests.faults.test_honest import WAYS

EVERY_WAY = pytest.mark.parametrize(("transport", "era"), [way for way in WAYS if way != ("stdio", "handshake")])


@EVERY_WAY
def test_hang_initialize_never_answers(transport: str, era: str, tmp_path: Path) -> None:
    with started("hang-initialize", tmp_path, transport=transport, era=era) as session:
        with pytest.raises(SilenceError):
            session.open(wait_s=0.3)
        first = session.log("received")[-1]
        assert at(first, "message", "method") == ("initialize" if era == "handshake" else "server/discover")


@pytest.mark.parametrize(("transport", "era"), [way for way in WAYS if way[0] != "http"])
def test_drip_initialize_sends_nothings(transport: str, era: str, tmp_path: Path) -> None:
    with started("drip-initialize", tmp_path, transport=transport, era=era, every=0.05) as session:
        with pytest.raises(SilenceError):
            session.open(wait_s=0.3)
        if isinstance(session.client, RawStdio):
            assert session.client.noise[:2] == [b"\n", b"\n"]


@pytest.mark.parametrize(("era", "method"), [("handshake", "initialize"), ("stateless", "server/discover")])
def test_drip_initialize_keeps_an_http_stream_busy(era: str, method: str, tmp_path: Path) -> None:
    with started("drip-initialize", tmp_path, era=era, every=0.05) as session:
        assert isinstance(session.client, RawHttp)
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": session.stamped({})}
        response = session.client.send(message)
        assert [response.readline() for _ in range(4)] == [b": nothing\n", b"\n"] * 2
        response.close()


@EVERY_WAY
def test_hang_list_opens_and_never_lists(transport: str, era: str, tmp_path: Path) -> None:
    with opened("hang-list", tmp_path, transport=transport, era=era) as session:
        assert text_of(session.call()) == "hello"
        with pytest.raises(SilenceError):
            session.request("tools/list", wait_s=0.3)


def test_hang_list_can_list_once_and_tell_of_a_change(tmp_path: Path) -> None:
    with opened("hang-list", tmp_path, transport="stdio", after=1) as session:
        assert len(names(session.request("tools/list"))) == 5
        with pytest.raises(SilenceError):
            session.request("tools/list", wait_s=0.3)
        assert session.client.others == [{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}]


@EVERY_WAY
def test_slow_start_answers_after_a_while_and_then_at_once(transport: str, era: str, tmp_path: Path) -> None:
    with started("slow-start", tmp_path, transport=transport, era=era, delay=0.3) as session:
        begun = time.monotonic()
        session.open()
        assert time.monotonic() - begun >= 0.3
        assert text_of(session.call(wait_s=2)) == "hello"


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_refuse_holds_a_port_at_which_nothing_listens(transport: str) -> None:
    with running("refuse", transport=transport) as server:
        client = RawHttp(server.address)
        with pytest.raises(ConnectionRefusedError):
            client.connection.connect()
        assert server.records() == []


def test_exit_at_start_says_why(tmp_path: Path) -> None:
    with started("exit-at-start", tmp_path, transport="stdio") as session:
        assert isinstance(session.client, RawStdio)
        assert (session.client.ended(), session.client.stderr) == (3, b"no licence file\n")


@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_exit_after_initialize_answers_first(era: str, tmp_path: Path) -> None:
    with started("exit-after-initialize", tmp_path, transport="stdio", era=era) as session:
        try:
            session.open()
        except CutError:
            # It may be gone before it is told that it is initialized.
            assert era == "handshake"
        assert isinstance(session.client, RawStdio)
        assert session.client.ended() == 1


ODD = {
    "html": "200 b'<html>",
    "empty": "200 b''",
}


@pytest.mark.parametrize("era", ["handshake", "stateless"])
@pytest.mark.parametrize("kind", ["html", "empty"])
def test_odd_answer_is_no_message(kind: str, era: str, tmp_path: Path) -> None:
    with started("odd-answer", tmp_path, era=era, kind=kind) as session, pytest.raises(StatusError, match=ODD[kind]):
        session.open()


def test_odd_answer_is_half_a_message_or_another_object(tmp_path: Path) -> None:
    with started("odd-answer", tmp_path, kind="half") as session, pytest.raises(json.JSONDecodeError):
        session.open()
    with started("odd-answer", tmp_path, kind="no-message") as session:
        assert session.open() == {"hello": "world", "status": 200}


@EVERY_WAY
def test_odd_answer_is_of_the_future(transport: str, era: str, tmp_path: Path) -> None:
    with started("odd-answer", tmp_path, transport=transport, era=era, kind="future") as session:
        found = at(session.open(), "result")
        assert isinstance(found, dict)
        assert "2099-01-01" in (found.get("protocolVersion"), *found.get("supportedVersions", []))


@pytest.mark.parametrize("kind", ["session-control", "session-long"])
def test_odd_answer_has_a_session_id_that_is_none(kind: str, tmp_path: Path) -> None:
    with started("odd-answer", tmp_path, kind=kind) as session:
        assert isinstance(session.client, RawHttp)
        session.client.request("initialize", {})
        assert session.client.session == ("s" * 4096 if kind == "session-long" else "bad\x01\x7fid")


def test_sse_no_endpoint_says_nothing(tmp_path: Path) -> None:
    with started("sse-no-endpoint", tmp_path, transport="sse") as session:
        assert isinstance(session.client, RawSse)
        with pytest.raises(SilenceError):
            session.client.wait_for_endpoint(wait_s=0.3)


def test_sse_far_endpoint_names_another_origin_that_logs_who_comes(tmp_path: Path) -> None:
    with started("sse-far-endpoint", tmp_path, transport="sse") as session:
        assert isinstance(session.client, RawSse)
        far = session.client.wait_for_endpoint()
        assert far.startswith(str(session.log("canary")[0]["address"]))
        assert f":{session.client.http.port}/" not in far
        other = RawHttp(far)
        other.connection.request("GET", other.path)
        other.connection.getresponse().read()
        other.close()
        assert session.log("disturbed")[-1]["path"] == other.path


@pytest.mark.parametrize(("kind", "error"), [("401", StatusError), ("500", StatusError), ("reset", CutError)])
def test_sse_post_fails_in_calls_alone(kind: str, error: type[Exception], tmp_path: Path) -> None:
    with opened("sse-post-fails", tmp_path, transport="sse", kind=kind) as session:
        for _ in range(2):
            with pytest.raises(error, match=kind if kind != "reset" else None):
                session.call()
        assert session.request("ping")["result"] == {}
        assert session.log("executed") == []


def test_probe_503_is_busy_once(tmp_path: Path) -> None:
    with started("probe-503", tmp_path, era="stateless") as session:
        with pytest.raises(StatusError, match="503"):
            session.open()
        assert at(session.open(), "result", "supportedVersions") == ["2026-07-28"]


@pytest.mark.parametrize("transport", ["http", "sse", "stdio"])
def test_probe_hang_ignores_the_probe_alone(transport: str, tmp_path: Path) -> None:
    with started("probe-hang", tmp_path, transport=transport) as session:
        with pytest.raises(SilenceError):
            session.client.request("server/discover", {}, wait_s=0.3)
        session.open()
        assert text_of(session.call()) == "hello"


def test_probe_exit_leaves_at_each_probe(tmp_path: Path) -> None:
    for _ in range(2):
        with started("probe-exit", tmp_path, transport="stdio") as session:
            with pytest.raises(CutError):
                session.client.request("server/discover", {})
            assert isinstance(session.client, RawStdio)
            assert session.client.ended() == 1
    with opened("probe-exit", tmp_path, transport="stdio") as session:
        assert text_of(session.call()) == "hello"


@pytest.mark.parametrize(("first", "second"), [("handshake", "stateless"), ("stateless", "handshake")])
def test_era_change_comes_back_in_the_other_era(first: str, second: str, tmp_path: Path) -> None:
    with opened("era-change", tmp_path, era=first) as session:
        assert text_of(session.call()) == "hello"
        assert session.wait_for("restart")["era"] == second
        session.client.close()
        if first == "handshake":
            with pytest.raises(StatusError, match="404"):
                session.call()
        else:
            assert session.call()["status"] == 400
        session.era = second
        session.open()
        assert text_of(session.call()) == "hello"


def test_era_change_counts_starts_over_stdio(tmp_path: Path) -> None:
    with opened("era-change", tmp_path, transport="stdio") as session:
        session.call()
        assert isinstance(session.client, RawStdio)
        assert session.client.ended() == 0
    with started("era-change", tmp_path, transport="stdio") as session:
        assert at(session.client.request("initialize", {}), "error", "code") == -32022
        session.era = "stateless"
        session.open()
        assert text_of(session.call()) == "hello"


def test_a_refused_http_client_is_told_by_the_system(tmp_path: Path) -> None:
    with started("refuse", tmp_path) as session:
        assert isinstance(session.client, RawHttp)
        with pytest.raises(OSError, match="refused"):
            http.client.HTTPConnection("127.0.0.1", session.client.port).connect()
