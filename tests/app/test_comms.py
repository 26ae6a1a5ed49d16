"""An agent among its peers as an application has it: settings, key, when it listens, what a close leaves."""

import logging
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from hilt.adapters.peer_ed25519 import PeerKey
from hilt.app.comms import comms_part
from hilt.app.config import Config
from hilt.app.explain import Desk
from hilt.app.settings import CommsSettings, PeerSettings
from hilt.core.envelope import PeerMessage
from hilt.core.errors import ConfigError, HarnessFault
from hilt.core.peer import InProcess, Peer, PeerId
from hilt.engine.session import Session
from hilt.ports.peer import PeerKeys, PeerPost
from tests.app.house import House, house
from tests.app.places import Machine
from tests.engine.peer_kit import free_port
from tests.flows.kit import allow, call

EVE = PeerKey.new()
SEND = {"to": "bob", "body": "hi"}


def settings(key: PeerKey = EVE, *, listen: str | None = None, address: str | None = None, name: str = "bob") -> Config:
    peers = (PeerSettings(name=name, key=key.id, address=address),)
    return Config(comms=CommsSettings(listen=listen, peers=peers))


@asynccontextmanager
async def agent(root: Path, config: Config, key: PeerKey | None = None, **more: object) -> AsyncIterator[House]:
    services = {} if key is None else {PeerKeys: key}
    async with house(root, config=config, services=services, rules=allow("send_*"), enable_comms=True, **more) as home:
        yield home


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine.below(tmp_path)


# ---------------------------------------------------------------- settings


@pytest.mark.req("BLT-86", "CLI-51")
@pytest.mark.parametrize(
    ("comms", "key", "what"),
    [
        ("peers: [bob]", "comms.peers[0]", "expected a table"),
        ("peers: [{name: bob}]", "comms.peers[0].key", "is missing"),
        ("peers: [{name: bob, key: x}]", "comms.peers[0].key", "as `hilt comms key` prints it"),
        ("peers: [{name: 'a b', key: 'KEY'}]", "comms.peers[0].name", "a name of letters"),
        ("peers: [{name: b, key: 'KEY', address: 'b.sock'}]", "comms.peers[0].address", "unix:/PATH or tcp:"),
        ("listen: 'unix:b.sock'", "comms.listen", "unix:/PATH or tcp:HOST:PORT"),
        ("name: '../x'", "comms.name", "a name of letters"),
        ("port: 1", "comms.port", "unknown key"),
    ],
)
def test_settings_that_are_wrong_name_line_and_key(machine: Machine, comms: str, key: str, what: str) -> None:
    machine.user(f"comms:\n  {comms}\n".replace("KEY", EVE.id))
    with pytest.raises(ConfigError) as caught:
        machine.load()
    assert (caught.value.source, caught.value.line, caught.value.key) == ("~/.config/hilt/settings.yaml", 2, key)
    assert what in str(caught.value)


@pytest.mark.req("BLT-86")
@pytest.mark.parametrize(
    ("peers", "what"),
    [
        ([("bob", EVE.id, None), ("bob", PeerKey.new().id, None)], "comms.peers: two peers have the name 'bob'"),
        ([("a", EVE.id, None), ("b", EVE.id, None)], "comms.peers: two peers have the key 'ed25519:"),
        ([("bob", EVE.id, "tcp:host:99999")], "comms.peers[0].address: expected unix:/PATH or tcp:HOST:PORT"),
        ([("bob", EVE.id, "unix:/" + "x" * 200)], "comms.peers[0].address: a UNIX socket's path has at most 107 bytes"),
    ],
    ids=["name", "key", "port", "path"],
)
async def test_peers_that_cannot_be_stop_the_build(
    tmp_path: Path, peers: list[tuple[str, str, str | None]], what: str
) -> None:
    found = tuple(PeerSettings(name=name, key=key, address=address) for name, key, address in peers)
    config = Config(comms=CommsSettings(peers=found), state_dir=str(tmp_path))
    with pytest.raises(ConfigError) as caught:
        async with agent(tmp_path, config):
            raise AssertionError
    assert str(caught.value).startswith(what)


async def test_the_place_of_a_wrong_value_is_told(machine: Machine) -> None:
    machine.user(f"comms:\n  peers:\n    - {{name: bob, key: '{EVE.id}', address: 'tcp:x:70000'}}\n")
    with pytest.raises(ConfigError, match=r"^~/\.config/hilt/settings\.yaml:2: comms\.peers\[0\]\.address: expected"):
        async with agent(machine.root, machine.load()):
            raise AssertionError


async def test_an_agent_without_a_place_for_its_key_stops_the_build(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no folder for its key; give services="):
        async with agent(tmp_path, settings()):
            raise AssertionError


async def test_an_agent_is_not_its_own_peer(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"comms\.peers: it lists this agent's own key ed25519:"):
        async with agent(tmp_path, settings(EVE), EVE):
            raise AssertionError


# ---------------------------------------------------------------- the key


async def test_the_key_is_made_by_the_first_session_and_not_by_a_look_at_the_catalog(tmp_path: Path) -> None:
    state = tmp_path / "state"
    config = replace(settings(), state_dir=str(state))
    async with agent(tmp_path, config) as home:
        await Desk.of(home.app)
        assert not state.exists()
        await home.app.sessions.create()
        made = PeerKey.kept(state / "comms" / "agent.key")
        await home.app.sessions.create()
    assert PeerKey.kept(state / "comms" / "agent.key").id == made.id
    assert stat.S_IMODE((state / "comms" / "agent.key").stat().st_mode) == 0o600


@pytest.mark.req("BLT-06")
async def test_a_key_that_others_may_read_stops_the_build(tmp_path: Path) -> None:
    PeerKey.kept(tmp_path / "comms" / "agent.key")
    (tmp_path / "comms" / "agent.key").chmod(0o644)
    with pytest.raises(ConfigError, match=r"^comms/agent\.key of the folder of state: others may read"):
        async with agent(tmp_path, replace(settings(), state_dir=str(tmp_path))):
            raise AssertionError


async def test_a_folder_that_takes_no_key_lets_no_session_begin(tmp_path: Path) -> None:
    (tmp_path / "comms").write_text("a file")
    async with agent(tmp_path, replace(settings(), state_dir=str(tmp_path))) as home:
        with pytest.raises(ConfigError, match="the agent's key cannot be kept there: "):
            await home.app.sessions.create()


async def test_the_kept_key_is_masked_in_what_is_recorded(tmp_path: Path) -> None:
    PeerKey.kept(tmp_path / "comms" / "agent.key")
    text = (tmp_path / "comms" / "agent.key").read_text()
    config = replace(settings(), state_dir=str(tmp_path))
    async with agent(tmp_path, config, enable={"files.read", "comms"}, store=f"jsonl:{tmp_path / 'store'}") as home:
        session = await home.app.sessions.create()
        (read,) = await home.turn(session, call("Read", {"path": "comms/agent.key"}))
    secret = text.splitlines()[1]
    assert secret in read.content
    stored = "".join(path.read_text() for path in (tmp_path / "store").rglob("*") if path.is_file())
    assert "BEGIN PRIVATE" in stored
    assert secret not in stored


# ---------------------------------------------------------------- listening


async def test_it_listens_from_the_first_session_until_the_application_ends(tmp_path: Path) -> None:
    path = tmp_path / "run.sock"
    async with agent(tmp_path, settings(listen=f"unix:{path}"), PeerKey.new()) as home:
        await Desk.of(home.app)
        assert not path.exists()
        session = await home.app.sessions.create()
        assert path.is_socket()
        await session.close()
        assert path.is_socket()
    assert not path.exists()


@pytest.mark.parametrize("listen", ["unix:{}/no/x.sock", "tcp:192.0.2.1:7700"])
async def test_an_address_that_nobody_can_listen_at_lets_no_session_begin(tmp_path: Path, listen: str) -> None:
    key = PeerKey.new()
    async with agent(tmp_path, settings(listen=listen.format(tmp_path)), key) as home:
        for _ in range(2):
            with pytest.raises(ConfigError, match=r"^comms\.listen: nobody can listen there"):
                await home.app.sessions.create()
        assert list(home.app.sessions.open_sessions) == []
        assert (await home.app.sessions.list())[0] == []


async def test_a_second_process_of_the_agent_only_sends_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "bob.sock"
    key, config = PeerKey.new(), settings(listen=f"unix:{path}")
    async with agent(tmp_path, config, key) as first:
        await first.app.sessions.create()
        before = path.stat().st_ino
        async with agent(tmp_path, config, key) as second:
            await second.app.sessions.create()
        assert path.stat().st_ino == before
    warned = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warned == [
        "peer_messages_go_elsewhere place=in this process why=another application of this process has the same key; "
        "this one only sends",
        f"peer_messages_go_elsewhere place=unix:{path} why=another process listens there; this one only sends",
    ]


@pytest.mark.parametrize(("host", "warned"), [("0.0.0.0", True), ("127.0.0.1", False), ("localhost", False)])
async def test_listening_in_clear_beyond_this_host_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, host: str, warned: bool
) -> None:
    listen = f"tcp:{host}:{free_port()}"
    async with agent(tmp_path, settings(listen=listen), PeerKey.new()) as home:
        await home.app.sessions.create()
    told = [record.getMessage() for record in caplog.records if "in_clear" in record.getMessage()]
    assert told == ([f"peer_messages_in_clear place={listen} why=they are signed and not encrypted"] if warned else [])


async def test_what_nobody_read_is_counted_when_the_application_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ann, bob = PeerKey.new(), PeerKey.new()
    async with agent(tmp_path, settings(bob), ann) as sender, agent(tmp_path, settings(ann, name="ann"), bob) as home:
        await home.app.sessions.create()
        (sent,) = await sender.turn(await sender.app.sessions.create(), call("send_message", SEND))
        assert not sent.is_error
    assert "peer_messages_unread count=1 " in caplog.text


# ---------------------------------------------------------------- sessions


@pytest.mark.req("BLT-02", "BLT-88")
async def test_a_session_without_the_category_reads_no_message(tmp_path: Path) -> None:
    ann, bob = PeerKey.new(), PeerKey.new()
    options = {"enable": {"comms", "tasks"}}
    async with (
        agent(tmp_path, settings(bob), ann) as sender,
        agent(tmp_path, settings(ann, name="ann"), bob, **options) as home,
    ):
        without = await home.app.sessions.create(enable=["tasks"])
        receiving = await home.app.sessions.create(enable=["comms"])
        (sent,) = await sender.turn(await sender.app.sessions.create(), call("send_message", SEND))
        assert not sent.is_error
        for session, times in ((without, 0), (receiving, 1)):
            await home.run(session, {"text": "done"})
            texts = [getattr(message, "text", "") for message in home.model.requests[-1].messages]
            assert sum("[message " in text for text in texts) == times


async def test_a_closed_session_leaves_messages_to_others_until_a_prompt_opens_it_again(tmp_path: Path) -> None:
    ann, bob = PeerKey.new(), PeerKey.new()
    async with agent(tmp_path, settings(bob), ann) as sender, agent(tmp_path, settings(ann, name="ann"), bob) as home:
        first, second = [await home.app.sessions.create() for _ in range(2)]
        hers = await sender.app.sessions.create()

        async def read(session: Session) -> int:
            await home.run(await home.app.sessions.open(session.id), {"text": "done"})
            return str(home.model.requests[-1].messages).count("[message ")

        await first.close()
        await sender.turn(hers, call("send_message", SEND))
        assert (await read(second), await read(first)) == (1, 0)
        await second.close()
        await sender.turn(hers, call("send_message", SEND))
        assert await read(first) == 1


async def test_an_application_sends_from_within_its_sessions_alone(tmp_path: Path) -> None:
    services: dict[type, object] = {PeerKeys: PeerKey.new()}
    async with anyio.create_task_group() as tasks:
        from hilt.adapters.clock_system import SystemClock

        part = comms_part(settings(), tasks, clock=SystemClock(), services=services)
        post = services[PeerPost]
        with pytest.raises(HarnessFault, match="from within a session"):
            await post.send(Peer(name="bob", id=PeerId(EVE.id), address=InProcess()), PeerMessage(body="x"), session="")  # type: ignore[attr-defined]  # it is a post
        assert part.close is not None
        await part.close()
        await part.close()


async def test_a_host_may_bring_a_post_of_its_own(tmp_path: Path) -> None:
    class Own:
        sent: list[object] = []  # noqa: RUF012 - one test's own

        async def send(self, to: object, content: object, *, session: str) -> str:
            self.sent.append(content)
            return "own"

    services = {PeerKeys: PeerKey.new(), PeerPost: Own()}
    async with house(tmp_path, config=settings(), services=services, rules=allow("send_*"), enable_comms=True) as home:
        (sent,) = await home.turn(await home.app.sessions.create(), call("send_message", SEND))
    assert sent.content == '{"status": "sent", "id": "own"}'
    assert Own.sent == [PeerMessage(body="hi")]


def test_what_signs_is_loaded_only_with_peers() -> None:
    program = """
import anyio, sys, hilt
async def main():
    async with hilt.build(enable_comms=True) as app:
        await app.sessions.create()
anyio.run(main)
print(*(name for name in sys.modules if name.startswith(("cryptography", "hilt.adapters.peer"))))
"""
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ran.stdout.split() == []
