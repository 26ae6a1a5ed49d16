"""Entries of section 3: calls that are not answered, answered late, or for another."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.faults.raw import RawHttp, RawSse, RawStdio, SilenceError, StatusError, at, opened, text_of
from tests.faults.test_start import EVERY_WAY


@EVERY_WAY
def test_hang_call_never_answers_and_notes_who_left(transport: str, era: str, tmp_path: Path) -> None:
    with opened("hang-call", tmp_path, transport=transport, era=era) as session:
        with pytest.raises(SilenceError):
            session.call(wait_s=0.2)
        if transport == "http":
            session.wait_for("gone")
        assert len(session.request("tools/list")) >= 3
        assert session.log("executed") == []


def test_settings_say_which_calls_are_hit(tmp_path: Path) -> None:
    with opened("hang-call", tmp_path, after=1, times=1) as session:
        assert text_of(session.call()) == "hello"
        with pytest.raises(SilenceError):
            session.call(wait_s=0.2)
        assert text_of(session.call()) == "hello"


@pytest.mark.parametrize("transport", ["sse", "stdio"])
def test_drip_comments_sends_nothings(transport: str, tmp_path: Path) -> None:
    with opened("drip-comments", tmp_path, transport=transport, every=0.05) as session:
        with pytest.raises(SilenceError):
            session.call(wait_s=0.3)
        if isinstance(session.client, RawStdio):
            assert session.client.noise[:2] == [b"\n", b"\n"]


@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_drip_comments_keeps_an_http_stream_busy(era: str, tmp_path: Path) -> None:
    with opened("drip-comments", tmp_path, era=era, every=0.05) as session:
        assert isinstance(session.client, RawHttp)
        params = session.stamped({"name": "echo"})
        response = session.client.send({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params})
        assert [response.readline() for _ in range(4)] == [b": nothing\n", b"\n"] * 2
        response.close()


@EVERY_WAY
@pytest.mark.parametrize(("kind", "values"), [("same", [1, 1]), ("rising", [2, 3])])
def test_drip_progress_tells_of_no_end(transport: str, era: str, kind: str, values: list[int], tmp_path: Path) -> None:
    with opened("drip-progress", tmp_path, transport=transport, era=era, kind=kind, every=0.05) as session:
        outcome = threading.Thread(target=_call_and_forget, args=(session,), daemon=True)
        outcome.start()
        while len(session.client.others) < 2:
            threading.Event().wait(0.02)
        assert [at(message, "params", "progress") for message in session.client.others[:2]] == values
        assert at(session.client.others[0], "params", "progressToken") == "p1"
    outcome.join(8)
    assert not outcome.is_alive()


def _call_and_forget(session: object) -> None:
    try:
        session.call()  # type: ignore[attr-defined]  # a session, whatever becomes of it
    except Exception:
        return


@pytest.mark.parametrize("transport", ["http", "sse", "stdio"])
def test_deaf_to_cancel_works_on_and_answers_late(transport: str, tmp_path: Path) -> None:
    with opened("deaf-to-cancel", tmp_path, transport=transport, delay=0.5) as session:
        with pytest.raises(SilenceError):
            session.call(wait_s=0.1, text="late")
        session.client.notify("notifications/cancelled", {"requestId": 2})
        assert text_of(session.call(text="next")) == "next"
        for _ in range(100):
            if len(session.log("executed")) == 2:
                break
            threading.Event().wait(0.02)
        assert [at(record, "arguments", "text") for record in session.log("executed")] == ["next", "late"]


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_hang_on_cancelled_never_answers_that_post(transport: str, tmp_path: Path) -> None:
    with opened("hang-on-cancelled", tmp_path, transport=transport) as session:
        with pytest.raises(SilenceError):
            session.call(wait_s=0.1)
        client = session.client.http if isinstance(session.client, RawSse) else session.client
        assert isinstance(client, RawHttp)
        path = session.client.endpoint if isinstance(session.client, RawSse) else None
        with pytest.raises(TimeoutError):
            client.send({"jsonrpc": "2.0", "method": "notifications/cancelled"}, wait_s=0.2, path=path)
        client.close()
        assert text_of(session.call()) == "hello"


@EVERY_WAY
def test_wrong_ids_answer_twice(transport: str, era: str, tmp_path: Path) -> None:
    with opened("wrong-ids", tmp_path, transport=transport, era=era, kind="twice") as session:
        first = session.call()
        second = session.call()
        assert text_of(first) == text_of(second) == "hello"
        if transport != "http":
            while not session.client.others:
                session.request("ping")
            assert session.client.others == [first]


@EVERY_WAY
@pytest.mark.parametrize(("kind", "found"), [("unknown", 987654321), ("text", str)])
def test_wrong_ids_are_of_nobody(transport: str, era: str, kind: str, found: object, tmp_path: Path) -> None:
    with opened("wrong-ids", tmp_path, transport=transport, era=era, kind=kind) as session:
        with pytest.raises(SilenceError):
            session.call(wait_s=0.2)
        (wrong,) = session.client.others
        assert found in (wrong["id"], type(wrong["id"]))
        assert text_of(session.call()) == "hello"


def test_wrong_ids_swap_two_calls_in_time(tmp_path: Path) -> None:
    with opened("wrong-ids", tmp_path, kind="swapped") as session:
        assert isinstance(session.client, RawHttp)
        other = RawHttp(f"http://127.0.0.1:{session.client.port}/mcp")
        other.session = session.client.session
        with ThreadPoolExecutor() as pool:
            first = pool.submit(session.call, text="first")
            while len(session.log("received")) < 3:
                threading.Event().wait(0.01)
            second = other.request("tools/call", {"name": "echo", "arguments": {"text": "second"}})
            assert (text_of(second), text_of(first.result())) == ("second", "first")
        other.close()
        assert [at(record, "arguments", "text") for record in session.log("executed")] == ["first", "second"]


def test_a_swap_without_a_second_call_ends_by_itself(tmp_path: Path) -> None:
    with opened("wrong-ids", tmp_path, kind="swapped", patience=0.1) as session:
        assert text_of(session.call()) == "hello"


@pytest.mark.parametrize("kind", ["403", "429", "500", "502", "503", "504"])
@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_declared_is_a_status_once(kind: str, era: str, tmp_path: Path) -> None:
    with opened("declared", tmp_path, era=era, kind=kind) as session:
        with pytest.raises(StatusError) as caught:
            session.call()
        retry = caught.value.headers.get("Retry-After")
        assert (caught.value.status, retry) == (int(kind), "7" if kind in ("429", "503") else None)
        assert text_of(session.call()) == "hello"
        assert len(session.log("executed")) == 1


@EVERY_WAY
@pytest.mark.parametrize("kind", ["rpc-200", "rpc-400", "rpc-404"])
def test_declared_is_an_error_under_any_status(transport: str, era: str, kind: str, tmp_path: Path) -> None:
    if transport != "http" and kind != "rpc-200":
        return
    with opened("declared", tmp_path, transport=transport, era=era, kind=kind) as session:
        answer = session.call()
        assert at(answer, "error", "message") == "the database is locked"
        assert answer.get("status", 200) == int(kind[-3:])
        assert text_of(session.call()) == "hello"


@pytest.mark.parametrize("kind", ["closed", "reset", "session", "refused", "timeout", "pipe"])
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_mimic_reads_like_a_lost_connection(kind: str, transport: str, tmp_path: Path) -> None:
    if transport == "stdio" and kind != "closed":
        return
    with opened("mimic", tmp_path, transport=transport, kind=kind) as session:
        assert isinstance(at(session.call(), "error", "code"), int)
        assert text_of(session.call()) == "hello"
