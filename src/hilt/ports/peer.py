"""Messages between agents: keys, ways to reach a peer, places where peers come in, and what tools send through."""

from collections.abc import Callable
from typing import Protocol

from hilt.core.envelope import Content
from hilt.core.errors import HiltError
from hilt.core.peer import Directory, Peer, PeerId

Receive = Callable[[bytes], bytes]
"""Takes a frame and returns the frame of the answer, b"" where there is none. It never waits and never raises."""


class PeerUnreachableError(HiltError):
    """Nothing was sent: the peer cannot be reached; the text says why."""


class PeerLostError(HiltError):
    """The frame may have arrived: the connection ended before an answer came."""


class PlaceTakenError(HiltError):
    """Another process, or another application of this one, listens there."""


class PeerKeys(Protocol):
    """The key pair of one agent, and the check of anybody's signatures."""

    @property
    def id(self) -> PeerId:
        """The agent's id: its public key."""
        ...

    def sign(self, message: bytes) -> bytes:
        """Return the signature of the message, of 64 bytes."""
        ...

    def verify(self, key: bytes, message: bytes, signature: bytes) -> bool:
        """Tell whether the holder of a public key signed the message."""
        ...


class PeerLink(Protocol):
    """Carries frames to peers."""

    async def exchange(self, peer: Peer, frame: bytes) -> bytes:
        """Carry one frame to a peer's address and return what came back, unchecked.

        It has no deadline of its own.

        Raises:
            PeerUnreachableError: Nothing was sent.
            PeerLostError: The connection ended before an answer came.
        """
        ...


class PeerDoor(Protocol):
    """A place where frames come in."""

    async def open(self, receive: Receive) -> None:
        """Hand each frame that comes in to `receive` and carry its answer back, until `aclose`.

        Raises:
            PlaceTakenError: Somebody listens there.
            ConfigError: Nobody can listen there; says why.
        """
        ...

    async def aclose(self) -> None:
        """Let nobody in any more and free the place; twice is no error."""
        ...


class PeerPost(Protocol):
    """Sends to the peers of one agent."""

    @property
    def directory(self) -> Directory:
        """The peers."""
        ...

    async def send(self, to: Peer, content: Content, *, session: str) -> str:
        """Send on behalf of a session and return the id of the envelope as soon as the peer's host has acknowledged it.

        Raises:
            ToolError: It is too large, was refused, did not leave, or whether it arrived is unknown; says which.
        """
        ...
