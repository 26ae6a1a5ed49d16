"""What every way between agents promises: doors and the links that lead to them."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import pytest
from anyio.abc import TaskGroup

from hilt.adapters.inmemory.peer import LocalDoor, LocalLink
from hilt.adapters.peer_ed25519 import PeerKey
from hilt.adapters.peer_socket import SocketDoor, SocketLink
from hilt.core.envelope import FRAME_MAX_BYTES
from hilt.core.peer import Address, InProcess, Peer, TcpAddress, UnixAddress
from hilt.ports.peer import PeerDoor, PeerLink, PeerUnreachableError, PlaceTakenError
from tests.engine.peer_kit import free_port

BOB = PeerKey.new()


def door_at(address: Address, tasks: TaskGroup) -> PeerDoor:
    return LocalDoor(BOB.id) if isinstance(address, InProcess) else SocketDoor(address, tasks)


WAYS: dict[str, tuple[Callable[[Path], Address], Callable[[], PeerLink]]] = {
    "in-process": (lambda _: InProcess(), LocalLink),
    "unix": (lambda folder: UnixAddress(path=str(folder / "bob.sock")), SocketLink),
    "tcp": (lambda _: TcpAddress(host="127.0.0.1", port=free_port()), SocketLink),
    "tcp by name": (lambda _: TcpAddress(host="localhost", port=free_port()), SocketLink),
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Peer, PeerLink]:
    address, link = WAYS[request.param]
    return Peer(name="bob", id=BOB.id, address=address(tmp_path)), link()


@pytest.fixture
async def tasks() -> AsyncIterator[TaskGroup]:
    async with anyio.create_task_group() as group:
        yield group
        group.cancel_scope.cancel()


@pytest.mark.req("BLT-86")
async def test_a_frame_goes_in_and_its_answer_comes_back(way: tuple[Peer, PeerLink], tasks: TaskGroup) -> None:
    peer, link = way
    door = door_at(peer.address, tasks)
    await door.open(lambda frame: frame[::-1][:100])
    try:
        with anyio.fail_after(20):
            assert await link.exchange(peer, b"abc") == b"cba"
            assert await link.exchange(peer, b"x" * FRAME_MAX_BYTES) == b"x" * 100
    finally:
        await door.aclose()


async def test_many_frames_at_once_each_get_their_own_answer(way: tuple[Peer, PeerLink], tasks: TaskGroup) -> None:
    peer, link = way
    door = door_at(peer.address, tasks)
    await door.open(lambda frame: frame + b"!")
    answers: dict[int, bytes] = {}

    async def one(number: int) -> None:
        answers[number] = await link.exchange(peer, f"{number}".encode())

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for number in range(40):
                group.start_soon(one, number)
        await door.aclose()
    assert answers == {number: f"{number}!".encode() for number in range(40)}


async def test_nobody_is_reached_before_a_door_opens_or_after_it_closed(
    way: tuple[Peer, PeerLink], tasks: TaskGroup
) -> None:
    peer, link = way
    door = door_at(peer.address, tasks)
    await door.aclose()
    with anyio.fail_after(20):
        with pytest.raises(PeerUnreachableError):
            await link.exchange(peer, b"x")
        await door.open(lambda frame: frame)
        assert await link.exchange(peer, b"x") == b"x"
        await door.aclose()
        await door.aclose()
        with pytest.raises(PeerUnreachableError):
            await link.exchange(peer, b"x")


async def test_a_place_is_taken_once_and_free_again_afterwards(way: tuple[Peer, PeerLink], tasks: TaskGroup) -> None:
    peer, link = way
    first, second = door_at(peer.address, tasks), door_at(peer.address, tasks)
    await first.open(lambda _: b"first")
    with anyio.fail_after(20):
        with pytest.raises(PlaceTakenError):
            await second.open(lambda _: b"second")
        await second.aclose()
        assert await link.exchange(peer, b"x") == b"first"
        await first.aclose()
        third = door_at(peer.address, tasks)
        await third.open(lambda _: b"third")
        assert await link.exchange(peer, b"x") == b"third"
        await third.aclose()
