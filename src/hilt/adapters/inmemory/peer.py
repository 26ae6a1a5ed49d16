"""Agents of one process: a frame is handed over, and its answer handed back."""

from typing import Final

from hilt.core.peer import Peer, PeerId
from hilt.ports.peer import PeerUnreachableError, PlaceTakenError, Receive

# Two applications of one process know nothing of one another but their keys.
_DOORS: Final[dict[PeerId, Receive]] = {}


class LocalDoor:
    """The place of one agent in this process; see `PeerDoor`."""

    def __init__(self, id_: PeerId) -> None:
        self._id = id_
        self._receive: Receive | None = None

    async def open(self, receive: Receive) -> None:
        """See `PeerDoor.open`."""
        if _DOORS.setdefault(self._id, receive) is not receive:
            raise PlaceTakenError("another application of this process has the same key")
        self._receive = receive

    async def aclose(self) -> None:
        """See `PeerDoor.aclose`."""
        if self._receive is not None:
            _DOORS.pop(self._id, None)
            self._receive = None


class LocalLink:
    """Reaches the agents of this process; see `PeerLink`."""

    async def exchange(self, peer: Peer, frame: bytes) -> bytes:
        """See `PeerLink.exchange`."""
        receive = _DOORS.get(peer.id)
        if receive is None:
            raise PeerUnreachableError("no agent with its key listens in this process, and no address is configured")
        return receive(frame)
