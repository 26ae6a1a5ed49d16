"""Other agents that this one exchanges messages with: their names, ids and addresses.

The id of an agent is its public key, an Ed25519 key: `ed25519:` and the 32 bytes in base64url without padding.
"""

import base64
import re
from dataclasses import dataclass
from typing import Final, NewType

PeerId = NewType("PeerId", str)

KEY_BYTES: Final = 32
ID_PREFIX: Final = "ed25519:"
ID_PATTERN: Final = r"ed25519:[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]"
"""The last character stands for four bits alone, so that each key has one text."""

NAME_PATTERN: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
ADDRESS_PATTERN: Final = r"unix:(/|~/)[^\r\n]+|tcp:[^\s/]+:[0-9]{1,5}"
ADDRESS_FORMS: Final = "unix:/PATH or tcp:HOST:PORT"
UNIX_PATH_MAX_BYTES: Final = 107
PORT_MAX: Final = 65_535

_TCP: Final = re.compile(r"tcp:(?:\[(?P<six>[0-9A-Fa-f:.%]+)\]|(?P<host>[^\s/:\[\]]+)):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class InProcess:
    """In this process, wherever that is."""

    def __str__(self) -> str:
        return "in-process"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnixAddress:
    """A UNIX socket of this host, by its absolute path."""

    path: str

    def __str__(self) -> str:
        return f"unix:{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpAddress:
    """A TCP port of a host: a name or an address, an IPv6 one without brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"tcp:[{self.host}]:{self.port}" if ":" in self.host else f"tcp:{self.host}:{self.port}"


Address = InProcess | UnixAddress | TcpAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Another agent: the name that this one calls it by, its key, and where it listens."""

    name: str
    id: PeerId
    address: Address

    def to_json(self) -> dict[str, object]:
        """Return the peer as a JSON object."""
        return {"name": self.name, "peer_id": self.id, "address": str(self.address)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """The peers of one agent, in their order; the only agents that it hears and speaks to."""

    peers: tuple[Peer, ...] = ()

    def find(self, text: str) -> Peer | None:
        """Return the peer of a name, else of an id."""
        return next((peer for peer in self.peers if peer.name == text), None) or self.of_id(text)

    def of_id(self, id_: str) -> Peer | None:
        """Return the peer of an id."""
        return next((peer for peer in self.peers if peer.id == id_), None)


def peer_id(key: bytes) -> PeerId:
    """Return the id that stands for a public key.

    Raises:
        ValueError: A key has 32 bytes.
    """
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes")
    return PeerId(ID_PREFIX + base64.urlsafe_b64encode(key).decode("ascii").rstrip("="))


def key_of(id_: str) -> bytes:
    """Return the public key that an id stands for.

    Raises:
        ValueError: It is no id.
    """
    if re.fullmatch(ID_PATTERN, id_) is None:
        raise ValueError(f"{id_[:80]!r} is no id of an agent; one is {ID_PREFIX} and 43 characters of base64url")
    return base64.urlsafe_b64decode(id_.removeprefix(ID_PREFIX) + "=")


def parse_address(text: str | None, *, home: str = "") -> Address:
    """Return the address that a text stands for; None is this process, `~/` is the home directory.

    Raises:
        ValueError: It is none; says what one looks like.
    """
    if text is None:
        return InProcess()
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        path = f"{home}/{path[2:]}" if path.startswith("~/") and home else path
        if not path.startswith("/") or "\0" in path:
            raise ValueError(f"expected an absolute path in {text!r}")
        if len(path.encode("utf-8", "surrogatepass")) > UNIX_PATH_MAX_BYTES:
            raise ValueError(f"a UNIX socket's path has at most {UNIX_PATH_MAX_BYTES} bytes; choose a shorter one")
        return UnixAddress(path=path)
    found = _TCP.fullmatch(text)
    if found is None or not 1 <= int(found["port"]) <= PORT_MAX:
        raise ValueError(f"expected {ADDRESS_FORMS}, got {text[:80]!r}")
    return TcpAddress(host=found["six"] or found["host"], port=int(found["port"]))
