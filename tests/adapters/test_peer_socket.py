"""Agents over sockets: what strangers may do to the one who listens, and what a socket's file goes through."""

import fcntl
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream, TaskGroup, UNIXSocketStream

from hilt.adapters.peer_socket import SocketDoor, SocketLink, place
from hilt.core.envelope import ANSWER_FRAME_MAX_BYTES, FRAME_MAX_BYTES
from hilt.core.errors import ConfigError
from hilt.core.peer import InProcess, Peer, PeerId, TcpAddress, UnixAddress
from hilt.ports.peer import PeerLostError, PeerUnreachableError, PlaceTakenError

LEAVES_A_SOCKET = "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])"


@pytest.fixture
async def tasks() -> AsyncIterator[TaskGroup]:
    async with anyio.create_task_group() as group:
        yield group
        group.cancel_scope.cancel()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bob.sock"


def bob(path: Path) -> Peer:
    return Peer(name="bob", id=PeerId("ed25519:x"), address=UnixAddress(path=str(path)))


def framed(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


async def rest_of(stream: UNIXSocketStream) -> bytes:
    """Return what is still sent before the other side hangs up, in whatever way."""
    read = b""
    with anyio.fail_after(20):
        try:
            while True:
                read += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return read


# ---------------------------------------------------------------- strangers


@pytest.mark.req("BLT-86")
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\0",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\xff\xff\xff\xff" + b"x" * 1000,
        (FRAME_MAX_BYTES + 1).to_bytes(4, "big"),
        framed(b"x" * 500)[:-1],
        framed(b""),
    ],
)
async def test_bytes_that_are_no_frame_end_their_connection_alone(path: Path, tasks: TaskGroup, sent: bytes) -> None:
    door = SocketDoor(UnixAddress(path=str(path)), tasks)
    taken: list[bytes] = []

    def receive(frame: bytes) -> bytes:
        taken.append(frame)
        return b""

    await door.open(receive)
    async with await anyio.connect_unix(str(path)) as stream:
        try:
            await stream.send(sent)
            await stream.send_eof()
        except (anyio.BrokenResourceError, OSError):
            pass  # it was hung up on before it had said everything
        assert await rest_of(stream) == b""
    assert taken in ([], [b""])
    with anyio.fail_after(20):
        with pytest.raises(PeerLostError):
            await SocketLink().exchange(bob(path), b"good")
    assert taken[-1] == b"good"
    await door.aclose()


@pytest.mark.req("BLT-86")
async def test_a_connection_that_drips_or_only_holds_on_is_ended_at_its_deadline(path: Path, tasks: TaskGroup) -> None:
    door = SocketDoor(UnixAddress(path=str(path)), tasks, connection_s=0.3)
    await door.open(lambda frame: frame)
    begun = time.monotonic()
    async with await anyio.connect_unix(str(path)) as holding, await anyio.connect_unix(str(path)) as dripping:

        async def drip() -> None:
            try:
                for byte in framed(b"x" * 10_000):
                    await dripping.send(bytes([byte]))
                    await anyio.sleep(0.01)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

        async with anyio.create_task_group() as group:
            group.start_soon(drip)
            assert await rest_of(holding) == b""
            assert await rest_of(dripping) == b""
    assert time.monotonic() - begun < (20 if os.environ.get("CI") else 10)
    await door.aclose()


@pytest.mark.req("BLT-86")
async def test_a_flood_of_connections_keeps_nobody_out(path: Path, tasks: TaskGroup) -> None:
    door = SocketDoor(UnixAddress(path=str(path)), tasks, connections_max=4)
    await door.open(lambda frame: frame)
    held = [await anyio.connect_unix(str(path)) for _ in range(20)]
    with anyio.fail_after(20):
        for _ in range(3):
            assert await SocketLink().exchange(bob(path), b"x") == b"x"
    cut = 0
    for stream in held[:16]:
        cut += await rest_of(stream) == b""
    assert cut == 16
    await door.aclose()
    for stream in held:
        await stream.aclose()


async def test_a_fault_of_the_receiver_ends_one_connection_and_is_logged(
    path: Path, tasks: TaskGroup, caplog: pytest.LogCaptureFixture
) -> None:
    def receive(frame: bytes) -> bytes:
        if frame == b"bad":
            raise ZeroDivisionError
        return frame

    door = SocketDoor(UnixAddress(path=str(path)), tasks)
    await door.open(receive)
    with anyio.fail_after(20):
        with pytest.raises(PeerLostError):
            await SocketLink().exchange(bob(path), b"bad")
        assert await SocketLink().exchange(bob(path), b"good") == b"good"
    await door.aclose()
    assert [record.getMessage() for record in caplog.records] == [f"peer_connection_failed address=unix:{path}"]


@pytest.mark.req("BLT-87")
@pytest.mark.parametrize(
    "answer", [b"", b"\0\0", framed(b"x" * 20)[:-1], (ANSWER_FRAME_MAX_BYTES + 1).to_bytes(4, "big")]
)
async def test_an_answer_that_is_cut_or_too_large_is_none(path: Path, answer: bytes) -> None:
    listener = await anyio.create_unix_listener(str(path))

    async def serve(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(answer or b"\0")

    async with anyio.create_task_group() as group, listener:
        group.start_soon(listener.serve, serve)
        with anyio.fail_after(20), pytest.raises(PeerLostError):
            await SocketLink().exchange(bob(path), b"x")
        group.cancel_scope.cancel()


async def test_an_address_that_cannot_be_dialed_says_why(tmp_path: Path, path: Path) -> None:
    link = SocketLink()
    for peer, why in (
        (bob(path), "No such file or directory"),
        (Peer(name="bob", id=PeerId("x"), address=TcpAddress(host="127.0.0.1", port=1)), "."),
        (Peer(name="bob", id=PeerId("x"), address=TcpAddress(host="name.invalid", port=1)), "."),
        (Peer(name="bob", id=PeerId("x"), address=InProcess()), "no address is configured"),
    ):
        with anyio.fail_after(30), pytest.raises(PeerUnreachableError, match=why):
            await link.exchange(peer, b"x")


# ---------------------------------------------------------------- the socket's file


async def test_a_socket_is_for_its_owner_and_gone_after_the_close(path: Path, tasks: TaskGroup) -> None:
    door = SocketDoor(UnixAddress(path=str(path)), tasks)
    await door.open(lambda frame: frame)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    await door.aclose()
    assert list(path.parent.iterdir()) == []


async def test_a_socket_that_a_dead_process_left_is_replaced(path: Path, tasks: TaskGroup) -> None:
    subprocess.run([sys.executable, "-c", LEAVES_A_SOCKET, str(path)], check=True)
    assert path.is_socket()
    door = SocketDoor(UnixAddress(path=str(path)), tasks)
    await door.open(lambda frame: frame)
    with anyio.fail_after(20):
        assert await SocketLink().exchange(bob(path), b"x") == b"x"
    await door.aclose()


async def test_a_socket_that_somebody_listens_at_is_left_alone(path: Path, tasks: TaskGroup) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen(1)
        before = path.stat().st_ino
        with pytest.raises(PlaceTakenError, match="another process listens there"):
            await SocketDoor(UnixAddress(path=str(path)), tasks).open(lambda frame: frame)
        assert path.stat().st_ino == before


async def test_a_file_at_the_sockets_place_is_never_removed(path: Path, tasks: TaskGroup) -> None:
    path.write_text("mine")
    with pytest.raises(ConfigError, match="something else than a socket; choose another path"):
        await SocketDoor(UnixAddress(path=str(path)), tasks).open(lambda frame: frame)
    assert path.read_text() == "mine"


async def test_a_socket_that_another_made_meanwhile_is_not_removed(path: Path, tasks: TaskGroup) -> None:
    door = SocketDoor(UnixAddress(path=str(path)), tasks)
    await door.open(lambda frame: frame)
    path.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        await door.aclose()
        assert path.is_socket()


async def test_a_socket_that_is_gone_already_is_no_fault(
    tmp_path: Path, tasks: TaskGroup, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "run"
    for folder_too in (False, True):
        folder.mkdir(exist_ok=True)
        door = SocketDoor(UnixAddress(path=str(folder / "x.sock")), tasks)
        await door.open(lambda frame: frame)
        (folder / "x.sock").unlink()
        if folder_too:
            folder.rmdir()
        await door.aclose()
    assert len([r for r in caplog.records if r.getMessage().startswith("peer_socket_left")]) == 1


async def test_a_place_that_cannot_be_listened_at_says_why(
    tmp_path: Path, tasks: TaskGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses: list[UnixAddress | TcpAddress] = [
        UnixAddress(path=str(tmp_path / "no folder" / "x.sock")),
        TcpAddress(host="192.0.2.1", port=7000),
        TcpAddress(host="name.invalid", port=7000),
    ]
    for address in addresses:
        with pytest.raises(ConfigError, match="nobody can listen there: "):
            await SocketDoor(address, tasks).open(lambda frame: frame)
    monkeypatch.setattr(place, "LOCK_S", 0.05)
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match="another process holds its folder"):
            await SocketDoor(UnixAddress(path=str(tmp_path / "x.sock")), tasks).open(lambda frame: frame)
    finally:
        os.close(folder)


async def test_closing_ends_connections_that_are_open(path: Path, tasks: TaskGroup) -> None:
    door = SocketDoor(UnixAddress(path=str(path)), tasks)
    entered = anyio.Event()

    def receive(frame: bytes) -> bytes:
        entered.set()
        return frame

    await door.open(receive)
    async with await anyio.connect_unix(str(path)) as stream:
        await stream.send(b"\0\0")
        with anyio.fail_after(20):
            assert await SocketLink().exchange(bob(path), b"x") == b"x"
            await door.aclose()
        assert await rest_of(stream) == b""
    assert entered.is_set()
