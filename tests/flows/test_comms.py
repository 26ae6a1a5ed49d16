"""Agents of two processes, over UNIX sockets and TCP; and a peer that is killed, replays, floods, or lies."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from anyio.abc import SocketStream

from hilt.adapters.clock_system import SystemClock
from hilt.adapters.peer_ed25519 import PeerKey
from hilt.adapters.peer_socket import SocketLink
from hilt.adapters.peer_socket.frames import read_frame, write_frame
from hilt.app.config import Config
from hilt.app.settings import CommsSettings, PeerSettings
from hilt.core.envelope import FRAME_MAX_BYTES, PeerMessage, PeerRequest, Sealed, read_envelope
from hilt.core.peer import Peer, parse_address
from hilt.ports.peer import PeerKeys, PeerLostError
from tests.app.house import House, house
from tests.engine.peer_kit import Pair, answered, free_port, outcome_of, sealed
from tests.flows.kit import allow, call

HERE = Path(__file__).parent
WAYS: dict[str, Callable[[Path, str], str]] = {
    "unix": lambda folder, name: f"unix:{folder / name}.sock",
    "tcp": lambda _, __: f"tcp:127.0.0.1:{free_port()}",
}


@pytest.fixture(params=WAYS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """Return what gives an agent of a name its address."""
    return lambda name: WAYS[request.param](tmp_path, name)


@dataclass(kw_only=True)
class Child:
    """A process that a test talks with by lines."""

    process: subprocess.Popen[str]

    async def line(self) -> str:
        """Return its next line."""
        assert self.process.stdout is not None
        with anyio.fail_after(50):
            line: str = await to_thread.run_sync(self.process.stdout.readline, abandon_on_cancel=True)
        return line.strip()

    async def turn(self, *calls: Mapping[str, object]) -> tuple[list[str], list[str]]:
        """Let the agent make these calls; return its results, and all that it was told so far."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(calls) + "\n")
        self.process.stdin.flush()
        answer = json.loads(await self.line())
        return answer["results"], answer["read"]

    def kill(self) -> None:
        """End it at once, as a crash does."""
        self.process.kill()
        self.process.wait()


@dataclass(kw_only=True)
class Town:
    """Where agents live: starts processes, and knows the key of each agent."""

    folder: Path
    children: list[Child]

    def key(self, name: str) -> PeerKey:
        """Return the key of an agent, which is kept."""
        return PeerKey.kept(self.folder / name / "comms" / "agent.key")

    def peer(self, name: str, address: str) -> PeerSettings:
        """Return an agent as another one lists it."""
        return PeerSettings(name=name, key=self.key(name).id, address=address)

    async def start(self, name: str, listen: str, *peers: PeerSettings) -> Child:
        """Start an agent and return when it listens."""
        given = {
            "folder": str(self.folder),
            "state": str(self.folder / name),
            "listen": listen,
            "peers": [{"name": peer.name, "key": peer.key, "address": peer.address} for peer in peers],
        }
        self.key(name)
        return await self.run("peer_child.py", json.dumps(given))

    async def run(self, program: str, argument: str) -> Child:
        """Start a program and return when it is ready."""
        child = Child(
            process=subprocess.Popen(
                [sys.executable, HERE / program, argument], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
        self.children.append(child)
        assert await child.line() == "ready"
        return child

    @asynccontextmanager
    async def here(self, name: str, listen: str | None, *peers: PeerSettings) -> AsyncIterator[House]:
        """Run an agent in the test's own process."""
        comms = CommsSettings(listen=listen, peers=peers)
        services = {PeerKeys: self.key(name)}
        async with house(
            self.folder, config=Config(comms=comms), services=services, rules=allow("send_*"), enable_comms=True
        ) as home:
            yield home


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    town = Town(folder=tmp_path, children=[])
    yield town
    for child in town.children:
        for stream in (child.process.stdin, child.process.stdout):
            if stream is not None:
                stream.close()
        try:
            child.process.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()


def texts(read: Sequence[str]) -> str:
    return "\n".join(read)


# ---------------------------------------------------------------- two who mean well


@pytest.mark.req("BLT-85", "BLT-86", "BLT-88")
async def test_agents_of_two_processes_exchange_a_message_a_request_and_its_response(
    town: Town, place: Callable[[str], str]
) -> None:
    ann_at, bob_at = place("ann"), place("bob")
    bob = await town.start("bob", bob_at, town.peer("ann", ann_at))
    async with town.here("ann", ann_at, town.peer("bob", bob_at)) as ann:
        session = await ann.app.sessions.create()
        sent, asked = await ann.turn(
            session,
            call("send_message", {"to": "bob", "body": "x" * 1_000_000}),
            call("send_request", {"to": "bob", "intent": "build", "params": {"tag": "v1"}}),
        )
        assert (sent.is_error, asked.is_error) == (False, False)
        request = json.loads(asked.content)["id"]
        answer = {"to": "ann", "in_reply_to": request, "status": "completed", "result": {"ok": True}}
        results, read = await bob.turn(call("send_response", answer))
        assert json.loads(results[0])["status"] == "sent"
        assert 'intent: build\nparams: {"tag": "v1"}\n' in texts(read)
        assert "xxx" in texts(read)
        await ann.turn(session, call("list_peers"))
        assert f"request {request} is completed]" in str(ann.model.requests[-1].messages)
        _, again = await bob.turn()
        assert again == read


@pytest.mark.req("BLT-86")
async def test_an_agent_that_was_killed_comes_back_at_its_address(town: Town, place: Callable[[str], str]) -> None:
    bob_at = place("bob")
    lists = town.peer("ann", place("ann"))
    async with town.here("ann", None, town.peer("bob", bob_at)) as ann:
        session = await ann.app.sessions.create()
        bob = await town.start("bob", bob_at, lists)
        bob.kill()
        (gone,) = await ann.turn(session, call("send_message", {"to": "bob", "body": "x"}))
        assert "'bob' cannot be reached: " in gone.content
        assert "nothing was sent" in gone.content
        bob = await town.start("bob", bob_at, lists)
        (sent,) = await ann.turn(session, call("send_message", {"to": "bob", "body": "again"}))
        assert not sent.is_error
        assert "\nagain\n" in texts((await bob.turn())[1])


async def test_an_agent_that_ends_removes_its_socket(town: Town, tmp_path: Path) -> None:
    bob = await town.start("bob", f"unix:{tmp_path / 'bob.sock'}", town.peer("ann", "tcp:127.0.0.1:1"))
    assert (tmp_path / "bob.sock").is_socket()
    assert bob.process.stdin is not None
    bob.process.stdin.close()
    assert bob.process.wait(50) == 0
    assert not (tmp_path / "bob.sock").exists()


# ---------------------------------------------------------------- one who does not


@pytest.mark.req("BLT-87")
async def test_delivery_to_a_peer_that_is_killed_in_the_middle_is_unknown(
    town: Town, place: Callable[[str], str]
) -> None:
    bob_at = place("bob")
    holder = await town.run("peer_holder.py", bob_at)
    async with town.here("ann", None, town.peer("bob", bob_at)) as ann:
        session = await ann.app.sessions.create()

        async def kill() -> None:
            assert await holder.line() == "taken"
            holder.kill()

        async with anyio.create_task_group() as group:
            group.start_soon(kill)
            with anyio.fail_after(50):
                (result,) = await ann.turn(session, call("send_message", {"to": "bob", "body": "x" * 100_000}))
    assert json.loads(result.content)["error"] == "execution_failed"
    assert "delivery to 'bob' is unknown: the connection ended before an acknowledgement came" in result.content


@dataclass(kw_only=True)
class Raw:
    """One who holds Ann's key and speaks to Bob's process without hilt's rules."""

    pair: Pair
    peer: Peer

    async def says(self, frame: bytes) -> str:
        """Send a frame and return what Bob says of it."""
        with anyio.fail_after(50):
            return outcome_of(await SocketLink().exchange(self.peer, frame))


@pytest.fixture
async def attack(town: Town, place: Callable[[str], str]) -> tuple[Raw, Child]:
    bob_at = place("bob")
    child = await town.start("bob", bob_at, town.peer("ann", place("ann")))
    pair = Pair(clock=SystemClock(), ann=town.key("ann"), bob=town.key("bob"))
    return Raw(pair=pair, peer=Peer(name="bob", id=pair.bob.id, address=parse_address(bob_at))), child


@pytest.mark.req("BLT-86")
async def test_a_peer_that_replays_is_read_once(attack: tuple[Raw, Child]) -> None:
    raw, bob = attack
    frame = raw.pair.frame(PeerMessage(body="pay ten"))
    assert [await raw.says(frame) for _ in range(3)] == ["accepted", "repeated", "repeated"]
    _, read = await bob.turn()
    assert texts(read).count("pay ten") == 1
    assert await raw.says(frame) == "repeated"
    assert (await bob.turn())[1] == read


@pytest.mark.req("BLT-86")
async def test_a_peer_that_replays_after_a_restart_is_not_read_again(town: Town, place: Callable[[str], str]) -> None:
    bob_at = place("bob")
    pair = Pair(clock=SystemClock(), ann=town.key("ann"), bob=town.key("bob"))
    raw = Raw(pair=pair, peer=Peer(name="bob", id=pair.bob.id, address=parse_address(bob_at)))
    outcomes = []
    frame = b""
    for _ in range(2):
        bob = await town.start("bob", bob_at, town.peer("ann", place("ann")))
        frame = frame or pair.frame()
        outcomes.append(await raw.says(frame))
        bob.kill()
    assert outcomes == ["accepted", "early"]


@pytest.mark.req("BLT-86", "BLT-88")
async def test_a_peer_that_floods_is_refused_after_1024_and_the_agent_goes_on(attack: tuple[Raw, Child]) -> None:
    raw, bob = attack
    outcomes: list[str] = []

    async def flood(numbers: Sequence[int]) -> None:
        for number in numbers:
            outcomes.append(await raw.says(raw.pair.frame(PeerMessage(body=f"#{number}."))))

    async with anyio.create_task_group() as group:
        for first in range(8):
            group.start_soon(flood, range(first, 1100, 8))
    assert (outcomes.count("accepted"), outcomes.count("full")) == (1024, 76)
    _, read = await bob.turn()
    assert texts(read).count("[message ") == 1024
    assert await raw.says(raw.pair.frame(PeerMessage(body="after"))) == "accepted"
    assert "\nafter\n" in texts((await bob.turn())[1])


@pytest.mark.req("BLT-86")
async def test_what_no_listed_key_signed_for_this_agent_is_refused(attack: tuple[Raw, Child]) -> None:
    raw, bob = attack
    eve = PeerKey.new()
    forged = raw.pair.body(PeerRequest(intent="obey"))
    hers = Pair(clock=raw.pair.clock, ann=eve, bob=raw.pair.bob)
    elsewhere = Pair(clock=raw.pair.clock, ann=raw.pair.ann, bob=eve)
    old = int(raw.pair.clock.now().timestamp() * 1000) - 301_000
    assert await raw.says(sealed(eve, forged, as_=raw.pair.ann)) == "unsigned"
    assert await raw.says(hers.frame(PeerRequest(intent="obey"))) == "unlisted"
    assert await raw.says(elsewhere.frame(PeerRequest(intent="obey"))) == "misdirected"
    assert await raw.says(sealed(raw.pair.ann, b"obey")) == "malformed"
    assert await raw.says(raw.pair.frame(PeerRequest(intent="obey"), time_ms=old)) == "stale"
    for garbage in (b"", b"x" * 96, b"x" * (FRAME_MAX_BYTES + 1)):
        with anyio.fail_after(50), pytest.raises(PeerLostError):
            await SocketLink().exchange(raw.peer, garbage)
    assert await raw.says(raw.pair.frame()) == "accepted"
    _, read = await bob.turn()
    assert texts(read).count("[message ") == 1
    assert "obey" not in texts(read)


@pytest.mark.req("BLT-87")
@pytest.mark.parametrize(
    ("lie", "why"),
    [
        ("another key", "what came back is of another agent"),
        ("another envelope", "what came back is for another message"),
        ("garbage", "what came back is of another agent"),
        ("huge", "the connection ended before an acknowledgement came"),
        ("nothing", "the connection ended before an acknowledgement came"),
    ],
)
async def test_what_is_no_acknowledgement_of_that_peer_for_that_envelope_counts_for_nothing(
    town: Town, tmp_path: Path, lie: str, why: str
) -> None:
    eve, ann, bob = PeerKey.new(), town.key("ann"), town.key("bob")
    bob_at = tmp_path / "bob.sock"
    taken: list[str] = []

    async def lies(stream: SocketStream) -> None:
        async with stream:
            parts = Sealed.of(await read_frame(stream, most=FRAME_MAX_BYTES))
            assert parts is not None
            taken.append(read_envelope(parts.body).id)
            answers = {
                "another key": answered(eve, ann, parts.body),
                "another envelope": answered(bob, ann, b"another"),
                "garbage": b"x" * 200,
                "huge": b"x" * 100_000,
            }
            if lie in answers:
                with suppress(anyio.BrokenResourceError):  # it does not read all of what is huge
                    await write_frame(stream, answers[lie])

    child = await town.start("ann", f"unix:{tmp_path / 'ann.sock'}", town.peer("bob", f"unix:{bob_at}"))
    async with await anyio.create_unix_listener(str(bob_at)) as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, lies)
        results, _ = await child.turn(call("send_message", {"to": "bob", "body": "x"}))
        group.cancel_scope.cancel()
    error = json.loads(results[0])
    assert error["error"] == "execution_failed"
    assert f"delivery to 'bob' is unknown: {why}" in error["message"]
    assert len(set(taken)) == 1


@pytest.mark.req("BLT-87")
async def test_a_call_that_is_cancelled_leaves_no_connection(town: Town, place: Callable[[str], str]) -> None:
    bob_at = place("bob")
    holder = await town.run("peer_holder.py", bob_at)
    async with town.here("ann", None, town.peer("bob", bob_at)) as ann:
        session = await ann.app.sessions.create()
        ann.model.add({"calls": [call("send_message", {"to": "bob", "body": "x"})]}, {"text": "done"})
        with anyio.fail_after(50):
            async with session.prompt("go") as run:
                assert await holder.line() == "taken"
                await session.cancel()
                async for _ in run:
                    pass
            result = await run.finished()
    assert result is not None
    assert result.stop_reason == "cancelled"
    holder.kill()
