"""A thousand messages from one process to another, over a UNIX socket and TCP, against bare exchanges of as many bytes.

A bare exchange dials, sends the frame and reads as many bytes back as an acknowledgement has, in alternating rounds; so
the ratio is what signing, checking and keeping cost beside the connection. The best round counts.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from bench.figures import Figure, Options
from bench.timing import answer_of
from hilt.adapters.clock_system import SystemClock
from hilt.adapters.peer_ed25519 import PeerKey
from hilt.adapters.peer_socket import SocketDoor, SocketLink
from hilt.core.envelope import PeerMessage, Sealed
from hilt.core.peer import Directory, InProcess, Peer, TcpAddress, UnixAddress, parse_address
from hilt.engine.inbox import WAITING_MAX, Inbox
from hilt.engine.post import Post
from hilt.engine.retained import Retained

REQ = ("BLT-87",)

MESSAGES = 1000
AT_ONCE = 16
BODY = PeerMessage(body="The build of v1 is done; its log is in build.log. " * 4)
ANSWER_BYTES = 450
Send = Callable[[], Awaitable[object]]


def measure(options: Options) -> list[Figure]:
    """Return the time of a message, one after another and 16 at once, per kind of socket."""
    figures: list[Figure] = []
    messages = options.times(MESSAGES, 20)
    for kind in ("unix", "tcp"):
        found = answer_of("bench.peer", "send", kind, options.times(5, 1), messages)
        for how, words in (("one", "one by one"), ("many", f"{AT_ONCE} at once")):
            hilt, bare = found[f"hilt_{how}"], found[f"bare_{how}"]
            figures.append(
                Figure(
                    what=f"{messages:,} messages to another process, {kind}, {words}: hilt / bare exchange",
                    value=hilt / bare,
                    unit="x",
                    beside=f"{hilt * 1000:.2f} ms to {bare * 1000:.2f} ms each",
                )
            )
    return figures


async def listen(text: str, folder: str, bare: str) -> None:
    """Be the process that receives: Bob, who has read what waits before it is too much, or one that only answers."""
    address = parse_address(text)
    assert not isinstance(address, InProcess)
    if bare:
        receive: Callable[[bytes], bytes] = lambda _: bytes(ANSWER_BYTES)  # noqa: E731 - the shortest of receivers
    else:
        receive = _read_before_full(folder)
    async with anyio.create_task_group() as tasks:
        door = SocketDoor(address, tasks)
        await door.open(receive)
        print("ready", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        await door.aclose()


def _read_before_full(folder: str) -> Callable[[bytes], bytes]:
    ann, bob = (PeerKey.kept(Path(folder) / name) for name in ("ann", "bob"))
    inbox = Inbox(bob, Directory(peers=(Peer(name="ann", id=ann.id, address=InProcess()),)), clock=SystemClock())
    inbox.enter("one")
    keep = Retained().keep
    taken = 0

    def receive(frame: bytes) -> bytes:
        nonlocal taken
        taken += 1
        if taken % (WAITING_MAX // 2) == 0:
            inbox.take("one", keep)
        return inbox.receive(frame)

    return receive


@asynccontextmanager
async def listener(address: UnixAddress | TcpAddress, folder: str, *, bare: bool) -> AsyncIterator[None]:
    """Have a process that listens."""
    words = [sys.executable, "-m", "bench.peer", "listen", str(address), folder, "bare" if bare else ""]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert await anyio.to_thread.run_sync(process.stdout.readline) == "ready\n"
        yield
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(20)


async def best(send: Send, messages: int) -> dict[str, float]:
    """Return the seconds of one message: one after another, and several at once."""
    begun = time.perf_counter()
    for _ in range(messages):
        await send()
    one = (time.perf_counter() - begun) / messages

    async def some(count: int) -> None:
        for _ in range(count):
            await send()

    begun = time.perf_counter()
    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE):
            group.start_soon(some, max(messages // AT_ONCE, 1))
    return {"one": one, "many": (time.perf_counter() - begun) / (max(messages // AT_ONCE, 1) * AT_ONCE)}


async def send(kind: str, rounds: str, messages: str) -> None:
    """Be the process that sends, and print the best round of each."""
    with tempfile.TemporaryDirectory() as folder:
        ann, bob = (PeerKey.kept(Path(folder) / name) for name in ("ann", "bob"))
        places = [_place(kind, folder, name) for name in ("hilt", "bare")]
        peers = [Peer(name="bob", id=bob.id, address=place) for place in places]
        clock = SystemClock()
        async with listener(places[0], folder, bare=False), listener(places[1], folder, bare=True):
            directory = Directory(peers=(peers[0],))
            link = SocketLink()
            post = Post(ann, directory, Inbox(ann, directory, clock=clock), links=lambda _: link, clock=clock)
            frame = Sealed(key=bytes(32), signature=bytes(64), body=bytes(len(BODY.body) + 300)).to_bytes()
            contestants: dict[str, Send] = {
                "hilt": lambda: post.send(peers[0], BODY, session="one"),
                "bare": lambda: link.exchange(peers[1], frame),
            }
            found: dict[str, float] = {}
            for _ in range(int(rounds)):
                for name, one in contestants.items():
                    for how, seconds in (await best(one, int(messages))).items():
                        key = f"{name}_{how}"
                        found[key] = min(found.get(key, seconds), seconds)
    print(json.dumps(found))


def _place(kind: str, folder: str, name: str) -> UnixAddress | TcpAddress:
    if kind == "unix":
        return UnixAddress(path=os.path.join(folder, f"{name}.sock"))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return TcpAddress(host="127.0.0.1", port=probe.getsockname()[1])


if __name__ == "__main__":
    roles: dict[str, Callable[..., Awaitable[None]]] = {"listen": listen, "send": send}
    anyio.run(roles[sys.argv[1]], *sys.argv[2:])
