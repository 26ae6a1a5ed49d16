"""The honest server: both eras, all transports, sessions, and what it refuses."""

import json
import socket
from pathlib import Path

import pytest

from tests.faults.raw import (
    Message,
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

WAYS = [
    ("http", "handshake"),
    ("http", "stateless"),
    ("sse", "handshake"),
    ("stdio", "handshake"),
    ("stdio", "stateless"),
]


@pytest.mark.parametrize(("transport", "era"), WAYS)
@pytest.mark.req("FLT-02")
def test_an_honest_server_serves_every_method_and_logs_what_it_got(transport: str, era: str, tmp_path: Path) -> None:
    with started("honest", tmp_path, transport=transport, era=era) as session:
        hello = session.open()
        assert "tools" in at(hello, "result", "capabilities")  # type: ignore[operator]  # at() gives an object
        assert names(session.request("tools/list")) == ["echo", "add_note", "look", "idem", "slow"]
        assert text_of(session.call("echo", text="hi")) == "hi"
        assert text_of(session.call("add_note", text="one")) == "note 1 added"
        assert text_of(session.call("look")) == "1 notes"
        assert text_of(session.call("idem", text="x")) == "the title is 'x'"
        assert text_of(session.call("slow", seconds=0.01)) == "done"
        assert at(session.call("missing"), "error", "code") == -32602
        assert at(session.request("resources/list"), "result", "resources", 0, "uri") == "kit://notes"
        assert at(session.request("resources/templates/list"), "result", "resourceTemplates") == []
        document = session.request("resources/read", {"uri": "kit://notes"})
        assert at(document, "result", "contents", 0, "text") == "No notes."
        assert at(session.request("resources/read", {"uri": "kit://no"}), "error", "code") == -32602
        assert at(session.request("prompts/list"), "result", "prompts", 0, "name") == "greet"
        prompt = session.request("prompts/get", {"name": "greet", "arguments": {"who": "Ada"}})
        assert at(prompt, "result", "messages", 0, "content", "text") == "Greet Ada."
        assert at(session.request("kit/none"), "error", "code") == -32601
        calls = [record for record in session.log("received") if _is_call(record["message"])]
        assert len(calls) == 6
        assert all("time" in record and "headers" in record for record in session.log("received"))
        assert [record["tool"] for record in session.log("executed")] == [
            "echo",
            "add_note",
            "look",
            "idem",
            "slow",
            "missing",
        ]


def _is_call(message: object) -> bool:
    return isinstance(message, dict) and message.get("method") == "tools/call"


@pytest.mark.parametrize("asked", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_the_handshake_agrees_to_each_revision(asked: str, tmp_path: Path) -> None:
    with started("honest", tmp_path, revision="2025-06-18") as session:
        answer = session.client.request("initialize", {"protocolVersion": asked})
        assert at(answer, "result", "protocolVersion") == min(asked, "2025-06-18")


def test_stateless_results_carry_what_their_era_asks_for(tmp_path: Path) -> None:
    with opened("honest", tmp_path, era="stateless") as session:
        listed = session.request("tools/list")
        assert at(listed, "result", "resultType") == "complete"
        assert at(listed, "result", "ttlMs") == 0
        assert at(session.open(), "result", "supportedVersions") == ["2026-07-28"]


def test_answers_can_be_event_streams(tmp_path: Path) -> None:
    with opened("honest", tmp_path, answers="sse") as session:
        assert "status" not in session.call()
        assert session.call()["id"] != session.call()["id"]


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_a_server_of_the_other_era_says_so(transport: str, tmp_path: Path) -> None:
    with started("honest", tmp_path, transport=transport, era="handshake") as session:
        probe = session.client.request("server/discover", {})
        assert at(probe, "error", "code") == (-32000 if transport == "http" else -32601)
    with started("honest", tmp_path, transport=transport, era="stateless") as session:
        old = session.client.request("initialize", {"protocolVersion": "2025-11-25"})
        assert at(old, "error", "code") == -32022
        assert at(old, "error", "data", "supported") == ["2026-07-28"]


def test_a_stateless_server_looks_at_revision_and_headers(tmp_path: Path) -> None:
    with started("honest", tmp_path, era="stateless") as session:
        client = session.client
        assert isinstance(client, RawHttp)
        wrong = {"_meta": {"io.modelcontextprotocol/protocolVersion": "1999-01-01"}}
        assert at(client.request("tools/list", dict(wrong)), "error", "code") == -32020
        response = client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": session.stamped({})})
        assert response.status == 200
        response.read()
        missing = client.request("ping", {})
        assert (missing["status"], at(missing, "error", "code")) == (400, -32000)
        with client.get() as standing:
            assert standing.status == 405


def test_a_session_ends_with_its_delete_and_is_asked_for(tmp_path: Path) -> None:
    with opened("honest", tmp_path) as session:
        client = session.client
        assert isinstance(client, RawHttp)
        assert client.session == "session-1"
        assert client.delete() == 200
        with pytest.raises(StatusError, match="404"):
            session.call()
        client.session = ""
        assert session.call()["status"] == 400


def test_what_is_no_message_or_no_path_is_refused(tmp_path: Path) -> None:
    with started("honest", tmp_path) as session:
        client = session.client
        assert isinstance(client, RawHttp)
        for verb, path, body, status in [
            ("POST", "/mcp", "[1]", 400),
            ("POST", "/mcp", "{", 400),
            ("POST", "/other", "{}", 404),
            ("PUT", "/mcp", "{}", 405),
        ]:
            client.connection.request(verb, path, body)
            response = client.connection.getresponse()
            assert response.status == status
            response.read()


def test_chunked_bodies_and_expectations_are_understood(tmp_path: Path) -> None:
    with opened("honest", tmp_path) as session:
        client = session.client
        assert isinstance(client, RawHttp)
        pieces = iter([b'{"jsonrpc":"2.0","id":9,', b'"method":"ping"}'])
        headers = {"Mcp-Session-Id": client.session, "Expect": "100-continue"}
        client.connection.request("POST", "/mcp", pieces, headers, encode_chunked=True)
        response = client.connection.getresponse()
        assert response.read() == b'{"jsonrpc":"2.0","id":9,"result":{}}'


def test_an_sse_server_knows_its_paths_and_sessions(tmp_path: Path) -> None:
    with opened("honest", tmp_path, transport="sse") as session:
        client = session.client
        assert isinstance(client, RawSse)
        client.endpoint = "/messages?session=none"
        with pytest.raises(StatusError, match="404"):
            session.call()
        client.endpoint = "/else"
        with pytest.raises(StatusError, match="404"):
            session.call()


@pytest.mark.parametrize(("transport", "era"), [("http", "stateless"), ("stdio", "stateless")])
def test_a_subscription_is_acknowledged(transport: str, era: str, tmp_path: Path) -> None:
    with opened("list-changed-storm", tmp_path, transport=transport, era=era, count=2) as session:
        asked: Message = {"notifications": {"toolsListChanged": True}}
        with pytest.raises(SilenceError):
            session.request("subscriptions/listen", asked, wait_s=0.5)
        methods = [message["method"] for message in session.client.others]
        assert methods == ["notifications/subscriptions/acknowledged", *["notifications/tools/list_changed"] * 2]
        key = "io.modelcontextprotocol/subscriptionId"
        assert len({at(message, "params", "_meta", key) for message in session.client.others}) == 1


def test_a_stateless_server_wants_its_revision_over_stdio(tmp_path: Path) -> None:
    with started("honest", tmp_path, transport="stdio", era="stateless") as session:
        assert at(session.client.request("tools/list", {}), "error", "code") == -32602
        wrong: Message = {"_meta": {"io.modelcontextprotocol/protocolVersion": "1999-01-01"}}
        assert at(session.client.request("tools/list", wrong), "error", "data", "requested") == "1999-01-01"
        assert isinstance(session.client, RawStdio)
        assert session.client.process.stdin is not None
        session.client.process.stdin.write(b"\n[1]\n{\nnull\n")
        session.open()
        assert [record["message"] for record in session.log("received")][2:6] == ["", "[1]", "{", "null"]


@pytest.mark.parametrize(
    "piece",
    [
        b"POST /mcp HTTP/1.1\r\nHos",
        b"POST /mcp HTTP/1.1\r\nContent-Length: 10\r\n\r\n{",
        b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5",
        b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
    ],
)
def test_a_client_that_leaves_in_a_request_is_no_request(piece: bytes, tmp_path: Path) -> None:
    with started("honest", tmp_path) as session:
        assert isinstance(session.client, RawHttp)
        with socket.create_connection(("127.0.0.1", session.client.port)) as sock:
            sock.sendall(piece)
            sock.shutdown(socket.SHUT_WR)
            assert sock.recv(10) == b""
        assert session.log("received") == []


def test_a_chunk_of_no_size_ends_the_body(tmp_path: Path) -> None:
    with started("honest", tmp_path) as session:
        assert isinstance(session.client, RawHttp)
        with socket.create_connection(("127.0.0.1", session.client.port)) as sock:
            sock.sendall(b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n")
            assert sock.recv(100).startswith(b"HTTP/1.1 400")


def test_what_a_client_sends_while_it_waits_is_read_later(tmp_path: Path) -> None:
    with opened("honest", tmp_path) as session:
        client = session.client
        assert isinstance(client, RawHttp)
        call: Message = {"name": "slow", "arguments": {"seconds": 0.2}}
        bodies = [
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
            for number, method, params in [(7, "tools/call", call), (8, "ping", {})]
        ]
        head = f"POST /mcp HTTP/1.1\r\nMcp-Session-Id: {client.session}\r\nContent-Length: "
        with socket.create_connection(("127.0.0.1", client.port)) as sock:
            sock.sendall(b"".join(head.encode() + b"%d\r\n\r\n" % len(body) + body for body in bodies))
            received = b""
            while b'"id":8' not in received:
                received += sock.recv(1000)
        assert received.index(b'"id":7') < received.index(b'"id":8')
