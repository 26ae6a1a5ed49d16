"""This agent among its peers: its key, its directory, where it listens; all from the first session with comms on.

Looking at the catalog, as `hilt tools list` and `hilt doctor` do, makes no key and takes no message.
"""

import logging
import os
import re
from collections import Counter
from collections.abc import MutableMapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from hilt.adapters.inmemory.peer import LocalDoor, LocalLink
from hilt.adapters.peer_ed25519 import PeerKey
from hilt.adapters.peer_socket import SocketDoor, SocketLink
from hilt.app.catalog import CommsPart
from hilt.app.config import Config
from hilt.app.secrets import peer_key_file
from hilt.builtins.comms import comms_tools
from hilt.core.envelope import Content
from hilt.core.errors import ConfigError, HarnessFault
from hilt.core.peer import Address, Directory, InProcess, Peer, PeerId, TcpAddress, parse_address
from hilt.core.session import SessionRecord
from hilt.core.shaping import Keep
from hilt.engine.inbox import Inbox
from hilt.engine.mail import SessionMail
from hilt.engine.post import Post
from hilt.ports.clock import Clock
from hilt.ports.peer import PeerDoor, PeerKeys, PeerLink, PeerPost, PlaceTakenError

logger = logging.getLogger(__name__)

CATEGORY: Final = "comms"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    """What there is from the first session on."""

    inbox: Inbox
    post: Post


class Comms:
    """See the module. It is also the `PeerPost` of all sessions."""

    def __init__(self, config: Config, tasks: TaskGroup, *, clock: Clock, key: PeerKeys | None = None) -> None:
        """Check what the settings say; `key` is the host's own, None takes that of the folder of state.

        Raises:
            ConfigError: Two peers have one name or key, an address is wrong, or this agent's key cannot be used.
        """
        self._config = config
        self._tasks = tasks
        self._clock = clock
        self._directory = directory_of(config)
        self._listen = _address(config, config.comms.listen, "comms.listen")
        self._key = key
        if self._key is None and config.state_dir and os.path.lexists(peer_key_file(config)):
            self._key = kept_key(config)
        if self._key is not None:
            self._refuse_own(self._key)
        elif not config.state_dir:
            raise ConfigError("there is no folder for its key; give services={hilt.PeerKeys: key}", key=CATEGORY)
        self._running: _Running | None = None
        self._lock = anyio.Lock()
        self._doors = AsyncExitStack()

    @property
    def directory(self) -> Directory:
        """See `PeerPost.directory`."""
        return self._directory

    async def send(self, to: Peer, content: Content, *, session: str) -> str:
        """See `PeerPost.send`."""
        if self._running is None:
            raise HarnessFault("an agent sends from within a session")
        return await self._running.post.send(to, content, session=session)

    def mail(self, record: SessionRecord, keep: Keep) -> SessionMail | None:
        """Return a session's part in the inbox, None where it was created without the category."""
        if record.enable is not None and CATEGORY not in record.enable:
            return None
        return SessionMail(record.id, self._begun, keep)

    async def aclose(self) -> None:
        """Take no message any more and stop listening; what nobody has read is told."""
        if self._running is not None:
            self._running.inbox.end()
        await self._doors.aclose()

    async def _begun(self) -> Inbox:
        """Return the inbox; the first time get the key and listen.

        Raises:
            ConfigError: The key cannot be had, or nobody can listen at the address.
        """
        async with self._lock:
            if self._running is None:
                self._running = await self._begin()
            return self._running.inbox

    async def _begin(self) -> _Running:
        key = await to_thread.run_sync(kept_key, self._config) if self._key is None else self._key
        self._refuse_own(key)
        inbox = Inbox(key, self._directory, clock=self._clock, session=self._config.comms.session or "")
        try:
            for door, place in self._places(key.id):
                await self._opened(door, inbox, place)
        except BaseException:
            await self._doors.aclose()
            raise
        near, far = LocalLink(), SocketLink()

        def link(peer: Peer) -> PeerLink:
            return near if isinstance(peer.address, InProcess) else far

        return _Running(inbox=inbox, post=Post(key, self._directory, inbox, links=link, clock=self._clock))

    def _refuse_own(self, key: PeerKeys) -> None:
        if self._directory.of_id(key.id) is not None:
            raise _fault(self._config, "comms.peers", f"it lists this agent's own key {key.id}")

    def _places(self, id_: PeerId) -> Sequence[tuple[PeerDoor, str]]:
        """Return where this agent listens: in this process, and at the address of the settings."""
        places: list[tuple[PeerDoor, str]] = [(LocalDoor(id_), "in this process")]
        if not isinstance(self._listen, InProcess):
            places.append((SocketDoor(self._listen, self._tasks), str(self._listen)))
        return places

    async def _opened(self, door: PeerDoor, inbox: Inbox, place: str) -> None:
        try:
            await door.open(inbox.receive)
        except PlaceTakenError as exc:
            logger.warning("peer_messages_go_elsewhere place=%s why=%s; this one only sends", place, exc)
            return
        except ConfigError as exc:
            raise _fault(self._config, "comms.listen", exc.reason) from None
        self._doors.push_async_callback(door.aclose)
        if isinstance(door, SocketDoor) and _in_clear(self._listen):
            logger.warning("peer_messages_in_clear place=%s why=they are signed and not encrypted", place)


def comms_part(config: Config, tasks: TaskGroup, *, clock: Clock, services: MutableMapping[type, object]) -> CommsPart:
    """Return the category for an agent with peers and add to the services what its tools send through.

    Raises:
        ConfigError: Two peers have one name or key, an address is wrong, or the key has no place.
    """
    key: PeerKeys | None = services.get(PeerKeys)  # type: ignore[assignment]  # each type with an object of it
    comms = Comms(config, tasks, clock=clock, key=key)
    services.setdefault(PeerPost, comms)
    return CommsPart(tools=comms_tools(comms.directory), mail=comms.mail, close=comms.aclose)


def directory_of(config: Config) -> Directory:
    """Return the peers of the settings.

    Raises:
        ConfigError: Two have one name or key, or an address is wrong.
    """
    peers = [
        Peer(
            name=one.name,
            id=PeerId(one.key),
            address=_address(config, one.address, f"comms.peers[{index}].address"),
        )
        for index, one in enumerate(config.comms.peers)
    ]
    for what, values in (("name", [peer.name for peer in peers]), ("key", [peer.id for peer in peers])):
        twice = [value for value, count in Counter(values).items() if count > 1]
        if twice:
            raise _fault(config, "comms.peers", f"two peers have the {what} {twice[0]!r}")
    return Directory(peers=tuple(peers))


def kept_key(config: Config) -> PeerKey:
    """Return this agent's key from the folder of state, where it is made if there is none.

    Raises:
        ConfigError: It cannot be read or made.
    """
    file = peer_key_file(config)
    return PeerKey.kept(file, shown=f"{file.parent.name}/{file.name} of the folder of state")


def _in_clear(address: Address) -> bool:
    """Tell whether others than this host can read along."""
    return isinstance(address, TcpAddress) and not (
        address.host in ("localhost", "::1") or re.fullmatch(r"127(\.[0-9]{1,3}){3}", address.host)
    )


def _address(config: Config, text: str | None, key: str) -> Address:
    try:
        return parse_address(text, home=config.home)
    except ValueError as exc:
        raise _fault(config, key, str(exc)) from None


def _fault(config: Config, key: str, message: str) -> ConfigError:
    source = config.source(key.partition("[")[0])
    named = None if source.kind == "default" else source.name
    return ConfigError(message, key=key, source=named, line=source.line or None)
