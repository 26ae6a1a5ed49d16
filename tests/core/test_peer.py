"""Ids and addresses of agents as texts."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.peer import (
    ID_PATTERN,
    Address,
    Directory,
    InProcess,
    Peer,
    TcpAddress,
    UnixAddress,
    key_of,
    parse_address,
    peer_id,
)

ANN, BOB = (peer_id(bytes([number]) * 32) for number in (1, 2))


@given(st.binary(min_size=32, max_size=32))
def test_a_key_has_one_text_and_is_read_back_from_it(key: bytes) -> None:
    text = peer_id(key)
    assert re.fullmatch(ID_PATTERN, text)
    assert key_of(text) == key


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_key_of_another_length_has_no_id(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        peer_id(bytes(size))


@pytest.mark.parametrize(
    "text", ["", "ed25519:", "ed25519:" + "A" * 42, "ed25519:" + "A" * 42 + "B", ANN + "=", "x" + ANN]
)
def test_a_text_that_is_no_id_stands_for_no_key(text: str) -> None:
    with pytest.raises(ValueError, match="no id of an agent"):
        key_of(text)


@pytest.mark.req("BLT-86")
@pytest.mark.parametrize(
    ("text", "address"),
    [
        (None, InProcess()),
        ("unix:/run/me/a.sock", UnixAddress(path="/run/me/a.sock")),
        ("unix:~/a.sock", UnixAddress(path="/home/ann/a.sock")),
        ("tcp:127.0.0.1:7000", TcpAddress(host="127.0.0.1", port=7000)),
        ("tcp:build.example.com:1", TcpAddress(host="build.example.com", port=1)),
        ("tcp:[::1]:65535", TcpAddress(host="::1", port=65535)),
    ],
)
def test_an_address_is_read_and_written_as_people_write_it(text: str | None, address: Address) -> None:
    assert parse_address(text, home="/home/ann") == address
    assert str(address) == ("in-process" if text is None else text.replace("~", "/home/ann"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/run/a.sock",
        "unix:a.sock",
        "unix:",
        "unix:~/a",
        "unix:/a\x00b",
        "tcp:host",
        "tcp:host:0",
        "tcp:host:65536",
        "tcp::7000",
        "tcp:::1:7000",
        "http://host:1",
        "tcp:a b:1",
        "unix:/" + "a" * 107,
    ],
)
def test_what_is_no_address_is_refused_with_what_one_looks_like(text: str) -> None:
    with pytest.raises(ValueError, match=r"unix:|absolute path|at most 107 bytes"):
        parse_address(text)


def test_a_peer_is_found_by_its_name_or_id() -> None:
    one = Peer(name="ann", id=ANN, address=InProcess())
    two = Peer(name="bob", id=BOB, address=TcpAddress(host="::1", port=7))
    directory = Directory(peers=(one, two))
    assert [directory.find(text) for text in ("ann", BOB, "ANN", "")] == [one, two, None, None]
    assert two.to_json() == {"name": "bob", "peer_id": BOB, "address": "tcp:[::1]:7"}
