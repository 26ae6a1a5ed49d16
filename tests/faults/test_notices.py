"""Entries of sections 4, 6 and 8: notices and requests, closing, random messages."""

import threading
from pathlib import Path

import pytest

from hilt.faults.mutation import Mutator
from tests.faults.raw import (
    RawHttp,
    RawStdio,
    Session,
    SilenceError,
    StatusError,
    events,
    opened,
    text_of,
)
from tests.faults.test_start import EVERY_WAY

CHANGED = "notifications/tools/list_changed"


def test_a_storm_comes_on_the_standing_stream(tmp_path: Path) -> None:
    with opened("list-changed-storm", tmp_path) as session:
        assert isinstance(session.client, RawHttp)
        with session.client.get() as stream:
            found = events(stream)
            assert {next(found)["method"] for _ in range(10_000)} == {CHANGED}
        assert session.wait_for("storm")["count"] == 10_000


@pytest.mark.parametrize("transport", ["sse", "stdio"])
def test_a_storm_comes_where_messages_are_pushed(transport: str, tmp_path: Path) -> None:
    with opened("list-changed-storm", tmp_path, transport=transport, count=300) as session:
        session.wait_for("storm")
        assert text_of(session.call()) == "hello"
        assert [message["method"] for message in session.client.others] == [CHANGED] * 300


@pytest.mark.parametrize("transport", ["sse", "stdio"])
def test_list_changed_on_list_sends_one_with_each(transport: str, tmp_path: Path) -> None:
    with opened("list-changed-on-list", tmp_path, transport=transport) as session:
        session.call()
        for _ in range(2):
            session.request("tools/list")
        assert [message["method"] for message in session.client.others] == [CHANGED] * 2
        assert [record["channels"] for record in session.log("notified")] == [1, 1]


def test_list_changed_on_list_outlives_a_channel_that_left(tmp_path: Path) -> None:
    with opened("list-changed-on-list", tmp_path) as session:
        assert isinstance(session.client, RawHttp)
        with session.client.get() as stream:
            session.request("tools/list")
            assert next(events(stream))["method"] == CHANGED
        session.wait_for("gone")
        session.request("tools/list")
        assert session.log("notified")[-1]["channels"] == 0


def test_get_hostile_closes_each_stream_at_once(tmp_path: Path) -> None:
    with opened("get-hostile", tmp_path) as session:
        assert isinstance(session.client, RawHttp)
        for _ in range(3):
            with session.client.get() as stream:
                assert (stream.status, stream.read()) == (200, b"")
        assert text_of(session.call()) == "hello"


def test_get_hostile_closes_each_subscription_at_once(tmp_path: Path) -> None:
    with opened("get-hostile", tmp_path, era="stateless") as session:
        assert isinstance(session.client, RawHttp)
        params = session.stamped({"notifications": {"toolsListChanged": True}})
        asked = {"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params}
        assert session.client.send(asked).read() == b""
        assert text_of(session.call()) == "hello"


def test_get_405_has_no_stream(tmp_path: Path) -> None:
    with opened("get-405", tmp_path) as session:
        assert isinstance(session.client, RawHttp)
        with session.client.get() as stream:
            assert (stream.status, stream.headers["Allow"]) == (405, "POST, DELETE")


ASKED = {
    "pings": "ping",
    "unknown": "kit/unknown",
    "elicitations": "elicitation/create",
    "sampling": "sampling/createMessage",
    "roots": "roots/list",
}


@pytest.mark.parametrize("kind", ASKED)
@pytest.mark.parametrize("transport", ["http", "sse", "stdio"])
def test_asking_floods_with_requests_and_takes_answers(kind: str, transport: str, tmp_path: Path) -> None:
    if transport == "stdio" and kind != "pings":
        return
    with opened("asking", tmp_path, transport=transport, kind=kind, count=20) as session:
        assert text_of(session.call()) == "hello"
        found = session.client.others
        assert [message["method"] for message in found] == [ASKED[kind]] * 20
        assert {type(message["id"]) for message in found} == {int, str}
        _answer(session, found[0]["id"])
        session.request("ping")
        seen = [record["message"] for record in session.log("received") if record["message"]]
        answers = [message for message in seen if isinstance(message, dict) and "method" not in message]
        assert [message["id"] for message in answers] == [found[0]["id"]]


def _answer(session: Session, request_id: object) -> None:
    answer = {"jsonrpc": "2.0", "id": request_id, "result": {}}
    client = session.client
    if isinstance(client, RawHttp):
        response = client.send(answer)
        assert response.status == 202
        response.read()
    else:
        client.send(answer)  # type: ignore[attr-defined]  # both other clients have it


@EVERY_WAY
@pytest.mark.parametrize(
    ("kind", "method"), [("logs", "notifications/message"), ("progress", "notifications/progress")]
)
def test_asking_floods_with_notifications(kind: str, method: str, transport: str, era: str, tmp_path: Path) -> None:
    with opened("asking", tmp_path, transport=transport, era=era, kind=kind, count=50) as session:
        assert text_of(session.call()) == "hello"
        assert [message["method"] for message in session.client.others] == [method] * 50


@pytest.mark.parametrize("status", [404, 405, 500])
def test_delete_is_answered_oddly(status: int, tmp_path: Path) -> None:
    with opened(f"delete-{status}", tmp_path) as session:
        assert isinstance(session.client, RawHttp)
        assert session.client.delete() == status
        with pytest.raises(StatusError, match="404"):
            session.call()


def test_delete_slow_takes_its_time(tmp_path: Path) -> None:
    with opened("delete-slow", tmp_path) as session:
        assert isinstance(session.client, RawHttp)
        with pytest.raises(SilenceError):
            session.client.delete(wait_s=0.2)
    with opened("delete-slow", tmp_path, delay=0.1) as session:
        assert isinstance(session.client, RawHttp)
        assert session.client.delete() == 200


def _random(folder: Path, seed: int) -> list[bytes]:
    with opened("random-messages", folder, answers="sse", seed=seed, share=0.5) as session:
        assert isinstance(session.client, RawHttp)
        params = {"name": "echo", "arguments": {"text": "hello"}}
        message = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}
        return [session.client.send(message).read() for _ in range(3)]


@pytest.mark.req("FLT-03")
def test_random_messages_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    first, again, other = (_random(tmp_path, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len(set(first)) == 3


@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_random_messages_go_over_stdio(era: str, tmp_path: Path) -> None:
    with opened("random-messages", tmp_path, transport="stdio", era=era, share=0, count=40) as session:
        for _ in range(3):
            # What is mutated may bear the id of the call.
            session.call()
        assert isinstance(session.client, RawStdio)
        for _ in range(200):
            if len(session.client.noise) > 5:
                break
            threading.Event().wait(0.01)
        assert len(session.client.noise) > 5


@pytest.mark.req("FLT-03")
def test_a_mutator_reaches_values_and_bytes() -> None:
    message: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text"}]}}
    one, two = ([Mutator("7").mutated(message) for _ in range(2)] for _ in range(2))
    assert one == two
    mutator = Mutator("8")
    many = {mutator.mutated(message) for _ in range(2000)}
    assert len(many) > 900
    assert {mutator.chance(0.5) for _ in range(50)} == {True, False}
